#include "curnm/evaluation/measured.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "curnm/base/error.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

struct NamedSet {
  std::string_view key;   // in results
  std::string_view text;  // in sentences
  const EvaluationSet* set;
};

std::array<NamedSet, 3> sets_of(const LinkTask& task) {
  return {{{"validation", "validation", &task.validation()},
           {"test", "the test", &task.test()},
           {"test_new", "the test of new nodes", task.new_test()}}};
}

/// Why a protocol has no genuine negative.
std::string_view reason(Protocol protocol) {
  switch (protocol) {
    case Protocol::kRandom:
      return "every source meets all destinations at once";
    case Protocol::kHistorical:
      return "no former pair is absent when they are drawn";
    case Protocol::kInductive:
      return "no pair that is new in the period is absent later in it";
    case Protocol::kTrans:
      return "every pair that could be a negative is an event";
    case Protocol::kSourceHistorical:
      break;
  }
  return "no source has a former partner other than the one it meets";
}

/// "a, b or c".
std::string alternatives(const std::vector<std::string_view>& names) {
  if (names.size() < 2) return std::string(names.empty() ? "" : names.front());
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

[[noreturn]] void refuse(const char* option, std::string_view value, std::string_view where,
                         Protocol protocol, const std::vector<std::string_view>& instead) {
  const std::string advice =
      instead.empty() ? "and nothing else can be either: other cuts may help, --split at "
                        "--validation-from T --test-from T"
                      : fmt::format("choose --{} {}", option, alternatives(instead));
  throw OptionError(OptionError::Kind::kValue, option,
                    fmt::format("--{} {} cannot be measured in {}: {}; {}", option, value, where,
                                reason(protocol), advice));
}

std::vector<std::string_view> names_of(const std::vector<Protocol>& protocols) {
  std::vector<std::string_view> names;
  for (const Protocol protocol : protocols) names.push_back(name_of(protocol));
  return names;
}

/// All that are not measured, in one sentence.
std::string not_measured_note(std::span<const NamedSet> sets, std::span<const Protocol> asked) {
  std::vector<std::string> parts;
  for (const Protocol protocol : asked) {
    std::vector<std::string_view> where;
    for (const NamedSet& named : sets) {
      if (named.set != nullptr && !named.set->measures(protocol)) where.push_back(named.text);
    }
    if (where.empty()) continue;
    parts.push_back(
        fmt::format("{} in {} ({})", name_of(protocol), fmt::join(where, ", "), reason(protocol)));
  }
  return parts.empty() ? "" : fmt::format("not measured: {}", fmt::join(parts, "; "));
}

/// Where at least half of a question's negatives are stand-ins.
std::string stand_ins_note(std::span<const NamedSet> sets, std::span<const Protocol> asked) {
  std::vector<std::string> parts;
  for (const Question question : kQuestions) {
    const Protocol protocol = protocol_of(question);
    if (std::ranges::find(asked, protocol) == asked.end()) continue;
    for (const NamedSet& named : sets) {
      if (named.set == nullptr || !named.set->measures(protocol)) continue;
      const std::int64_t genuine = named.set->genuine(protocol);
      const std::int64_t events = named.set->positives.size();
      if (2 * genuine > events) continue;
      parts.push_back(
          fmt::format("{} in {} {} of {}", name_of(protocol), named.text, genuine, events));
    }
  }
  if (parts.empty()) return "";
  return fmt::format("few negatives are of their protocol's kind, random ones stand in: {}",
                     fmt::join(parts, ", "));
}

}  // namespace

std::vector<Protocol> measured(const EvaluationSet& set, std::span<const Protocol> asked) {
  std::vector<Protocol> found;
  std::ranges::copy_if(asked, std::back_inserter(found),
                       [&](Protocol protocol) { return set.measures(protocol); });
  return found;
}

void check_goal(const EvaluationSet& validation, Goal goal, SelectOn select_on) {
  const auto can_measure = [&](Goal other) {
    return std::ranges::any_of(questions_of(other), [&](Question question) {
      return validation.measures(protocol_of(question));
    });
  };
  if (!can_measure(goal)) {
    std::vector<std::string_view> instead;
    for (const Goal other :
         {Goal::kDestination, Goal::kPartner, Goal::kPair, Goal::kNewPair, Goal::kAll}) {
      if (can_measure(other)) instead.push_back(name_of(other));
    }
    refuse("goal", name_of(goal), "validation", protocol_of(questions_of(goal).front()), instead);
  }
  if (select_on == SelectOn::kGoal || select_on == SelectOn::kMrr) return;
  const Protocol decisive = headline(goal, select_on);
  if (validation.measures(decisive)) return;
  std::vector<std::string_view> instead = names_of(measured(validation, all_protocols()));
  instead.insert(instead.begin(), name_of(SelectOn::kGoal));
  refuse("select-on", name_of(select_on), "validation", decisive, instead);
}

void check_protocol(const EvaluationSet& test, Protocol protocol) {
  if (test.measures(protocol)) return;
  refuse("protocol", name_of(protocol), "the test", protocol,
         names_of(measured(test, all_protocols())));
}

std::vector<std::string> notes_on_negatives(const LinkTask& task, std::span<const Protocol> asked,
                                            bool validation) {
  const std::array<NamedSet, 3> all = sets_of(task);
  const auto sets = std::span(all).subspan(validation ? 0 : 1);
  std::vector<std::string> notes = {not_measured_note(sets, asked), stand_ins_note(sets, asked)};
  std::erase(notes, "");
  return notes;
}

ordered_json facts_on_negatives(const LinkTask& task) {
  ordered_json not_measured;
  ordered_json genuine;
  for (const auto& [key, text, set] : sets_of(task)) {
    ordered_json& missing = not_measured[std::string(key)] = ordered_json::array();
    ordered_json& counts = genuine[std::string(key)];
    if (set == nullptr) continue;
    for (const Protocol protocol : all_protocols()) {
      counts[std::string(name_of(protocol))] = set->genuine(protocol);
      if (!set->measures(protocol)) missing.push_back(name_of(protocol));
    }
  }
  return {{"not_measured", not_measured}, {"genuine_negatives", genuine}};
}

}  // namespace curnm
