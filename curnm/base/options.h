#pragma once

#include <fmt/format.h>

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "curnm/base/error.h"

// Each option is declared once, in its struct's `fields(visitor)`:
//
//   template <class Visitor>
//   void fields(Visitor&& visit) {
//     visit({.name = "nodes", .help = "number of nodes", .min = 2}, nodes);
//   }
//
// Flags, help texts, range checks and the saved record all come from that one line.

namespace curnm {

struct Field {
  std::string_view name;
  std::string_view help;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string_view symbol = {};  // the paper's, where it has one
};

/// Throws UsageError naming the first value outside its range.
template <class Options>
void check_ranges(Options& options) {
  options.fields([]<class T>(const Field& field, T& value) {
    if constexpr (std::integral<T> || std::floating_point<T>) {
      const auto number = static_cast<double>(value);
      if (number >= field.min && number <= field.max) return;
      throw UsageError(fmt::format("--{} {} is out of range: {} must be {}", field.name, value,
                                   field.symbol.empty() ? field.name : field.symbol,
                                   field.max == std::numeric_limits<double>::infinity()
                                       ? fmt::format("at least {}", field.min)
                                       : fmt::format("between {} and {}", field.min, field.max)));
    }
  });
}

template <class Options>
nlohmann::ordered_json to_json(Options options) {
  nlohmann::ordered_json json;
  options.fields([&](const Field& field, auto& value) { json[std::string(field.name)] = value; });
  return json;
}

}  // namespace curnm
