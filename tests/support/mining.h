#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "curnm/curriculum/options.h"
#include "curnm/miners/miner.h"
#include "curnm/models/model.h"
#include "curnm/nn/adam.h"
#include "curnm/nn/tensors.h"
#include "curnm/sampling/indices.h"
#include "curnm/training/step.h"
#include "support/naive.h"
#include "support/tensors.h"

// The input of a miner, without a trainer.

namespace curnm::testing {

inline constexpr std::int64_t kMiningWidth = 6;  // D

/// The defaults of a component with the given options; options of other components are ignored.
template <class Entry>
Options options_of(const Registry<Entry>& components, std::string_view name,
                   const GivenOptions& given = {}) {
  Options options = components.at(name).defaults;
  set_given(given, options);
  return options;
}

/// A network of training events with everything that miners know about it.
struct MiningNetwork {
  explicit MiningNetwork(EventLog events)
      : log(std::move(events)), indices(log), ids(all_events(log)) {
    std::set<NodeId> nodes(log.dst.begin(), log.dst.end());
    if (!is_bipartite(log)) nodes.insert(log.src.begin(), log.src.end());
    destinations.assign(nodes.begin(), nodes.end());
  }

  EventBatch batch(std::int64_t begin, std::int64_t end) const {
    const EventBatch all{log.src.span(), log.dst.span(), log.time.span(), ids};
    return all.part(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  }
  EventBatch all() const { return batch(0, log.size()); }

  Past past() const { return indices.past(); }
  MinerContext context(std::int64_t epochs = 10, std::uint64_t seed = 0) const {
    return {.events = &log,
            .past = past(),
            .destinations = destinations,
            .epochs = epochs,
            .width = kMiningWidth,
            .seed = seed};
  }
  std::shared_ptr<NegativeMiner> miner(std::string_view name, const GivenOptions& given = {},
                                       std::int64_t epochs = 10) const {
    return make_miner(name, options_of(miners(), name, given), context(epochs));
  }
  std::shared_ptr<NegativeMiner> curnm(const CurnmOptions& options = {},
                                       std::int64_t epochs = 10) const {
    return make_miner("curnm", options, context(epochs));
  }

  EventLog log;
  Indices indices;
  std::vector<NodeId> destinations;
  std::vector<EventId> ids;
};

/// The log with the sources, and the destinations, of all events later than t permuted: a different
/// future with the same nodes and times.
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
         a.seen == b.seen && a.late == b.late && a.extra.rows == b.extra.rows &&
         a.extra.src == b.extra.src && a.extra.dst == b.extra.dst && a.extra.kinds == b.extra.kinds;
}

/// A training in batches of one size, using the library's own training step.
class MiningRun {
 public:
  static constexpr std::int64_t kBatch = 40;

  MiningRun(const MiningNetwork& network, std::string_view model, std::string_view miner,
            const Options& options, std::string_view decoder = "additive", std::uint64_t seed = 0)
      : network_(network),
        learner_(std::make_unique<Learner>()),
        step_(std::make_unique<TrainingStep>(*learner_, seed, Path::kFast)) {
    learner_->model = make_model(model,
                                 options_of(models(), model,
                                            {{"width", std::to_string(kMiningWidth)},
                                             {"time-width", "5"},
                                             {"neighbors", "3"},
                                             {"heads", "2"},
                                             {"snapshot-length", "5"}}),
                                 {.num_nodes = network.log.num_nodes,
                                  .first_time = network.log.time.front(),
                                  .last_time = network.log.time.back(),
                                  .seed = seed});
    learner_->miner = make_miner(miner, options, network.context(/*epochs=*/10, seed));
    learner_->decoder = make_decoder(
        decoder, decoders().at(decoder).defaults,
        {.width = kMiningWidth, .outputs = num_outputs(*learner_->miner), .seed = seed});
    std::vector<Tensor> parameters;
    for (const Module* module : modules()) {
      for (const Tensor& parameter : module->parameters()) parameters.push_back(parameter);
    }
    learner_->optimizer =
        std::make_unique<Adam>(std::move(parameters), AdamOptions{.learning_rate = 1e-2});
    learner_->use(network.past());
    learner_->fit(typical_links(network.log, network.destinations, seed));
  }

  Learner& learner() { return *learner_; }
  NegativeMiner& miner() { return *learner_->miner; }
  Model& model() { return *learner_->model; }
  Decoder& decoder() { return *learner_->decoder; }
  TrainingStep& training_step() { return *step_; }
  std::int64_t batches() const { return (network_.log.size() + kBatch - 1) / kBatch; }

  EventBatch batch(std::int64_t index) const {
    return network_.batch(index * kBatch, std::min((index + 1) * kBatch, network_.log.size()));
  }

  Candidates propose(std::int64_t epoch, std::int64_t index) {
    return step_->propose(batch(index), epoch);
  }
  /// Loss and gradients of a batch, without a step.
  Mined look(std::int64_t epoch, std::int64_t index, const Candidates& candidates) {
    StageClock clock(record_);
    return step_->learn(batch(index), candidates, epoch, clock);
  }
  Mined step(std::int64_t epoch, std::int64_t index) {
    StageClock clock(record_);
    return step_->run(batch(index), epoch, clock);
  }
  void begin_epoch(std::int64_t epoch) {
    learner_->forget();
    miner().begin_epoch(epoch);
  }
  /// A whole epoch, its metric included.
  void run_epoch(std::int64_t epoch, double metric = 0.5) {
    begin_epoch(epoch);
    for (std::int64_t index = 0; index < batches(); ++index) step(epoch, index);
    miner().end_epoch({.metric = metric});
  }

  /// Copies everything that the other one has learned.
  void copy(const MiningRun& other) {
    const std::vector<Module*> to = modules();
    const std::vector<Module*> from = other.modules();
    for (std::size_t i = 0; i < to.size(); ++i) copy_parameters(*from[i], *to[i]);
    learner_->optimizer->set_state(other.learner_->optimizer->state());
    learner_->set_state(other.learner_->state());
    miner().set_state(other.learner_->miner->state());
  }

  /// The modules that have parameters.
  std::vector<Module*> modules() const {
    return {learner_->model.get(), learner_->decoder.get(), learner_->miner.get()};
  }

 private:
  const MiningNetwork& network_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<TrainingStep> step_;
  EpochRecord record_;
};

}  // namespace curnm::testing
