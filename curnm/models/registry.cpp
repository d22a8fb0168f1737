#include "curnm/models/registry.h"

#include "curnm/models/model.h"
#include "curnm/nn/tensors.h"

namespace curnm {

// One line per model; each is defined in the file of its name.
ModelEntry light_model();
ModelEntry tgn_model();
ModelEntry jodie_model();
ModelEntry dysat_model();

Registry<ModelEntry>& models() {
  static Registry<ModelEntry> registry("model", {
                                                    light_model(),
                                                    tgn_model(),
                                                    jodie_model(),
                                                    dysat_model(),
                                                });
  return registry;
}

std::shared_ptr<Model> make_model(std::string_view name, const Options& options,
                                  const ModelContext& context) {
  Options checked = options;
  checked.check();
  std::shared_ptr<Model> model = models().at(name).make(checked, context);
  initialise(*model, Rng(context.seed, Stream::kInitialisation));
  model->to(context.device);
  return model;
}

}  // namespace curnm
