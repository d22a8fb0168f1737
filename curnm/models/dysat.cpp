#include "curnm/models/models.h"
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
    length_ = options.snapshot_length > 0 ? options.snapshot_length : context.snapshot_length;
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
                                 .dropout = options.dropout};
    first_ = register_module("first", std::make_shared<TemporalAttention>(layer));
    second_ = register_module("second", std::make_shared<TemporalAttention>(layer));
  }

  torch::Tensor embed(const Roots& roots, Timestamp now, const Rng& key) override {
    NodeRows asked(context_.num_nodes);
    std::vector<std::int64_t> root_rows;
    for (NodeId node : roots.nodes) root_rows.push_back(asked.row(node));

    torch::Tensor hidden =
        torch::zeros({asked.size(), options_.width}, torch::TensorOptions(context_.device));
    for (std::int64_t s = options_.snapshots - 1; s >= 0; --s) {
      hidden = combine_(
          snapshot(asked, now, static_cast<int>(s), key.split(static_cast<std::uint64_t>(s))),
          hidden);
    }
    return hidden.index_select(0, to_tensor(root_rows, context_.device));
  }

 private:
  /// Distinct nodes, numbered as they come.
  class NodeRows {
   public:
    explicit NodeRows(NodeId num_nodes) : row_of_(static_cast<std::size_t>(num_nodes), -1) {}
    std::int64_t row(NodeId node) {
      std::int64_t& row = row_of_[static_cast<std::size_t>(node)];
      if (row < 0) {
        row = size();
        nodes_.push_back(node);
      }
      return row;
    }
    std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()); }
    std::span<const NodeId> nodes() const { return nodes_; }

   private:
    std::vector<std::int64_t> row_of_;
    std::vector<NodeId> nodes_;
  };

  /// Neighbours of nodes `first` and later within the window, appended to the rows of `hood`.
  struct Sampled {
    std::vector<std::int64_t> neighbors;
    std::vector<std::int32_t> mask;
  };
  void sample(NodeRows& rows, std::int64_t first, Timestamp now, const Window& window,
              const Rng& key, Sampled& out) const {
    const std::vector<NodeId> nodes(rows.nodes().begin() + first, rows.nodes().end());
    const std::vector<Timestamp> times(nodes.size(), now);
    const NeighborSampler sampler(
        graph(), {.strategy = SamplingStrategy::kUniform, .neighbors = options_.neighbors});
    const Neighbors found = std::move(sampler.sample({nodes, times}, key, window).front());
    for (NodeId node : found.nodes) {
      out.neighbors.push_back(node == kNoNode ? 0 : rows.row(node));
      out.mask.push_back(node == kNoNode ? 0 : 1);
    }
  }

  Neighborhood hood(const Sampled& sampled, std::int64_t rows) const {
    const std::int64_t slots = rows * options_.neighbors;
    const auto front = [&](const auto& values) {
      return to_tensor(std::span(values).first(static_cast<std::size_t>(slots)), context_.device)
          .view({rows, options_.neighbors});
    };
    return {
        .roots = torch::arange(rows, torch::TensorOptions(torch::kInt64).device(context_.device)),
        .neighbors = front(sampled.neighbors),
        .mask = front(sampled.mask).to(torch::kBool)};
  }

  /// Embeddings of the asked nodes in one snapshot: first-layer states of them and their
  /// neighbours, each once, then a second layer on top for the asked ones.
  torch::Tensor snapshot(const NodeRows& asked, Timestamp now, int index, const Rng& key) {
    NodeRows rows = asked;
    Sampled sampled;
    const Window window = Window::snapshot(index, length_);
    sample(rows, 0, now, window, key.split(0), sampled);
    const std::int64_t inner = rows.size();  // asked nodes and their neighbours
    sample(rows, asked.size(), now, window, key.split(1), sampled);
    // The second call walked over rows asked.size() .. inner-1; what it found is numbered behind.

    std::vector<std::int64_t> nodes(rows.nodes().begin(), rows.nodes().end());
    const torch::Tensor states =
        input_(features_.index_select(0, to_tensor(nodes, context_.device)));
    const torch::Tensor first = first_->forward(states, hood(sampled, inner), key.split(2));
    return second_->forward(first, hood(sampled, asked.size()), key.split(3));
  }

  ModelOptions options_;
  ModelContext context_;
  double length_;
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
