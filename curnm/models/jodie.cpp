#include <cmath>

#include "curnm/models/models.h"
#include "curnm/nn/node_memory.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// JODIE (Kumar et al. 2019, arXiv 1908.01207v1): a recurrent memory per node, projected to the
/// time of the question: z = LayerNorm(s') * (1 + W·dt).
///
/// Differs from the paper in: one updater for both kinds of nodes, as in TGL; dt enters as
/// log(1 + dt) / log(1 + training span), because raw seconds would swamp the 1.
class Jodie final : public Model {
 public:
  Jodie(const ModelOptions& options, const ModelContext& context)
      : options_(options),
        context_(context),
        projection_(register_module(
            "projection",
            torch::nn::Linear(torch::nn::LinearOptions(1, options.width).bias(false)))),
        norm_(register_module("norm",
                              torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.width})))) {
    const double span = std::max(context.last_time - context.first_time, 1.0);
    log_span_ = std::log1p(span);
    memory_ = register_module("memory",
                              std::make_shared<NodeMemory>(MemoryOptions{
                                  .num_nodes = context.num_nodes,
                                  .width = options.width,
                                  .time_width = options.time_width,
                                  .updater = MemoryUpdater::kRnn,
                                  .ties = options.ties == "strict" ? Ties::kStrict : Ties::kStream,
                                  .learned_time = options.time_encoding == "learned",
                                  .time_scale = span,
                                  .origin = context.first_time,
                                  .edge_features = context.edge_features}));
    if (context.node_features.defined()) {
      features_ = register_module("features",
                                  torch::nn::Linear(context.node_features.size(1), options.width));
    }
  }

  torch::Tensor embed(const Roots& roots, Timestamp, const Rng& key) override {
    StateRows rows(context_.num_nodes);
    std::vector<std::int64_t> root_rows;
    std::vector<float> waits;
    for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
      const NodeId node = roots.nodes[r];
      const bool with_mail = memory_->mail_visible(node, roots.times[r]);
      root_rows.push_back(rows.row(node, with_mail));
      const double wait = std::max(roots.times[r] - memory_->state_time(node, with_mail), 0.0);
      waits.push_back(static_cast<float>(std::log1p(wait) / log_span_));
    }
    torch::Tensor states = memory_->read(rows);
    if (!features_.is_empty()) {
      std::vector<std::int64_t> nodes;
      for (std::int64_t row = 0; row < rows.size(); ++row) nodes.push_back(rows.node(row));
      states = states +
               features_(context_.node_features.index_select(0, to_tensor(nodes, context_.device)));
    }
    const torch::Tensor now =
        keyed_dropout(norm_(states), is_training() ? options_.dropout : 0, key)
            .index_select(0, to_tensor(root_rows, context_.device));
    return now * (1 + projection_(to_tensor(waits, context_.device).unsqueeze(1)));
  }

  void observe(const EventBatch& batch) override { memory_->observe(batch); }
  void forget() override { memory_->forget(); }
  std::vector<torch::Tensor> state() const override { return memory_->state(); }
  void set_state(const std::vector<torch::Tensor>& state) override { memory_->set_state(state); }

 private:
  ModelOptions options_;
  ModelContext context_;
  double log_span_ = 1;
  std::shared_ptr<NodeMemory> memory_;
  torch::nn::Linear projection_;
  torch::nn::LayerNorm norm_;
  torch::nn::Linear features_{nullptr};
};

}  // namespace

std::shared_ptr<Model> make_jodie(const ModelOptions& options, const ModelContext& context) {
  return std::make_shared<Jodie>(options, context);
}

}  // namespace curnm
