#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/names.h"

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
  std::string_view symbol = {};                    // the paper's, where it has one
  std::span<const std::string_view> choices = {};  // of a text
};

/// "at least 1", "between 0 and 1"; empty where any number will do.
inline std::string range_of(const Field& field) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  if (field.max < kAny) return fmt::format("between {} and {}", field.min, field.max);
  return field.min > -kAny ? fmt::format("at least {}", field.min) : "";
}

/// Throws UsageError naming the first value outside its range or choices, or no number at all.
template <class Options>
void check_ranges(Options& options) {
  options.fields([]<class T>(const Field& field, T& value) {
    if constexpr (std::same_as<T, std::string>) {
      if (field.choices.empty()) return;
      for (std::string_view choice : field.choices) {
        if (choice == value) return;
      }
      unknown_name(fmt::format("value of --{}", field.name), value, field.choices);
    } else if constexpr (std::integral<T> || std::floating_point<T>) {
      const auto number = static_cast<double>(value);
      if (std::isfinite(number) && number >= field.min && number <= field.max) return;
      const std::string range = range_of(field);
      throw UsageError(fmt::format("--{} {} is out of range: {} must be {}", field.name, value,
                                   field.symbol.empty() ? field.name : field.symbol,
                                   range.empty() ? "a finite number" : range));
    }
  });
}

/// Overwrites the fields that `json` has. REQUIRES: values of the right type (ours, from to_json).
template <class Options>
void from_json(const nlohmann::ordered_json& json, Options& options) {
  options.fields([&](const Field& field, auto& value) {
    const auto found = json.find(std::string(field.name));
    if (found != json.end()) found->get_to(value);
  });
}

template <class Options>
nlohmann::ordered_json to_json(Options options) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  options.fields([&](const Field& field, auto& value) { json[std::string(field.name)] = value; });
  return json;
}

using OptionNames = std::vector<std::string_view>;

template <class Options>
OptionNames option_names() {
  OptionNames names;
  Options options;
  options.fields([&](const Field& field, auto&) { names.push_back(field.name); });
  return names;
}

/// Only the options of those names: what a model or miner of many makes use of.
template <class Options>
nlohmann::ordered_json to_json(const Options& options, const OptionNames& names) {
  const nlohmann::ordered_json all = to_json(options);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::string_view name : names) json[std::string(name)] = all.at(std::string(name));
  return json;
}

}  // namespace curnm
