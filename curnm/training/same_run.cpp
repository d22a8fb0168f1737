#include "curnm/training/same_run.h"

#include <nlohmann/json.hpp>

#include "curnm/base/version.h"
#include "curnm/nn/libtorch.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

ordered_json description(const RunSpec& spec, const LinkTask& task) {
  const Extent extent = task.dataset().extent();
  return {{"version of curnm", kVersion},
          {"version of LibTorch", libtorch_version()},
          {"number of events", extent.events},
          {"number of nodes", extent.nodes},
          {"columns of the data", task.dataset().column_digests()},
          {"digest of the data", task.data_digest()},
          {"number of ranks that share a batch", spec.batch_ranks},
          {"options", options_json(spec)}};
}

}  // namespace

std::string first_difference(const ordered_json& a, const ordered_json& b) {
  for (const auto& [name, value] : a.items()) {
    const ordered_json other = b.value(name, ordered_json());
    if (value == other) continue;
    if (!value.is_object()) return fmt::format("{}: {} and {}", name, value.dump(), other.dump());
    const std::string inner = first_difference(value, other);
    if (name == "options") return inner;
    return fmt::format("{}, {}", name, inner);
  }
  return "";
}

void check_same_run(Group& group, const RunSpec& spec, const LinkTask& task) {
  const std::vector<std::string> all = group.all_gather(description(spec, task).dump());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const std::string difference =
        first_difference(ordered_json::parse(all[0]), ordered_json::parse(all[rank]));
    fail("ranks 0 and {} differ in {}", rank, difference);
  }
}

}  // namespace curnm
