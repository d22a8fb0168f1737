#pragma once

#include <any>
#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

// Each option is declared once, in the `fields` of the struct it belongs to:
//
//   struct JodieOptions {
//     std::int64_t width = 172;
//     Ties ties = Ties::kStream;
//
//     void fields(const FieldVisitor& visit) {
//       visit({.name = "width", .help = "width of embeddings", .min = 1}, width);
//       visit({.name = "ties", .help = "memory at equal times"}, ties);
//     }
//   };
//
// Flags, help, range checks, experiment files and the saved record all come from that one line. An
// enumeration offers its names by a function `choice_names` beside it.

namespace curnm {

struct Field {
  std::string_view name;
  std::string_view help;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string_view symbol = {};  // the paper's, where it has one
  bool is_time = false;          // may also be given as a date, which becomes seconds since 1970
  /// Why this option has no effect given the others ("--ablate cache, without hard negatives");
  /// empty if it has one.
  std::string_view idle = {};
};

/// "at least 1", "between 0 and 1"; empty if any number is allowed.
std::string range_of(const Field& field);

/// An enumeration used as an option names its values, in order:
///   constexpr ChoiceNames<2> choice_names(Ties) { return {"stream", "strict"}; }
/// REQUIRES: the values are 0, 1, ...
template <std::size_t kCount>
using ChoiceNames = std::array<std::string_view, kCount>;

template <class Enum>
concept Choice = std::is_enum_v<Enum> && requires(Enum value) {
  choice_names(value);
};

template <Choice Enum>
inline constexpr auto kChoiceNames = choice_names(Enum{});

template <Choice Enum>
constexpr std::string_view name_of(Enum value) {
  return kChoiceNames<Enum>[static_cast<std::size_t>(value)];
}

/// The value of an option, whatever its type, to be read and set.
class OptionValue {
 public:
  OptionValue(bool& value) : value_(&value) {}
  OptionValue(std::int64_t& value) : value_(&value) {}
  OptionValue(std::uint64_t& value) : value_(&value) {}
  OptionValue(double& value) : value_(&value) {}
  OptionValue(std::string& value) : value_(&value) {}
  template <Choice Enum>
  OptionValue(Enum& value)
      : value_(Chosen{&value, kChoiceNames<Enum>,
                      [](void* at, std::size_t i) { *static_cast<Enum*>(at) = Enum(i); },
                      [](const void* at) {
                        return static_cast<std::size_t>(*static_cast<const Enum*>(at));
                      }}) {}

  /// As a user writes it: 0.5, curnm, true.
  std::string text() const;
  nlohmann::ordered_json json() const;
  /// Throws OptionError if the text is not a value of the type, is out of range, or is not among
  /// the choices.
  void parse(const Field& field, std::string_view text) const;
  /// Throws as `parse`.
  void set(const Field& field, const nlohmann::ordered_json& value) const;
  /// Throws OptionError for a number out of range.
  void check(const Field& field) const;

  bool is_switch() const { return std::holds_alternative<bool*>(value_); }
  std::span<const std::string_view> choices() const;

 private:
  struct Chosen {
    void* at;
    std::span<const std::string_view> names;
    void (*set)(void*, std::size_t);
    std::size_t (*get)(const void*);
  };
  std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*, Chosen> value_;
};

using FieldVisitor = std::function<void(const Field&, OptionValue)>;

template <class T>
concept OptionStruct = requires(T options, const FieldVisitor& visit) {
  options.fields(visit);
};

/// Facts about a run from which options left open are filled in.
struct RunFacts {
  std::int64_t epochs = 0;  // E_0
  /// From the training events; negative while the data is unknown: the median step between distinct
  /// times, and the time in which the network has as many events as nodes.
  double median_step = -1;
  double time_per_node = -1;
  /// Tries on the network whether a sketch of temporal walks helps; empty while it is unknown.
  std::function<bool()> walks_help = {};
};

/// The options of a component: a struct whose type only the component knows. Copies are deep.
///
/// Besides `fields`, a struct may have `check() const`, which throws OptionError for values that
/// conflict, and `complete(const RunFacts&)`, which fills in what was left open.
class Options {
 public:
  Options() = default;
  template <OptionStruct T>
  requires(!std::same_as<T, Options>) Options(T values)
      : values_(std::move(values)), type_(&kTypeOf<T>) {}

  template <class T>
  const T& as() const {
    return *std::any_cast<T>(&values_);
  }
  template <class T>
  T& as() {
    return *std::any_cast<T>(&values_);
  }

  void fields(const FieldVisitor& visit) {
    if (type_ != nullptr) type_->fields(values_, visit);
  }
  /// Checks ranges, then calls the struct's own `check`.
  void check();
  void complete(const RunFacts& facts) {
    if (type_ != nullptr) type_->complete(values_, facts);
  }

 private:
  struct Type {
    void (*fields)(std::any&, const FieldVisitor&);
    void (*check)(const std::any&);
    void (*complete)(std::any&, const RunFacts&);
  };
  template <class T>
  static constexpr Type kTypeOf = {
      [](std::any& values, const FieldVisitor& visit) { std::any_cast<T>(&values)->fields(visit); },
      [](const std::any& values) {
        if constexpr (requires(const T& options) { options.check(); }) {
          std::any_cast<T>(&values)->check();
        }
      },
      [](std::any& values, const RunFacts& facts) {
        if constexpr (requires(T & options) { options.complete(facts); }) {
          std::any_cast<T>(&values)->complete(facts);
        }
      }};

  std::any values_;
  const Type* type_ = nullptr;
};

/// A non-owning reference to a struct with `fields`, valid during a call.
class FieldsOf {
 public:
  template <OptionStruct T>
  FieldsOf(T& options) : visit_([&options](const FieldVisitor& visit) { options.fields(visit); }) {}
  void operator()(const FieldVisitor& visit) const { visit_(visit); }

 private:
  std::function<void(const FieldVisitor&)> visit_;
};

/// Values by option name, as a user writes them: {"epochs", "60"}.
using GivenOptions = std::map<std::string, std::string>;

/// Throws OptionError naming the first value outside its range.
void check_ranges(FieldsOf fields);

/// Applies the given values; names that the struct does not have are ignored. Throws as
/// OptionValue::parse.
void set_given(const GivenOptions& given, FieldsOf fields);

/// The same for a struct that stands alone: throws OptionError, with the nearest name, for one that
/// it does not have, and for an option that has no effect with the others. `owner`: what the
/// options are of, for messages.
void set_all_given(const GivenOptions& given, FieldsOf fields, std::string_view owner);

/// Overwrites the fields that `json` has. Throws as OptionValue::parse.
void from_json(const nlohmann::ordered_json& json, FieldsOf fields);
nlohmann::ordered_json to_json(FieldsOf fields);

std::vector<std::string_view> option_names(FieldsOf fields);

/// Throws OptionError if one of these was given but has no effect with the other options.
void refuse_idle(const GivenOptions& given, FieldsOf fields);

}  // namespace curnm
