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

  torch::Tensor embed(const Roots& roots, Timestamp now, const Rng& key) override {
    DistinctRows asked(context_.num_nodes);
    std::vector<std::int64_t> root_rows;
    for (NodeId node : roots.nodes) root_rows.push_back(asked.row(node));

    torch::Tensor hidden;  // none before the oldest snapshot
    for (std::int64_t s = options_.snapshots - 1; s >= 0; --s) {
      hidden = combine(
          snapshot(asked, now, static_cast<int>(s), key.split(static_cast<std::uint64_t>(s))),
          hidden);
    }
    return select_rows(hidden, to_tensor(root_rows, context_.device), context_.path);
  }

 private:
  /// K slots of neighbours for one node after the other.
  struct Sampled {
    std::vector<std::int64_t> neighbors;  // rows
    std::vector<std::int32_t> counts;
  };
  /// Neighbours within the window of the nodes in rows `first` and later: numbered behind the last
  /// row, their slots appended to `out`.
  void sample(DistinctRows& rows, std::int64_t first, Timestamp now, const Window& window,
              const Rng& key, Sampled& out) const {
    const std::vector<NodeId> nodes(rows.keys().begin() + first, rows.keys().end());
    const std::vector<Timestamp> times(nodes.size(), now);
    const NeighborSampler sampler(
        graph(), {.strategy = SamplingStrategy::kUniform, .neighbors = options_.neighbors});
    const Neighbors found = std::move(sampler.sample({nodes, times}, key, window).front());
    for (NodeId node : found.nodes) out.neighbors.push_back(node == kNoNode ? 0 : rows.row(node));
    out.counts.insert(out.counts.end(), found.counts.begin(), found.counts.end());
  }

  Neighborhood hood(const Sampled& sampled, std::int64_t rows) const {
    Neighborhood hood{.neighbors = options_.neighbors, .num_roots = rows};
    hood.roots.resize(static_cast<std::size_t>(rows));
    std::iota(hood.roots.begin(), hood.roots.end(), 0);
    hood.counts.assign(sampled.counts.begin(), sampled.counts.begin() + rows);
    hood.rows.assign(sampled.neighbors.begin(),
                     sampled.neighbors.begin() + rows * options_.neighbors);
    return hood;
  }

  /// Embeddings of the asked nodes in one snapshot: first-layer states of them and their
  /// neighbours, each once, then a second layer on top for the asked ones.
  torch::Tensor snapshot(const DistinctRows& asked, Timestamp now, int index, const Rng& key) {
    DistinctRows rows = asked;
    Sampled sampled;
    const Window window = Window::snapshot(index, options_.snapshot_length);
    sample(rows, 0, now, window, key.split(0), sampled);
    const std::int64_t inner = rows.size();  // asked nodes and their neighbours
    sample(rows, asked.size(), now, window, key.split(1), sampled);

    const torch::Tensor states = linear(
        features_.index_select(0, to_tensor(rows.keys(), context_.device)), input_, context_.path);
    const torch::Tensor first = first_->forward(states, hood(sampled, inner), key.split(2));
    return second_->forward(first, hood(sampled, asked.size()), key.split(3));
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
