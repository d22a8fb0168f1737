#include <mutex>
#include <numeric>

#include "curnm/base/distinct_rows.h"
#include "curnm/models/fields.h"
#include "curnm/models/model.h"
#include "curnm/models/snapshot_length.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/kept_rows.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/temporal_attention.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

constexpr std::int64_t kRandomFeatures = 128;

struct DysatOptions {
  std::int64_t width = 172;
  std::int64_t neighbors = 10;
  std::int64_t heads = 2;
  double dropout = 0.3;
  std::int64_t snapshots = 3;
  double snapshot_length = 0;

  void fields(const FieldVisitor& visit) {
    visit(kWidthField, width);
    visit(kNeighborsField, neighbors);
    visit(kHeadsField, heads);
    visit(kDropoutField, dropout);
    visit({.name = "snapshots", .help = "snapshots that dysat looks at", .min = 1, .max = 1000},
          snapshots);
    visit({.name = "snapshot-length", .help = "length of a snapshot (0: from the data)", .min = 0},
          snapshot_length);
  }
  void check() const { check_heads(heads, width); }
  void complete(const RunFacts& facts) {
    if (snapshot_length == 0 && facts.median_step >= 0) {
      snapshot_length = suitable_snapshot_length(facts, snapshots);
    }
  }
};

/// DySAT (Sankar et al. 2020, arXiv 1812.09430v2): two layers of attention within each of a few
/// snapshots, combined by a recurrence from the oldest to the newest.
///
/// Snapshots have equal length and end at the batch's first event, so that a node's embedding is
/// shared by all roots of that node in the batch. Networks without node features get random ones
/// that depend on the input seed alone.
class Dysat final : public Model {
 public:
  Dysat(const DysatOptions& options, const ModelContext& context)
      : options_(options),
        context_(context),
        combine_(register_module(
            "combine", std::make_shared<RecurrentCell>(RecurrentCell::Kind::kTanh, options.width,
                                                       options.width))) {
    features_ = context.node_features;
    if (!features_.defined()) {
      features_ = at::empty({context.num_nodes, kRandomFeatures}, context.device);
      keyed_uniform_(features_, 1, Rng(context.input_seed, Stream::kRandomFeatures));
    }
    input_ = register_module("input", std::make_shared<Linear>(features_.size(1), options.width));
    const AttentionOptions layer{.width = options.width,
                                 .heads = options.heads,
                                 .time_width = 0,
                                 .edge_width = 0,
                                 .dropout = options.dropout,
                                 .path = context.path};
    first_ = register_module("first", std::make_shared<TemporalAttention>(layer));
    second_ = register_module("second", std::make_shared<TemporalAttention>(layer));
  }

  std::int64_t width() const override { return options_.width; }

  void reuse_states() override {
    if (first_->has_tables()) kept_ = std::make_unique<Kept>(context_.num_nodes);
  }

  std::unique_ptr<Sample> sample(const Roots& roots, Timestamp now, const Rng& key) const override {
    auto sampled = std::make_unique<Snapshots>();
    DistinctRows requested(context_.num_nodes);
    for (NodeId node : roots.nodes) sampled->of_roots.push_back(requested.row(node));
    for (std::int64_t s = options_.snapshots - 1; s >= 0; --s) {
      const Window window = Window::snapshot(static_cast<int>(s), options_.snapshot_length);
      sampled->parts.push_back(
          sample_snapshot(requested, now, window, key.split(static_cast<std::uint64_t>(s))));
    }
    return sampled;
  }

  Tensor embed(const Roots&, const Sample* sample, const Rng& key) const override {
    const auto& sampled = *static_cast<const Snapshots*>(sample);
    Tensor hidden;  // none before the oldest snapshot
    for (std::size_t s = 0; s < sampled.parts.size(); ++s) {
      hidden = combine(embed_snapshot(sampled.parts[s], key.split(s)), hidden);
    }
    return select_rows(hidden, to_tensor(sampled.of_roots, context_.device), context_.path);
  }

 private:
  /// The nodes of one snapshot, the requested ones first, and the neighbours of each as rows among
  /// them. The second layer uses only the neighbours of the requested nodes.
  struct Snapshot {
    std::vector<std::int64_t> nodes;   // [U]
    std::int64_t num_requested = 0;    // Q
    std::vector<std::int64_t> rows;    // [U,K]
    std::vector<std::int32_t> counts;  // [U]
    Timestamp now = 0;                 // of the batch
  };
  /// What features are mapped to in the first layer: the same at all times, in every snapshot.
  struct Kept {
    explicit Kept(NodeId num_nodes) : roots(num_nodes), neighbors(num_nodes) {}
    std::mutex mutex;
    KeptRows roots;
    KeptRows neighbors;
  };
  struct Snapshots final : Sample {
    std::vector<std::int64_t> of_roots;  // [R]: rows among the requested nodes
    std::vector<Snapshot> parts;         // oldest first
  };

  Snapshot sample_snapshot(const DistinctRows& requested, Timestamp now, const Window& window,
                           const Rng& key) const {
    DistinctRows nodes = requested;
    Snapshot snapshot{.num_requested = requested.size(), .now = now};
    const auto add_neighbors = [&](std::int64_t first) {
      // One key for both layers: the neighbours of a node do not depend on whether it was
      // requested.
      const Neighbors found = neighbors_of(nodes.keys().subspan(index(first)), now, window, key);
      for (NodeId node : found.nodes) {
        snapshot.rows.push_back(node == kNoNode ? 0 : nodes.row(node));
      }
      snapshot.counts.insert(snapshot.counts.end(), found.counts.begin(), found.counts.end());
    };
    add_neighbors(0);
    add_neighbors(requested.size());  // neighbours of the nodes just added
    // Neighbours of neighbours have input states but no first-layer output, which nothing attends
    // to.
    snapshot.nodes.assign(nodes.keys().begin(), nodes.keys().end());
    return snapshot;
  }

