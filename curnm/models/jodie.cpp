#include <cmath>

#include "curnm/models/memory_model.h"
#include "curnm/models/models.h"
#include "curnm/nn/fused.h"

namespace curnm {
namespace {

/// JODIE (Kumar et al. 2019, arXiv 1908.01207v1): a recurrent memory per node, projected to the
/// time of the question: z = LayerNorm(s')·(1 + W dt).
///
/// Differs from the paper in: one updater for both kinds of nodes, as in TGL; dt enters as
/// log(1 + dt) / log(1 + training span), because raw seconds would swamp the 1.
class Jodie final : public MemoryModel {
 public:
  Jodie(const ModelOptions& options, const ModelContext& context)
      : MemoryModel(options, context, MemoryUpdater::kRnn),
        projection_(register_module(
            "projection",
            torch::nn::Linear(torch::nn::LinearOptions(1, options.width).bias(false)))),
        norm_(register_module(
            "norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.width})))) {}

  torch::Tensor embed_sampled(const Roots& roots, std::vector<Neighbors>, const Rng& key) override {
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
    const torch::Tensor known =
        keyed_dropout(layer_norm(states(rows), norm_->weight, norm_->bias, context().path),
                      is_training() ? options().dropout : 0, key);
    const torch::Tensor of_roots = to_tensor(root_rows, context().device);
    const torch::Tensor wait = to_tensor(waits, context().device);
    if (has_kernels(context().path, known)) {
      return gather_scaled(known, of_roots, wait, projection_->weight);
    }
    return known.index_select(0, of_roots) * (1 + projection_(wait.unsqueeze(1)));
  }

 private:
  torch::nn::Linear projection_;
  torch::nn::LayerNorm norm_;
};

}  // namespace

std::shared_ptr<Model> make_jodie(const ModelOptions& options, const ModelContext& context) {
  return std::make_shared<Jodie>(options, context);
}

}  // namespace curnm
