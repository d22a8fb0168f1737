#pragma once

#include "curnm/base/types.h"

namespace curnm {

/// How often something happened before a time, and when it last did.
struct Activity {
  std::int64_t count = 0;
  Timestamp last = kNever;
};

}  // namespace curnm
