#include "curnm/models/memory_model.h"
#include "curnm/models/models.h"
#include "curnm/nn/temporal_attention.h"

namespace curnm {
namespace {

/// TGN (Rossi et al. 2020, arXiv 2006.10637v3): node memory with the last mail of each node, and
/// one layer of attention over the K most recent events strictly before the question.
class Tgn final : public MemoryModel {
 public:
  Tgn(const ModelOptions& options, const ModelContext& context)
      : MemoryModel(options, context, MemoryUpdater::kGru) {
    attention_ = register_module(
        "attention",
        std::make_shared<TemporalAttention>(AttentionOptions{
            .width = options.width,
            .heads = options.heads,
            .time_width = options.time_width,
            .edge_width = context.edge_features.defined() ? context.edge_features.size(1) : 0,
            .dropout = options.dropout,
            .learned_time = options.time_encoding == "learned",
            .time_scale = training_span()}));
  }

  torch::Tensor embed(const Roots& roots, Timestamp, const Rng& key) override {
    const NeighborSampler sampler(graph(), {.neighbors = options().neighbors});
    const Neighbors past = std::move(sampler.sample(roots, key).front());
    StateRows rows(context().num_nodes);
    const Neighborhood hood = neighborhood(roots, past, rows);
    return attention_->forward(states(rows), hood, key);
  }

 private:
  /// The events of `past` as attention takes them; the states they need are collected in `rows`.
  Neighborhood neighborhood(const Roots& roots, const Neighbors& past, StateRows& rows) const {
    const auto row_of = [&](NodeId node, Timestamp t) {
      return rows.row(node, memory().mail_visible(node, t));
    };
    const auto width = static_cast<std::size_t>(past.width);
    const std::size_t slots = roots.nodes.size() * width;
    std::vector<std::int64_t> root_rows(roots.nodes.size());
    std::vector<std::int64_t> neighbor_rows(slots, 0);
    std::vector<std::int64_t> events(slots, 0);
    std::vector<double> dt(slots, 0);
    std::vector<std::int32_t> mask(slots, 0);
    for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
      const Timestamp t = roots.times[r];
      root_rows[r] = row_of(roots.nodes[r], t);
      const std::size_t end = r * width + static_cast<std::size_t>(past.counts[r]);
      for (std::size_t slot = r * width; slot < end; ++slot) {
        neighbor_rows[slot] = row_of(past.nodes[slot], t);
        events[slot] = past.events[slot];
        dt[slot] = t - past.times[slot];
        mask[slot] = 1;
      }
    }
    const auto shaped = [&](const auto& values) {
      return to_tensor(values, context().device).view({roots.size(), past.width});
    };
    Neighborhood hood{.roots = to_tensor(root_rows, context().device),
                      .neighbors = shaped(neighbor_rows),
                      .mask = shaped(mask).to(torch::kBool),
                      .dt = shaped(dt)};
    if (context().edge_features.defined()) {
      hood.edges = context()
                       .edge_features.index_select(0, to_tensor(events, context().device))
                       .view({roots.size(), past.width, -1});
    }
    return hood;
  }

  std::shared_ptr<TemporalAttention> attention_;
};

}  // namespace

std::shared_ptr<Model> make_tgn(const ModelOptions& options, const ModelContext& context) {
  return std::make_shared<Tgn>(options, context);
}

}  // namespace curnm
