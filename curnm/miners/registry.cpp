#include <array>

#include "curnm/base/names.h"
#include "curnm/miners/miners.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// The names of several option structs.
template <class... Options>
OptionNames names_of() {
  OptionNames names;
  const auto add = [&](const OptionNames& more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  (add(option_names<Options>()), ...);
  return names;
}

constexpr std::array<MinerEntry, 5> kMiners = {{
    {"random", "destinations drawn uniformly", make_random,
     names_of<PlainOptions, CorruptionOptions>},
    {"recent", "the partners that the source met last", make_recent, names_of<PlainOptions>},
    {"ens", "more, and more recent, former partners each epoch (Gao et al. 2024)", make_ens,
     names_of<PlainOptions, EnsOptions>},
    {"taser", "random negatives, confident positives more often (Deng et al. 2024)", make_taser,
     names_of<PlainOptions, TaserOptions>},
    {"curnm", "curriculum negative mining", make_curnm, names_of<CurnmOptions, CorruptionOptions>},
}};

}  // namespace

std::span<const MinerEntry> miners() { return kMiners; }

MinerOptions resolved(std::string_view name, MinerOptions options, std::int64_t epochs) {
  find_entry("miner", miners(), name);
  check_ranges(options);
  options.curnm = resolved(options.curnm, epochs);
  if (options.corruption.corrupt == "auto") {
    options.corruption.corrupt = name == "curnm" ? "half" : "destination";
  }
  return options;
}

std::span<const CurnmPreset> curnm_presets() {
  static const std::array<CurnmPreset, 3> presets = {{
      {"paper", "the paper's method in the readings that measured best (docs/decisions.md)", {}},
      {"published",
       "as printed: without progress pi rises, random negatives keep their source, delta_min is "
       "0.3",
       {.corruption = {.corrupt = "destination"}, .curnm = {.plateau = "raise", .delta_min = 0.3}}},
      {"ranking",
       "for ranking destinations of a given source, with --select-on source_historical",
       {.corruption = {.corrupt = "destination"},
        .curnm = {.select = "row", .delta_min = 0.3, .contrast_gradient = "gates"}}},
  }};
  return presets;
}

std::shared_ptr<NegativeMiner> make_miner(std::string_view name, const MinerOptions& options,
                                          const MinerContext& context) {
  const MinerEntry& entry = find_entry("miner", miners(), name);
  if (context.destinations.size() < 2) {
    fail("no negative exists: the training events have {} destination(s)",
         context.destinations.size());
  }
  std::shared_ptr<NegativeMiner> miner =
      entry.make(resolved(name, options, context.epochs), context);
  initialise(*miner, Rng(context.seed, Stream::kInitialisation, /*epoch=*/2));
  miner->to(context.device);
  return miner;
}

}  // namespace curnm
