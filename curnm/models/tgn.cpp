#include <numeric>
#include <utility>

#include "curnm/models/memory_model.h"
#include "curnm/nn/temporal_attention.h"

namespace curnm {
namespace {

struct TgnOptions {
  std::int64_t width = 172;
  std::int64_t time_width = 100;
  std::int64_t neighbors = 10;
  std::int64_t heads = 2;
  double dropout = 0.2;
  Ties ties = Ties::kStream;
  TimeEncoding time_encoding = TimeEncoding::kFixed;

  void fields(const FieldVisitor& visit) {
    visit(kWidthField, width);
    visit(kTimeWidthField, time_width);
    visit(kNeighborsField, neighbors);
    visit(kHeadsField, heads);
    visit(kDropoutField, dropout);
    visit(kTiesField, ties);
    visit(kTimeEncodingField, time_encoding);
  }
  void check() const { check_heads(heads, width); }
};

/// TGN (Rossi et al. 2020, arXiv 2006.10637v3): node memory with the last mail of each node, and
/// one layer of attention over the K most recent events strictly before the query time.
class Tgn final : public MemoryModel {
 public:
  Tgn(const TgnOptions& options, const ModelContext& context)
      : MemoryModel({.updater = MemoryUpdater::kGru,
                     .width = options.width,
                     .time_width = options.time_width,
                     .ties = options.ties,
                     .time_encoding = options.time_encoding},
                    context),
        neighbors_(options.neighbors) {
    attention_ = register_module(
        "attention",
        std::make_shared<TemporalAttention>(AttentionOptions{
            .width = options.width,
            .heads = options.heads,
            .time_width = options.time_width,
            .edge_width = context.edge_features.defined() ? context.edge_features.size(1) : 0,
            .dropout = options.dropout,
            .learned_time = options.time_encoding == TimeEncoding::kLearned,
            .time_scale = training_span(),
            .path = context.path}));
  }

  std::unique_ptr<Sample> sample(const Roots& roots, Timestamp, const Rng& key) const override {
    auto recent = std::make_unique<RecentEvents>();
    recent->neighbors = std::move(
        NeighborSampler(*past().graph, {.neighbors = neighbors_}).sample(roots, key).front());
    return recent;
  }

  void reuse_states() override {
    if (!attention_->has_tables()) return;
    MemoryModel::reuse_states();
    projected_ = std::make_unique<Projected>(num_states());
  }

  Tensor embed(const Roots& roots, const Sample* sample, const Rng& key) const override {
    StateRows rows(context().num_nodes);
    Neighborhood hood =
        neighborhood(roots, static_cast<const RecentEvents*>(sample)->neighbors, rows);
    if (!reuses_states() || roots.nodes.empty())
      return attention_->forward(states(rows), hood, key);
    const NoGradGuard no_grad;
    const AttentionTables tables = kept_tables(rows, hood);  // changes the rows of `hood`
    return attention_->forward(tables, hood);
  }

 private:
  struct RecentEvents final : Sample {
    Neighbors neighbors;
  };
  struct Projected {
    explicit Projected(std::int64_t num_states) : roots(num_states), neighbors(num_states) {}
    KeptRows roots;      // q, qt, qe, own
    KeptRows neighbors;  // kv
  };

  /// What the states are mapped to, from what is kept; the rows of `hood` become rows of it.
  AttentionTables kept_tables(const StateRows& rows, Neighborhood& hood) const {
    std::vector<std::int64_t> of_roots(index(hood.num_roots));
    std::iota(of_roots.begin(), of_roots.end(), 0);
    std::vector<std::int64_t> of_neighbors;
    std::vector<char> is_listed(index(rows.size()), 0);
    for_each_slot(hood, [&](std::int64_t& row) {
      if (std::exchange(is_listed[index(row)], 1) == 0) of_neighbors.push_back(row);
    });

    const auto lock = lock_kept();
    const KeptRows::Found as_roots = reuse(
        projected_->roots, rows, of_roots, [&](const StateRows& changed) -> std::vector<Tensor> {
          AttentionTables made = attention_->root_tables(kept_states(changed));
          return {made.q, made.qt, made.qe, made.own};
        });
    const KeptRows::Found as_neighbors =
        reuse(projected_->neighbors, rows, of_neighbors,
              [&](const StateRows& changed) -> std::vector<Tensor> {
                return {attention_->neighbor_table(kept_states(changed))};
              });

    for (std::int64_t& root : hood.roots) root = as_roots.rows[index(root)];
    std::vector<std::int64_t> at(index(rows.size()), 0);
    for (std::size_t i = 0; i < of_neighbors.size(); ++i) {
      at[index(of_neighbors[i])] = as_neighbors.rows[i];
    }
    for_each_slot(hood, [&](std::int64_t& row) { row = at[index(row)]; });
    AttentionTables tables{.q = as_roots.tables[0],
                           .qt = as_roots.tables[1],
                           .qe = as_roots.tables[2],
                           .own = as_roots.tables[3]};
    if (!of_neighbors.empty()) tables.kv = as_neighbors.tables[0];
    return tables;
  }
  /// Calls visit(row) for the slots that have a neighbour.
  template <class Visit>
  static void for_each_slot(Neighborhood& hood, const Visit& visit) {
    for (std::size_t r = 0; r < hood.roots.size(); ++r) {
      const std::size_t first = r * index(hood.neighbors);
      for (std::size_t j = 0; j < index(hood.counts[r]); ++j) visit(hood.rows[first + j]);
    }
  }

  /// The events of `recent` as input of attention; the states they need are collected in `rows`,
  /// those of the roots first.
  Neighborhood neighborhood(const Roots& roots, const Neighbors& recent, StateRows& rows) const {
    const auto row_of = [&](NodeId node, Timestamp t) {
      return rows.row(node, memory().mail_visible(node, t));
    };
    const auto width = static_cast<std::size_t>(recent.width);
    const std::size_t slots = roots.nodes.size() * width;
    Neighborhood hood{.neighbors = recent.width, .counts = recent.counts};
    hood.roots.resize(roots.nodes.size());
    hood.keys.resize(roots.nodes.size());
    for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
      hood.roots[r] = row_of(roots.nodes[r], roots.times[r]);
      hood.keys[r] = draw_key(roots.nodes[r], roots.times[r]);
    }
    hood.num_roots = rows.size();
    hood.rows.resize(slots, 0);
    hood.dt.resize(slots, 0);
    for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
      const Timestamp t = roots.times[r];
      const std::size_t end = r * width + static_cast<std::size_t>(recent.counts[r]);
      for (std::size_t slot = r * width; slot < end; ++slot) {
        hood.rows[slot] = row_of(recent.nodes[slot], t);
        hood.dt[slot] = t - recent.times[slot];
      }
    }
    if (context().edge_features.defined()) {
      hood.edges = context().edge_features;
      hood.events = recent.events;
      for (EventId& event : hood.events) event = std::max<EventId>(event, 0);  // unused slots
    }
    return hood;
  }

  std::int64_t neighbors_;
  std::shared_ptr<TemporalAttention> attention_;
  std::unique_ptr<Projected> projected_;  // what is kept
};

}  // namespace

ModelEntry tgn_model() {
  return {{.name = "tgn",
           .summary = "memory and attention over recent events (Rossi et al. 2020)",
           .defaults = TgnOptions{}},
          [](const Options& options, const ModelContext& context) {
            return std::make_shared<Tgn>(options.as<TgnOptions>(), context);
          }};
}

}  // namespace curnm
