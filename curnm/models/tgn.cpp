#include "curnm/models/models.h"
#include "curnm/nn/node_memory.h"
#include "curnm/nn/temporal_attention.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// TGN (Rossi et al. 2020, arXiv 2006.10637v3): node memory with the last mail of each node, and
/// one layer of attention over the K most recent events strictly before the question.
///
/// Node features are added to the memory after a linear map, where there are any.
class Tgn final : public Model {
 public:
  Tgn(const ModelOptions& options, const ModelContext& context)
      : options_(options), context_(context) {
    const bool learned = options.time_encoding == "learned";
    const double scale = std::max(context.last_time - context.first_time, 1.0);
    memory_ = register_module("memory",
                              std::make_shared<NodeMemory>(MemoryOptions{
                                  .num_nodes = context.num_nodes,
                                  .width = options.width,
                                  .time_width = options.time_width,
                                  .updater = MemoryUpdater::kGru,
                                  .ties = options.ties == "strict" ? Ties::kStrict : Ties::kStream,
                                  .learned_time = learned,
                                  .time_scale = scale,
                                  .origin = context.first_time,
                                  .edge_features = context.edge_features}));
    attention_ = register_module(
        "attention",
        std::make_shared<TemporalAttention>(AttentionOptions{
            .width = options.width,
            .heads = options.heads,
            .time_width = options.time_width,
            .edge_width = context.edge_features.defined() ? context.edge_features.size(1) : 0,
            .dropout = options.dropout,
            .learned_time = learned,
            .time_scale = scale}));
    if (context.node_features.defined()) {
      features_ = register_module("features",
                                  torch::nn::Linear(context.node_features.size(1), options.width));
    }
  }

  torch::Tensor embed(const Roots& roots, Timestamp, const Rng& key) override {
    const NeighborSampler sampler(graph(), {.neighbors = options_.neighbors});
    const Neighbors past = std::move(sampler.sample(roots, key).front());

    StateRows rows(context_.num_nodes);
    const auto row_of = [&](NodeId node, Timestamp t) {
      return rows.row(node, memory_->mail_visible(node, t));
    };
    const auto num_roots = static_cast<std::size_t>(roots.size());
    const auto width = static_cast<std::size_t>(options_.neighbors);
    std::vector<std::int64_t> root_rows(num_roots);
    std::vector<std::int64_t> neighbor_rows(num_roots * width, 0);
    std::vector<std::int64_t> events(num_roots * width, 0);
    std::vector<double> dt(num_roots * width, 0);
    std::vector<std::int32_t> mask(num_roots * width, 0);
    for (std::size_t r = 0; r < num_roots; ++r) {
      const Timestamp t = roots.times[r];
      root_rows[r] = row_of(roots.nodes[r], t);
      for (std::size_t slot = r * width;
           slot < r * width + static_cast<std::size_t>(past.counts[r]); ++slot) {
        neighbor_rows[slot] = row_of(past.nodes[slot], t);
        events[slot] = past.events[slot];
        dt[slot] = t - past.times[slot];
        mask[slot] = 1;
      }
    }

    torch::Tensor states = memory_->read(rows);
    if (!features_.is_empty()) states = states + features_(node_features(rows));
    const auto shaped = [&](const auto& values) {
      return to_tensor(values, context_.device).view({roots.size(), options_.neighbors});
    };
    Neighborhood hood{.roots = to_tensor(root_rows, context_.device),
                      .neighbors = shaped(neighbor_rows),
                      .mask = shaped(mask).to(torch::kBool),
                      .dt = shaped(dt)};
    if (context_.edge_features.defined()) {
      hood.edges = context_.edge_features.index_select(0, to_tensor(events, context_.device))
                       .view({roots.size(), options_.neighbors, -1});
    }
    return attention_->forward(states, hood, key);
  }

  void observe(const EventBatch& batch) override { memory_->observe(batch); }
  void forget() override { memory_->forget(); }
  std::vector<torch::Tensor> state() const override { return memory_->state(); }
  void set_state(const std::vector<torch::Tensor>& state) override { memory_->set_state(state); }

 private:
  torch::Tensor node_features(const StateRows& rows) const {
    std::vector<std::int64_t> nodes;
    for (std::int64_t row = 0; row < rows.size(); ++row) nodes.push_back(rows.node(row));
    return context_.node_features.index_select(0, to_tensor(nodes, context_.device));
  }

  ModelOptions options_;
  ModelContext context_;
  std::shared_ptr<NodeMemory> memory_;
  std::shared_ptr<TemporalAttention> attention_;
  torch::nn::Linear features_{nullptr};
};

}  // namespace

std::shared_ptr<Model> make_tgn(const ModelOptions& options, const ModelContext& context) {
  return std::make_shared<Tgn>(options, context);
}

}  // namespace curnm
