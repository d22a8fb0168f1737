#pragma once

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "curnm/miners/miner.h"
#include "curnm/models/model.h"
#include "curnm/nn/adam.h"
#include "curnm/nn/tensors.h"
#include "support/naive.h"

// What a trainer gives to a miner, without a trainer.

namespace curnm::testing {

inline constexpr std::int64_t kMiningWidth = 6;  // D

/// A network of training events with everything that miners know of it.
struct MiningNetwork {
  explicit MiningNetwork(EventLog events)
      : log(std::move(events)),
        graph(log),
        pairs(log),
        partners(log, Partnership::kMutual),
        ids(all_events(log)) {
    std::set<NodeId> nodes(log.dst.begin(), log.dst.end());
    if (!is_bipartite(log)) nodes.insert(log.src.begin(), log.src.end());
    destinations.assign(nodes.begin(), nodes.end());
  }

  EventBatch batch(std::int64_t begin, std::int64_t end) const {
    const EventBatch all{log.src.span(), log.dst.span(), log.time.span(), ids};
    return all.part(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  }
  EventBatch all() const { return batch(0, log.size()); }

  MinerContext context(std::int64_t epochs = 10, std::uint64_t seed = 0) const {
    return {.events = &log,
            .graph = &graph,
            .pairs = &pairs,
            .partners = &partners,
            .destinations = destinations,
            .epochs = epochs,
            .width = kMiningWidth,
            .parameters = {torch::ones({1})},
            .seed = seed};
  }
  std::shared_ptr<NegativeMiner> miner(std::string_view name, const MinerOptions& options = {},
                                       std::int64_t epochs = 10) const {
    return make_miner(name, options, context(epochs));
  }

  EventLog log;
  TemporalGraph graph;
  History pairs;
  History partners;
  std::vector<NodeId> destinations;
  std::vector<EventId> ids;
};

/// The log with the sources, and the destinations, of all events later than t in another order: the
/// future is another one, of the same nodes at the same times.
inline EventLog with_other_future(const EventLog& log, Timestamp t, std::uint64_t seed) {
  Rng rng(seed, Stream::kTest);
  std::vector<Event> events = events_of(log);
  const auto first = std::find_if(events.begin(), events.end(),
                                  [&](const Event& event) { return event.time > t; });
  for (auto at = first; at != events.end(); ++at) {
    const auto other = [&] {
      return first + static_cast<std::ptrdiff_t>(
                         rng.below(static_cast<std::uint64_t>(events.end() - first)));
    };
    std::swap(at->src, other()->src);
    std::swap(at->dst, other()->dst);
  }
  return make_log(events, log.num_nodes);
}

inline bool same_candidates(const Candidates& a, const Candidates& b) {
  return a.width == b.width && a.nodes == b.nodes && a.kinds == b.kinds && a.met == b.met &&
         a.seen == b.seen && a.extra.rows == b.extra.rows && a.extra.src == b.extra.src &&
         a.extra.dst == b.extra.dst;
}

/// A model, a decoder and a miner that learn together, step by step as the trainer does it.
class Learner {
 public:
  static constexpr std::int64_t kBatch = 40;

  Learner(const MiningNetwork& network, std::string_view model, std::string_view miner,
          const MinerOptions& options, std::uint64_t seed = 0)
      : network_(network), decoder_(kMiningWidth), seed_(seed) {
    model_ = make_model(model, {.width = kMiningWidth, .time_width = 5, .neighbors = 3, .heads = 2},
                        {.num_nodes = network.log.num_nodes,
                         .first_time = network.log.time.front(),
                         .last_time = network.log.time.back(),
                         .snapshot_length = 5,
                         .seed = seed});
    model_->look_at(network.graph);
    model_->train();
    initialise(decoder_, Rng(seed, Stream::kInitialisation, /*epoch=*/1));
    std::vector<torch::Tensor> parameters = model_->parameters();
    append(parameters, decoder_);
    MinerContext context = network.context(/*epochs=*/10, seed);
    context.parameters = parameters;
    miner_ = make_miner(miner, options, context);
    append(parameters, *miner_);
    optimizer_ = std::make_unique<Adam>(std::move(parameters), AdamOptions{.learning_rate = 1e-2});
  }

  NegativeMiner& miner() { return *miner_; }
  Model& model() { return *model_; }
  EdgeDecoder& decoder() { return decoder_; }
  std::int64_t batches() const { return (network_.log.size() + kBatch - 1) / kBatch; }

  EventBatch batch(std::int64_t index) const {
    return network_.batch(index * kBatch, std::min((index + 1) * kBatch, network_.log.size()));
  }
  Rng key(std::int64_t epoch, std::int64_t index) const {
    return Rng(seed_, Stream::kTest, static_cast<std::uint64_t>(epoch),
               static_cast<std::uint64_t>(index));
  }

  Candidates propose(std::int64_t epoch, std::int64_t index) {
    return miner_->propose(batch(index), key(epoch, index).split(0));
  }
  /// Loss and gradients of a batch, without a step.
  Mined look(std::int64_t epoch, std::int64_t index, const Candidates& candidates) {
    const BatchRoots roots(batch(index), candidates);
    const Embedded z(
        model_->embed(roots.roots(), batch(index).time.front(), key(epoch, index).split(1)), roots);
    Mined mined = miner_->mine(batch(index), candidates, z, decoder_);
    optimizer_->zero_grad();
    mined.loss.backward();
    return mined;
  }
  Mined step(std::int64_t epoch, std::int64_t index) {
    const Candidates candidates = propose(epoch, index);
    Mined mined = look(epoch, index, candidates);
    optimizer_->step(mined.decay);
    model_->observe(batch(index));
    miner_->observe(batch(index), candidates, mined);
    return mined;
  }
  void begin_epoch(std::int64_t epoch) {
    model_->forget();
    miner_->begin_epoch(epoch);
  }
  /// A whole epoch, its metric included.
  void run_epoch(std::int64_t epoch, double metric = 0.5) {
    begin_epoch(epoch);
    for (std::int64_t index = 0; index < batches(); ++index) step(epoch, index);
    miner_->end_epoch(metric);
  }

  /// Everything that the other one has learned.
  void copy(const Learner& other) {
    const torch::NoGradGuard no_grad;
    const auto copy_parameters = [](torch::nn::Module& to, const torch::nn::Module& from) {
      const auto values = from.named_parameters();
      for (auto& item : to.named_parameters()) item.value().copy_(values[item.key()]);
    };
    copy_parameters(*model_, *other.model_);
    copy_parameters(decoder_, other.decoder_);
    copy_parameters(*miner_, *other.miner_);
    optimizer_->set_state(other.optimizer_->state());
    model_->set_state(other.model_->state());
    miner_->set_state(other.miner_->state());
  }

 private:
  static void append(std::vector<torch::Tensor>& parameters, const torch::nn::Module& module) {
    for (const torch::Tensor& parameter : module.parameters()) parameters.push_back(parameter);
  }

  const MiningNetwork& network_;
  std::shared_ptr<Model> model_;
  EdgeDecoder decoder_;
  std::shared_ptr<NegativeMiner> miner_;
  std::unique_ptr<Adam> optimizer_;
  std::uint64_t seed_;
};

}  // namespace curnm::testing