  Neighbors neighbors_of(std::span<const std::int64_t> keys, Timestamp now, const Window& window,
                         const Rng& key) const {
    const std::vector<NodeId> nodes(keys.begin(), keys.end());
    const std::vector<Timestamp> times(nodes.size(), now);
    const NeighborSampler sampler(
        *past().graph, {.strategy = SamplingStrategy::kUniform, .neighbors = options_.neighbors});
    return std::move(sampler.sample({nodes, times}, key, window).front());
  }

  /// The neighbours of the first `count` nodes of a snapshot.
  Neighborhood neighborhood(const Snapshot& snapshot, std::int64_t count) const {
    const auto slots = static_cast<std::ptrdiff_t>(count * options_.neighbors);
    Neighborhood hood{.neighbors = options_.neighbors,
                      .num_roots = count,
                      .roots = std::vector<std::int64_t>(index(count)),
                      .counts = {snapshot.counts.begin(), snapshot.counts.begin() + count},
                      .rows = {snapshot.rows.begin(), snapshot.rows.begin() + slots}};
    std::iota(hood.roots.begin(), hood.roots.end(), 0);
    for (const std::int64_t node : std::span(snapshot.nodes).first(index(count))) {
      hood.keys.push_back(draw_key(static_cast<NodeId>(node), snapshot.now));
    }
    return hood;
  }

  /// Embeddings of the requested nodes in one snapshot: the first layer for them and their
  /// neighbours, each once, then the second layer for the requested ones.
  Tensor embed_snapshot(const Snapshot& snapshot, const Rng& key) const {
    Neighborhood hood = neighborhood(snapshot, std::ssize(snapshot.counts));
    const Tensor first = kept_ && !is_training() && !snapshot.nodes.empty()
                             ? first_of_kept(snapshot.nodes, std::move(hood))
                             : first_->forward(states(snapshot.nodes), hood, key.split(2));
    return second_->forward(first, neighborhood(snapshot, snapshot.num_requested), key.split(3));
  }

  /// [n,D]
  Tensor states(std::span<const std::int64_t> nodes) const {
    return linear(features_.index_select(0, to_tensor(nodes, context_.device)), *input_,
                  context_.path);
  }

  /// The first layer from what is kept of the nodes, without gradients.
  Tensor first_of_kept(const std::vector<std::int64_t>& nodes, Neighborhood hood) const {
    const NoGradGuard no_grad;
    const std::vector<std::int64_t> versions(nodes.size(), 0);  // features do not change
    const auto states_of = [&](std::span<const std::int64_t> positions) {
      std::vector<std::int64_t> some;
      for (const std::int64_t i : positions) some.push_back(nodes[index(i)]);
      return states(some);
    };
    const auto roots_of_layer = std::span(nodes).first(index(hood.num_roots));
    std::unique_lock lock(kept_->mutex);
    const KeptRows::Found roots =
        kept_->roots.find(roots_of_layer, std::span(versions).first(roots_of_layer.size()),
                          [&](std::span<const std::int64_t> missing) -> std::vector<Tensor> {
                            AttentionTables made = first_->root_tables(states_of(missing));
                            return {made.q, made.own};
                          });
    const KeptRows::Found neighbors = kept_->neighbors.find(
        nodes, versions, [&](std::span<const std::int64_t> missing) -> std::vector<Tensor> {
          return {first_->neighbor_table(states_of(missing))};
        });
    lock.unlock();
    for (std::int64_t& root : hood.roots) root = roots.rows[index(root)];
    for (std::int64_t& row : hood.rows) row = neighbors.rows[index(row)];
    return first_->forward(
        AttentionTables{.q = roots.tables[0], .own = roots.tables[1], .kv = neighbors.tables[0]},
        hood);
  }

  /// The recurrence from one snapshot to the next newer one; an undefined state is 0.
  Tensor combine(const Tensor& in, const Tensor& hidden) const {
    const Tensor from_in = linear(in, combine_->weight_ih, combine_->bias_ih, context_.path);
    if (!hidden.defined()) return at::tanh(from_in + combine_->bias_hh);
    return at::tanh(from_in +
                    linear(hidden, combine_->weight_hh, combine_->bias_hh, context_.path));
  }

  DysatOptions options_;
  ModelContext context_;
  Tensor features_;  // [N,F]
  std::shared_ptr<Linear> input_;
  std::shared_ptr<TemporalAttention> first_;
  std::shared_ptr<TemporalAttention> second_;
  std::shared_ptr<RecurrentCell> combine_;
  std::unique_ptr<Kept> kept_;
};

}  // namespace

ModelEntry dysat_model() {
  return {{.name = "dysat",
           .summary = "attention in snapshots, a recurrence over them (Sankar et al. 2020)",
           .defaults = DysatOptions{}},
          [](const Options& options, const ModelContext& context) {
            return std::make_shared<Dysat>(options.as<DysatOptions>(), context);
          }};
}

}  // namespace curnm
