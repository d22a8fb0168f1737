#include <array>

#include "curnm/base/names.h"
#include "curnm/models/models.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

constexpr std::array<ModelEntry, 3> kModels = {{
    {"tgn", "memory and attention over recent events (Rossi et al. 2020)", 0.2, make_tgn},
    {"jodie", "memory projected to the time of the question (Kumar et al. 2019)", 0.1, make_jodie},
    {"dysat", "attention in snapshots, a recurrence over them (Sankar et al. 2020)", 0.1,
     make_dysat},
}};

}  // namespace

std::span<const ModelEntry> models() { return kModels; }

std::shared_ptr<Model> make_model(std::string_view name, ModelOptions options,
                                  const ModelContext& context) {
  const ModelEntry& entry = find_entry("model", models(), name);
  check_ranges(options);
  if (options.width % options.heads != 0) {
    throw UsageError(
        fmt::format("--heads {} does not divide --width {}", options.heads, options.width));
  }
  if (options.dropout < 0) options.dropout = entry.dropout;
  std::shared_ptr<Model> model = entry.make(options, context);
  initialise(*model, Rng(context.seed, Stream::kInitialisation));
  model->to(context.device);
  return model;
}

}  // namespace curnm
