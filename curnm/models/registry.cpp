#include <algorithm>
#include <array>

#include "curnm/base/names.h"
#include "curnm/models/models.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

constexpr std::array<std::string_view, 7> kTgnOptions = {
    "width", "time-width", "neighbors", "heads", "dropout", "ties", "time-encoding"};
constexpr std::array<std::string_view, 5> kJodieOptions = {"width", "time-width", "dropout", "ties",
                                                           "time-encoding"};
constexpr std::array<std::string_view, 6> kDysatOptions = {
    "width", "neighbors", "heads", "dropout", "snapshots", "snapshot-length"};

constexpr std::array<ModelEntry, 3> kModels = {{
    {"tgn", "memory and attention over recent events (Rossi et al. 2020)", 0.2, make_tgn,
     kTgnOptions},
    {"jodie", "memory projected to the time of the question (Kumar et al. 2019)", 0.1, make_jodie,
     kJodieOptions},
    {"dysat", "attention in snapshots, a recurrence over them (Sankar et al. 2020)", 0.3,
     make_dysat, kDysatOptions},
}};

}  // namespace

std::span<const ModelEntry> models() { return kModels; }

ModelOptions resolved(std::string_view name, ModelOptions options, const ModelContext& context) {
  const ModelEntry& entry = find_entry("model", models(), name);
  check_ranges(options);
  const bool has_heads = std::ranges::find(entry.options, "heads") != entry.options.end();
  if (has_heads && options.width % options.heads != 0) {
    throw UsageError(
        fmt::format("--heads {} does not divide --width {}", options.heads, options.width));
  }
  if (options.dropout < 0 && options.dropout != -1) {
    throw UsageError(fmt::format("--dropout {} is no rate; -1 is {}'s own", options.dropout, name));
  }
  if (options.dropout < 0) options.dropout = entry.dropout;
  if (options.snapshot_length == 0) options.snapshot_length = context.snapshot_length;
  return options;
}

std::shared_ptr<Model> make_model(std::string_view name, const ModelOptions& options,
                                  const ModelContext& context) {
  const ModelEntry& entry = find_entry("model", models(), name);
  std::shared_ptr<Model> model = entry.make(resolved(name, options, context), context);
  initialise(*model, Rng(context.seed, Stream::kInitialisation));
  model->to(context.device);
  return model;
}

}  // namespace curnm
