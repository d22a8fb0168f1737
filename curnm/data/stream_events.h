#pragma once

#include <string>
#include <vector>

#include "curnm/base/types.h"

namespace curnm {

/// Events as they arrive from outside: nodes by name, in columns.
struct StreamEvents {
  std::vector<std::string> src;
  std::vector<std::string> dst;
  std::vector<Timestamp> time;
  std::vector<float> features;  // as many for each event

  std::int64_t size() const { return std::ssize(time); }
};

}  // namespace curnm
