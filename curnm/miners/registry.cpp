#include <array>

#include "curnm/base/names.h"
#include "curnm/miners/miners.h"

namespace curnm {
namespace {

constexpr std::array<MinerEntry, 1> kMiners = {{
    {"random", "one uniformly drawn destination per positive", make_random},
}};

}  // namespace

std::span<const MinerEntry> miners() { return kMiners; }

std::shared_ptr<NegativeMiner> make_miner(std::string_view name, const MinerContext& context) {
  const MinerEntry& entry = find_entry("miner", miners(), name);
  if (context.destinations.size() < 2) {
    fail("no negative exists: the training events have {} destination(s)",
         context.destinations.size());
  }
  return entry.make(context);
}

}  // namespace curnm
