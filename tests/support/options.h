#pragma once

#include <string_view>

#include "curnm/base/options.h"

namespace curnm::testing {

/// The options of a component with some of them changed; names that it does not have are ignored,
/// so that one list serves all components of a kind.
template <class Registry>
Options options_of(const Registry& registry, std::string_view name, const GivenOptions& given) {
  Options options = registry.at(name).defaults;
  set_given(given, options);
  return options;
}

}  // namespace curnm::testing
