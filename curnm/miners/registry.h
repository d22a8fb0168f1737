#pragma once

#include <functional>
#include <memory>

#include "curnm/base/registry.h"

namespace curnm {

class NegativeMiner;
struct MinerContext;

struct MinerEntry : Component {
  std::function<std::shared_ptr<NegativeMiner>(const Options&, const MinerContext&)> make;
};

/// All miners by name; `miners().add(...)` for one of your own.
Registry<MinerEntry>& miners();

}  // namespace curnm
