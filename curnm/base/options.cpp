#include "curnm/base/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "curnm/base/dates.h"
#include "curnm/base/error.h"
#include "curnm/base/names.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void wrong_value(const Field& field, const std::string& message) {
  throw OptionError(OptionError::Kind::kValue, std::string(field.name), message);
}

[[noreturn]] void fail_expected(const char* kind, const Field& field, std::string_view text) {
  wrong_value(field, fmt::format("--{} {}: {} was expected", field.name, quotable(text), kind));
}

template <class Number>
void check_number(const Field& field, Number value) {
  const auto number = static_cast<double>(value);
  if (std::isfinite(number) && number >= field.min && number <= field.max) return;
  const std::string range = range_of(field);
  const std::string symbol = field.symbol.empty() ? "" : fmt::format(" ({})", field.symbol);
  wrong_value(field, fmt::format("--{} {} is out of range: it must be {}{}", field.name, value,
                                 range.empty() ? "a finite number" : range, symbol));
}

std::size_t choice_index(const Field& field, std::span<const std::string_view> names,
                         std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  try {
    unknown_name(fmt::format("value of --{}", field.name), text, names);
  } catch (const UsageError& error) {
    wrong_value(field, error.what());
  }
}

/// Is the whole text a number? It may begin with one sign.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

template <class Number>
Number parse_whole(const Field& field, std::string_view text) {
  Number number = 0;
  if (read_number(text, number)) return number;
  // 1e6 and 200.0 are whole numbers, too.
  double real = 0;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (read_number(text, real) && real == std::floor(real) && std::abs(real) <= kExact &&
      (std::signed_integral<Number> || real >= 0)) {
    return static_cast<Number>(real);
  }
  const bool negative = std::unsigned_integral<Number> && std::isfinite(real) && real < 0;
  fail_expected(negative ? "a whole number, at least 0," : "a whole number", field, text);
}

double parse_real(const Field& field, std::string_view text) {
  double number = 0;
  if (read_number(text, number)) return number;
  if (!field.is_time) fail_expected("a number", field, text);
  const std::optional<DateTime> date = parse_date(text);
  if (!date) fail_expected("a number, or a date such as 2024-01-31T12:30:05Z,", field, text);
  return date->seconds;
}

bool parse_switch(const Field& field, std::string_view text) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  fail_expected("true or false", field, text);
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 14 does not deduce aggregates

}  // namespace

std::string range_of(const Field& field) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  if (field.max < kAny) return fmt::format("between {} and {}", field.min, field.max);
  return field.min > -kAny ? fmt::format("at least {}", field.min) : "";
}

std::string OptionValue::text() const {
  return std::visit(
      Overloaded{[](const Chosen& value) { return std::string(value.names[value.get(value.at)]); },
                 [](const auto* value) { return fmt::format("{}", *value); }},
      value_);
}

ordered_json OptionValue::json() const {
  return std::visit(Overloaded{[&](const Chosen&) { return ordered_json(text()); },
                               [](const auto* value) { return ordered_json(*value); }},
                    value_);
}

std::span<const std::string_view> OptionValue::choices() const {
  const auto* value = std::get_if<Chosen>(&value_);
  return value == nullptr ? std::span<const std::string_view>() : value->names;
}

void OptionValue::check(const Field& field) const {
  std::visit(Overloaded{[](const Chosen&) {}, [](const bool*) {}, [](const std::string*) {},
                        [&](const auto* value) { check_number(field, *value); }},
             value_);
}

void OptionValue::parse(const Field& field, std::string_view given) const {
  std::visit(Overloaded{[&](const Chosen& value) {
                          value.set(value.at, choice_index(field, value.names, given));
                        },
                        [&](bool* value) { *value = parse_switch(field, given); },
                        [&](std::string* value) { *value = given; },
                        [&](double* value) {
                          const double number = parse_real(field, given);
                          check_number(field, number);
                          *value = number;
                        },
                        [&]<class Number>(Number* value) {
                          const auto number = parse_whole<Number>(field, given);
                          check_number(field, number);
                          *value = number;
                        }},
             value_);
}

void OptionValue::set(const Field& field, const ordered_json& value) const {
  parse(field, value.is_string() ? value.get<std::string>() : value.dump());
}

void Options::check() {
  check_ranges(*this);
  if (type_ != nullptr) type_->check(values_);
}

void check_ranges(FieldsOf fields) {
  fields([](const Field& field, const OptionValue& value) { value.check(field); });
}

void set_given(const GivenOptions& given, FieldsOf fields) {
  fields([&](const Field& field, const OptionValue& value) {
    const auto found = given.find(std::string(field.name));
    if (found != given.end()) value.parse(field, found->second);
  });
}

void set_all_given(const GivenOptions& given, FieldsOf fields, std::string_view owner) {
  const std::vector<std::string_view> names = option_names(fields);
  for (const auto& [name, value] : given) {
    if (std::ranges::find(names, std::string_view(name)) != names.end()) continue;
    try {
      unknown_name(fmt::format("option of {}", owner), name, names);
    } catch (const UsageError& error) {
      throw OptionError(OptionError::Kind::kUnknown, name, error.what());
    }
  }
  set_given(given, fields);
  refuse_idle(given, fields);
}

void from_json(const ordered_json& json, FieldsOf fields) {
  fields([&](const Field& field, const OptionValue& value) {
    const auto found = json.find(std::string(field.name));
    if (found != json.end()) value.set(field, *found);
  });
}

ordered_json to_json(FieldsOf fields) {
  ordered_json json = ordered_json::object();
  fields([&](const Field& field, const OptionValue& value) {
    json[std::string(field.name)] = value.json();
  });
  return json;
}

std::vector<std::string_view> option_names(FieldsOf fields) {
  std::vector<std::string_view> names;
  fields([&](const Field& field, const OptionValue&) { names.push_back(field.name); });
  return names;
}

void refuse_idle(const GivenOptions& given, FieldsOf fields) {
  fields([&](const Field& field, const OptionValue&) {
    if (field.idle.empty() || !given.contains(std::string(field.name))) return;
    throw OptionError(OptionError::Kind::kNoEffect, std::string(field.name),
                      fmt::format("--{} has no effect on {}", field.name, field.idle));
  });
}

}  // namespace curnm
