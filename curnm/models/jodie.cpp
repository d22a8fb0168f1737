#include <cmath>

#include "curnm/models/memory_model.h"
#include "curnm/nn/fused.h"

namespace curnm {
namespace {

struct JodieOptions {
  std::int64_t width = 172;
  std::int64_t time_width = 100;
  double dropout = 0.1;
  Ties ties = Ties::kStream;
  TimeEncoding time_encoding = TimeEncoding::kFixed;

  void fields(const FieldVisitor& visit) {
    visit(kWidthField, width);
    visit(kTimeWidthField, time_width);
    visit(kDropoutField, dropout);
    visit(kTiesField, ties);
    visit(kTimeEncodingField, time_encoding);
  }
};

/// JODIE (Kumar et al. 2019, arXiv 1908.01207v1): a recurrent memory per node, projected to the
/// time of the query: z = LayerNorm(s')·(1 + W dt).
///
/// Differs from the paper in: one updater for both kinds of nodes, as in TGL; dt enters as
/// log(1 + dt) / log(1 + training span), because raw seconds would swamp the 1.
class Jodie final : public MemoryModel {
 public:
  Jodie(const JodieOptions& options, const ModelContext& context)
      : MemoryModel({.updater = MemoryUpdater::kRnn,
                     .width = options.width,
                     .time_width = options.time_width,
                     .ties = options.ties,
                     .time_encoding = options.time_encoding},
                    context),
        dropout_(options.dropout),
        projection_(register_module(
            "projection", std::make_shared<Linear>(1, options.width, /*with_bias=*/false))),
        norm_(register_module("norm", std::make_shared<LayerNorm>(options.width))) {}

  void reuse_states() override {
    MemoryModel::reuse_states();
    kept_norms_ = std::make_unique<KeptRows>(num_states());
  }

  Tensor embed(const Roots& roots, const Sample*, const Rng& key) const override {
    StateRows rows(context().num_nodes);
    std::vector<std::int64_t> root_rows;
    std::vector<float> waits;
    const double log_span = std::log1p(training_span());
    for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
      const NodeId node = roots.nodes[r];
      const bool with_mail = memory().mail_visible(node, roots.times[r]);
      root_rows.push_back(rows.row(node, with_mail));
      const double wait = std::max(roots.times[r] - memory().state_time(node, with_mail), 0.0);
      waits.push_back(static_cast<float>(std::log1p(wait) / log_span));
    }
    const Tensor known =
        reuses_states() && rows.size() > 0 ? kept_norms(rows, root_rows) : norms(rows, key);
    const Tensor of_roots = to_tensor(root_rows, context().device);
    const Tensor wait = to_tensor(waits, context().device);
    if (has_kernels(context().path, known)) {
      return gather_scaled(known, of_roots, wait, projection_->weight);
    }
    return known.index_select(0, of_roots) * (1 + (*projection_)(wait.unsqueeze(1)));
  }

 private:
  Tensor normed(const Tensor& states) const {
    return layer_norm(states, norm_->weight, norm_->bias, context().path);
  }
  /// LayerNorm(s') of all states, with dropout while training. [U,D]
  Tensor norms(const StateRows& rows, const Rng& key) const {
    const Tensor all = normed(states(rows));
    return is_training() ? keyed_dropout(all, dropout_, dropout_keys(rows), key) : all;
  }
  /// The same from what is kept; `root_rows` become rows of the result.
  Tensor kept_norms(const StateRows& rows, std::vector<std::int64_t>& root_rows) const {
    const NoGradGuard no_grad;
    const auto lock = lock_kept();
    std::vector<std::int64_t> all(index(rows.size()));
    std::iota(all.begin(), all.end(), 0);
    const KeptRows::Found found = reuse(
        *kept_norms_, rows, all,
        [&](const StateRows& changed) -> std::vector<Tensor> { return {normed(states(changed))}; });
    for (std::int64_t& row : root_rows) row = found.rows[index(row)];
    return found.tables.front();
  }

  /// A dropout key per state, which changes whenever the state does.
  std::vector<std::uint64_t> dropout_keys(const StateRows& rows) const {
    std::vector<std::uint64_t> keys;
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      const NodeId node = rows.node(row);
      keys.push_back(draw_key(node, memory().state_time(node, rows.with_mail(row))));
    }
    return keys;
  }

  double dropout_;
  std::shared_ptr<Linear> projection_;
  std::shared_ptr<LayerNorm> norm_;
  std::unique_ptr<KeptRows> kept_norms_;
};

}  // namespace

ModelEntry jodie_model() {
  return {{.name = "jodie",
           .summary = "memory projected to the time of the question (Kumar et al. 2019)",
           .defaults = JodieOptions{}},
          [](const Options& options, const ModelContext& context) {
            return std::make_shared<Jodie>(options.as<JodieOptions>(), context);
          }};
}

}  // namespace curnm
