#include "curnm/prediction/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace curnm {
namespace {

/// "1 event", "2 events"
std::string counted(std::int64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

/// "ann was last active 5 minutes ago, 120 events with 30 partners, one in 3 hours on average"
std::string about(const PairFacts::Node& node, std::string_view name, Timestamp t, TimeUnit unit) {
  if (node.events == 0) return fmt::format("{} has never been active", name);
  std::string text =
      fmt::format("{} was last active {} ago, {} with {}", name, unit.in_words(t - node.last),
                  counted(node.events, "event"), counted(node.partners, "partner"));
  if (node.events > 1 && node.last > node.first) {
    text +=
        fmt::format(", one in {} on average",
                    unit.in_words((node.last - node.first) / static_cast<double>(node.events - 1)));
  }
  return text;
}

}  // namespace

TimeUnit TimeUnit::of(const EventLog& log) {
  constexpr double kFirst = 1e8;        // March 1973
  constexpr double kLast = 4102444800;  // 2100
  if (log.size() == 0) return {};
  for (const double seconds : {1.0, 1e-3}) {
    if (log.time.front() * seconds >= kFirst && log.time.back() * seconds <= kLast) {
      return {seconds};
    }
  }
  return {};
}

std::string TimeUnit::in_words(double length) const {
  if (seconds == 0) {
    if (length < 1e-6) return "less than a millionth of a unit of time";  // right after it
    return length >= 100 || length == std::round(length)
               ? counted(static_cast<std::int64_t>(std::llround(std::min(length, 9e18))), "unit") +
                     " of time"
               : fmt::format("{:.3g} units of time", length);
  }
  // A unit is used from two of it on, so that nothing is rounded by more than a quarter.
  struct Unit {
    double seconds;
    std::string_view name;
  };
  constexpr double kDay = 86400;
  constexpr std::array<Unit, 4> kUnits = {
      {{365.25 * kDay, "year"}, {kDay, "day"}, {3600, "hour"}, {60, "minute"}}};
  const double value = length * seconds;
  if (value < 1) return "less than a second";
  for (const Unit& unit : kUnits) {
    if (value >= 2 * unit.seconds) return counted(std::llround(value / unit.seconds), unit.name);
  }
  return counted(std::llround(value), "second");
}

std::string in_words(const PairFacts& facts, std::string_view src, std::string_view dst,
                     Timestamp t, TimeUnit unit) {
  std::string text = "never met";
  if (facts.met.count > 0) {
    text = fmt::format("last met {} ago, {}", unit.in_words(t - facts.met.last),
                       counted(facts.met.count, "time"));
    if (src != dst && facts.vu.count > 0) {
      text += fmt::format(" ({} from {})", facts.vu.count, dst);
    }
  }
  text += "; " + about(facts.u, src, t, unit);
  if (src == dst) return text;
  text += "; " + about(facts.v, dst, t, unit);
  if (facts.met.count > 0) {
    text += fmt::format("; since then {} of {} and {} of {}", counted(facts.since_u, "event"), src,
                        facts.since_v, dst);
  }
  const auto recent = [&](std::int64_t count, const PairFacts::Node& node, std::string_view of,
                          std::string_view with) {
    if (count == 0) return;
    text += fmt::format("; {} of the newest {} of {} with {}", count,
                        counted(std::min(node.events, kRecentEvents), "event"), of, with);
  };
  recent(facts.recent_vu, facts.u, src, dst);
  recent(facts.recent_uv, facts.v, dst, src);
  if (facts.common_partners > 0) {
    text += fmt::format("; {} among the newest {}",
                        counted(facts.common_partners, "common partner"), kRecentEvents);
  }
  const auto next = [&](std::int64_t count, std::string_view of, std::string_view to) {
    if (count == 0) return;
    text += fmt::format("; others went on from the last partner of {} to {} {}", of, to,
                        counted(count, "time"));
  };
  next(facts.next_v[0].went_on.count, src, dst);
  next(facts.next_u[0].went_on.count, dst, src);
  return text;
}

nlohmann::ordered_json to_json(const Explanation& explanation, std::string_view words) {
  nlohmann::ordered_json moved = nlohmann::ordered_json::object();
  for (const Explanation::Part& part : explanation.parts) moved[part.name] = part.moved;
  const Activity& met = explanation.facts.met;
  return {
      {"words", words},
      {"met", met.count},
      {"last_met", met.count == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(met.last)},
      {"typical", explanation.typical},
      {"moved", std::move(moved)}};
}

}  // namespace curnm
