#include "curnm/models/fields.h"
#include "curnm/models/model.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/statistics.h"

namespace curnm {
namespace {

struct LightOptions {
  std::int64_t width = 64;

  void fields(const FieldVisitor& visit) { visit(kWidthField, width); }
};

/// No memory and no neighbours: z = ReLU(W [x_v ‖ f_v]), from the statistics of the node
/// (pair_statistics.h) and its features, where it has some. What to start with: seconds per epoch,
/// and with the decoder `pair` hard to beat.
class Light final : public Model {
 public:
  Light(const LightOptions& options, const ModelContext& context)
      : context_(context),
        width_(options.width),
        statistics_(register_module("statistics",
                                    std::make_shared<FittedStatistics>(kNodeStatisticsWidth))),
        map_(register_module("map", std::make_shared<Linear>(kNodeStatisticsWidth + feature_width(),
                                                             options.width))) {}

  std::int64_t width() const override { return width_; }

  void fit(const TypicalLinks& typical) override {
    statistics_->fit(AgeScale::of(typical.events.time.span()), [&](const AgeScale& ages) {
      return PairStatistics(past(), ages).of_nodes(typical.links.roots());
    });
  }

  Tensor embed(const Roots& roots, const Sample*, const Rng&) const override {
    Tensor x = statistics_->standardised(
        PairStatistics(past(), statistics_->ages()).of_nodes(roots), map_->weight.options());
    if (feature_width() > 0) {
      const Tensor nodes = to_tensor(roots.nodes, context_.device).to(at::kLong);
      x = at::cat({x, context_.node_features.index_select(0, nodes)}, 1);
    }
    return at::relu(linear(x, *map_, context_.path));
  }

 private:
  std::int64_t feature_width() const {
    return context_.node_features.defined() ? context_.node_features.size(1) : 0;
  }

  ModelContext context_;
  std::int64_t width_;
  std::shared_ptr<FittedStatistics> statistics_;
  std::shared_ptr<Linear> map_;
};

}  // namespace

ModelEntry light_model() {
  return {{.name = "light",
           .summary = "statistics of the node: no memory, no neighbours, seconds per epoch",
           .defaults = LightOptions{},
           .run_defaults = {{"learning-rate", "1e-3"}, {"patience", "5"}}},
          [](const Options& options, const ModelContext& context) {
            return std::make_shared<Light>(options.as<LightOptions>(), context);
          }};
}

}  // namespace curnm
