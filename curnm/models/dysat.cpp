#include <numeric>

#include "curnm/base/distinct_rows.h"
#include "curnm/models/models.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/temporal_attention.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

constexpr std::int64_t kRandomFeatures = 128;

/// DySAT (Sankar et al. 2020, arXiv 1812.09430v2): two layers of attention within each of a few
/// snapshots, combined by a recurrence from the oldest to the newest.
///
/// Snapshots have equal length and end at the batch's first event, so that a node's embedding is
/// shared by all its questions in the batch. Networks without node features get random ones that
/// depend on the seed alone.
class Dysat final : public Model {
 public:
  Dysat(const ModelOptions& options, const ModelContext& context)
      : options_(options),
        context_(context),
        combine_(register_module("combine", torch::nn::RNNCell(options.width, options.width))) {
    features_ = context.node_features;
    if (!features_.defined()) {
      features_ = torch::empty({context.num_nodes, kRandomFeatures}, context.device);
      keyed_uniform_(features_, 1, Rng(context.seed, Stream::kRandomFeatures));
    }
    input_ = register_module("input", torch::nn::Linear(features_.size(1), options.width));
    const AttentionOptions layer{.width = options.width,
                                 .heads = options.heads,
                                 .time_width = 0,
                                 .edge_width = 0,
                                 .dropout = options.dropout,
                                 .path = context.path};
    first_ = register_module("first", std::make_shared<TemporalAttention>(layer));
    second_ = register_module("second", std::make_shared<TemporalAttention>(layer));
  }

  /// Two for each snapshot, oldest first: neighbours of the asked nodes, then those of the nodes
  /// that are new among them.
  std::vector<Neighbors> sample(const Roots& roots, Timestamp now, const Rng& key) const override {
    DistinctRows asked(context_.num_nodes);
    for (NodeId node : roots.nodes) asked.row(node);
    std::vector<Neighbors> sampled;
    for (std::int64_t s = options_.snapshots - 1; s >= 0; --s) {
      const Window window = Window::snapshot(static_cast<int>(s), options_.snapshot_length);
      const Rng of_snapshot = key.split(static_cast<std::uint64_t>(s));
      DistinctRows rows = asked;
      // One key for both: the neighbours of a node do not depend on whether it was asked about.
      sampled.push_back(neighbors_of(rows.keys(), now, window, of_snapshot));
      number(sampled.back(), rows);
      sampled.push_back(neighbors_of(rows.keys().subspan(static_cast<std::size_t>(asked.size())),
                                     now, window, of_snapshot));
    }
    return sampled;
  }

  torch::Tensor embed_sampled(const Roots& roots, std::vector<Neighbors> sampled,
                              const Rng& key) override {
    DistinctRows asked(context_.num_nodes);
    std::vector<std::int64_t> rows;
    for (NodeId node : roots.nodes) rows.push_back(asked.row(node));
    torch::Tensor hidden;  // none before the oldest snapshot
    for (std::size_t s = 0; s < sampled.size() / 2; ++s) {
      hidden = combine(snapshot(asked, sampled[2 * s], sampled[2 * s + 1], key.split(s)), hidden);
    }
    return select_rows(hidden, to_tensor(rows, context_.device), context_.path);
  }

 private:
  Neighbors neighbors_of(std::span<const std::int64_t> keys, Timestamp now, const Window& window,
                         const Rng& key) const {
    const std::vector<NodeId> nodes(keys.begin(), keys.end());
    const std::vector<Timestamp> times(nodes.size(), now);
    const NeighborSampler sampler(
        graph(), {.strategy = SamplingStrategy::kUniform, .neighbors = options_.neighbors});
    return std::move(sampler.sample({nodes, times}, key, window).front());
  }

  /// The rows of neighbours; new nodes are numbered behind the last row.
  static std::vector<std::int64_t> number(const Neighbors& found, DistinctRows& rows) {
    std::vector<std::int64_t> numbers;
    for (NodeId node : found.nodes) numbers.push_back(node == kNoNode ? 0 : rows.row(node));
    return numbers;
  }

  Neighborhood hood(std::vector<std::int64_t> rows, std::vector<std::int32_t> counts) const {
    Neighborhood hood{.neighbors = options_.neighbors,
                      .num_roots = std::ssize(counts),
                      .roots = std::vector<std::int64_t>(counts.size()),
                      .counts = std::move(counts),
                      .rows = std::move(rows)};
    std::iota(hood.roots.begin(), hood.roots.end(), 0);
    return hood;
  }

  /// Embeddings of the asked nodes in one snapshot: first-layer states of them and their
  /// neighbours, each once, then a second layer on top for the asked ones.
  torch::Tensor snapshot(const DistinctRows& asked, const Neighbors& of_asked,
                         const Neighbors& of_others, const Rng& key) {
    DistinctRows rows = asked;
    const std::vector<std::int64_t> asked_rows = number(of_asked, rows);
    const std::vector<std::int64_t> other_rows = number(of_others, rows);
    const auto both = [](auto first, const auto& second) {
      first.insert(first.end(), second.begin(), second.end());
      return first;
    };
    const torch::Tensor states = linear(
        features_.index_select(0, to_tensor(rows.keys(), context_.device)), input_, context_.path);
    const torch::Tensor first = first_->forward(
        states, hood(both(asked_rows, other_rows), both(of_asked.counts, of_others.counts)),
        key.split(2));
    return second_->forward(first, hood(asked_rows, of_asked.counts), key.split(3));
  }

  /// The recurrence from one snapshot to the next newer one; an undefined state is 0.
  torch::Tensor combine(const torch::Tensor& in, const torch::Tensor& hidden) {
    const torch::Tensor from_in = linear(in, combine_->weight_ih, combine_->bias_ih, context_.path);
    if (!hidden.defined()) return torch::tanh(from_in + combine_->bias_hh);
    return torch::tanh(from_in +
                       linear(hidden, combine_->weight_hh, combine_->bias_hh, context_.path));
  }

  ModelOptions options_;
  ModelContext context_;
  torch::Tensor features_;  // [N,F]
  torch::nn::Linear input_{nullptr};
  std::shared_ptr<TemporalAttention> first_;
  std::shared_ptr<TemporalAttention> second_;
  torch::nn::RNNCell combine_;
};

}  // namespace

std::shared_ptr<Model> make_dysat(const ModelOptions& options, const ModelContext& context) {
  return std::make_shared<Dysat>(options, context);
}

}  // namespace curnm
