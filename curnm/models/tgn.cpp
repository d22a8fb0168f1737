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
            .time_scale = training_span(),
            .path = context.path}));
  }

  std::vector<Neighbors> sample(const Roots& roots, Timestamp, const Rng& key) const override {
    return NeighborSampler(graph(), {.neighbors = options().neighbors}).sample(roots, key);
  }

  torch::Tensor embed_sampled(const Roots& roots, std::vector<Neighbors> sampled,
                              const Rng& key) override {
    StateRows rows(context().num_nodes);
    const Neighborhood hood = neighborhood(roots, std::move(sampled.front()), rows);
    return attention_->forward(states(rows), hood, key);
  }

 private:
  /// The events of `past` as attention takes them; the states they need are collected in `rows`,
  /// those of the roots first.
  Neighborhood neighborhood(const Roots& roots, Neighbors past, StateRows& rows) const {
    const auto row_of = [&](NodeId node, Timestamp t) {
      return rows.row(node, memory().mail_visible(node, t));
    };
    const auto width = static_cast<std::size_t>(past.width);
    const std::size_t slots = roots.nodes.size() * width;
    Neighborhood hood{.neighbors = past.width};
    hood.roots.resize(roots.nodes.size());
    for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
      hood.roots[r] = row_of(roots.nodes[r], roots.times[r]);
    }
    hood.num_roots = rows.size();
    hood.rows.resize(slots, 0);
    hood.dt.resize(slots, 0);
    for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
      const Timestamp t = roots.times[r];
      const std::size_t end = r * width + static_cast<std::size_t>(past.counts[r]);
      for (std::size_t slot = r * width; slot < end; ++slot) {
        hood.rows[slot] = row_of(past.nodes[slot], t);
        hood.dt[slot] = t - past.times[slot];
      }
    }
    hood.counts = std::move(past.counts);
    if (context().edge_features.defined()) {
      hood.edges = context().edge_features;
      hood.events = std::move(past.events);
      for (EventId& event : hood.events) event = std::max<EventId>(event, 0);  // unused slots
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
