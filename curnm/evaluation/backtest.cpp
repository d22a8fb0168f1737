#include "curnm/evaluation/backtest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "curnm/base/error.h"
#include "curnm/evaluation/baselines.h"
#include "curnm/evaluation/measured.h"
#include "curnm/evaluation/results.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMostPeriods = 1000;
constexpr const char* kMrr = "mrr";

EventId first_from(const EventLog& log, Timestamp time) {
  return std::lower_bound(log.time.begin(), log.time.end(), time) - log.time.begin();
}

std::vector<char> nodes_before(const EventLog& log, EventId end) {
  std::vector<char> known(index(log.num_nodes), 0);
  for (EventId e = 0; e < end; ++e) known[index(log.src[e])] = known[index(log.dst[e])] = 1;
  return known;
}

/// A figure of each period, weighted by what it is a mean over.
class Series {
 public:
  void add(double value, double weight) { points_.push_back({value, weight}); }
  bool empty() const { return points_.empty(); }
  double mean() const { return mean_of(points_); }
  /// The mean of the later half minus that of the earlier; null if there are no two halves.
  ordered_json change() const {
    const std::size_t half = points_.size() / 2;
    if (half == 0) return nullptr;
    return mean_of(std::span(points_).last(half)) - mean_of(std::span(points_).first(half));
  }

 private:
  struct Weighted {
    double value;
    double weight;
  };
  static double mean_of(std::span<const Weighted> points) {
    double sum = 0;
    double weights = 0;
    for (const auto& [value, weight] : points) {
      sum += value * weight;
      weights += weight;
    }
    return sum / weights;
  }

  std::vector<Weighted> points_;
};

/// What a scorer has reached so far in one figure: AP of a protocol, or MRR.
using Figures = std::map<std::string, Series>;

/// The AP of each protocol and the MRR of a test.
std::map<std::string, double> headline_of(const ordered_json& test) {
  std::map<std::string, double> figures;
  for (const auto& [name, value] : test.items()) {
    if (!value.is_object()) continue;
    figures[name] = value.at(name == kMrr ? kMrr : "ap");
  }
  return figures;
}

/// The positives of a period with their negatives.
class PeriodSet {
 public:
  PeriodSet(const EventLog& log, const Period& period, const NegativeOptions& options)
      : known_(head(log, period.end)),
        pairs_(known_),
        partners_(known_, Partnership::kMutual),
        set_(make_evaluation_set(EventSet(log, events_of(period)), known_,
                                 {&pairs_, &partners_, &pairs_}, log.time[period.begin], options)) {
  }

  const EvaluationSet& operator*() const { return *set_; }

 private:
  static std::vector<EventId> events_of(const Period& period) {
    std::vector<EventId> events;
    for (EventId e = period.begin; e < period.end; ++e) events.push_back(e);
    return events;
  }

  EventLog known_;
  History pairs_;
  History partners_;
  std::unique_ptr<EvaluationSet> set_;
};

/// A scorer that walks through the periods, and what it has reached. Its two passes over each
/// period, for protocols and for the ranking, have a scorer each: both see every event once.
struct Contestant {
  std::string name;
  std::unique_ptr<Scorer> protocols;
  std::unique_ptr<Scorer> ranking;
  Figures figures = {};
  std::vector<ordered_json> tests = {};  // of the periods that have events

  void test(const EvaluationSet& set, const NegativeOptions& negatives,
            const RankingOptions& ranked) {
    const std::vector<Protocol> asked = measured(set, all_protocols());
    ordered_json result = protocol_metrics(
        score_protocols(*protocols, set, asked, negatives.batch_size), negatives.batch_size);
    result["events"] = set.positives.size();
    if (ranked.others > 0) result[kMrr] = to_json(rank_destinations(*ranking, set, ranked));
    const auto events = static_cast<double>(set.positives.size());
    const double batches = std::ceil(events / static_cast<double>(negatives.batch_size));
    for (const auto& [figure, value] : headline_of(result)) {
      figures[figure].add(value, figure == kMrr ? events : batches);
    }
    tests.push_back(std::move(result));
  }
};

std::vector<Contestant> rules_of(const Past& past) {
  std::vector<Contestant> rules;
  for (const BaselineEntry& entry : baselines()) {
    if (entry.make_of_past == nullptr) continue;
    rules.push_back({std::string(entry.name), entry.make_of_past(past), entry.make_of_past(past)});
  }
  return rules;
}

/// For each figure, the rule that is best over all periods.
std::map<std::string, const Contestant*> best_rules(const std::vector<Contestant>& rules) {
  std::map<std::string, const Contestant*> best;
  for (const Contestant& rule : rules) {
    for (const auto& [figure, series] : rule.figures) {
      const Contestant*& found = best[figure];
      if (found == nullptr || found->figures.at(figure).mean() < series.mean()) found = &rule;
    }
  }
  return best;
}

/// Figures in the order of tables: protocols, then the ranking.
std::vector<std::string> figures_of(const Figures& found) {
  std::vector<std::string> names;
  for (const ProtocolEntry& entry : protocols()) names.emplace_back(entry.name);
  names.emplace_back(kMrr);
  std::erase_if(names, [&](const std::string& name) { return !found.contains(name); });
  return names;
}

}  // namespace

PeriodLength parse_periods(std::string_view text) {
  constexpr double kDay = 86400;
  if (text == "day") return {.length = kDay};
  if (text == "week") return {.length = 7 * kDay};
  PeriodLength parts;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts.count);
  if (error != std::errc() || end != text.data() + text.size() || parts.count < 1 ||
      parts.count > kMostPeriods) {
    throw OptionError(OptionError::Kind::kValue, "periods",
                      fmt::format("--periods {}: expected day, week, or a number of equal periods "
                                  "from 1 to {}",
                                  text, kMostPeriods));
  }
  return parts;
}

std::vector<Period> cut_periods(const EventLog& log, Timestamp from, std::optional<Timestamp> to,
                                const PeriodLength& length) {
  const EventId begin = first_from(log, from);
  const EventId end = to ? first_from(log, *to) : log.size();
  if (begin >= end) {
    fail("there is no event from {} to {}: the network has events from {} to {}", from,
         to ? fmt::format("{}", *to) : "the end", log.time.front(), log.time.back());
  }
  const Timestamp last = to.value_or(log.time.back());
  double count = static_cast<double>(length.count);
  if (length.length > 0) {
    const double parts = (last - from) / length.length;
    count = std::max(1.0, to ? std::ceil(parts) : std::floor(parts) + 1);
    if (count > static_cast<double>(kMostPeriods)) {
      throw OptionError(
          OptionError::Kind::kValue, "periods",
          fmt::format("--periods makes {:.0f} periods of {} from {} to {}, and {} are the most: "
                      "days and weeks are of times in seconds; --periods N makes N equal ones",
                      count, length.length, from, last, kMostPeriods));
    }
  }
  const auto edge = [&](std::int64_t i) {
    const auto share = static_cast<double>(i);
    return length.length > 0 ? from + share * length.length : from + (last - from) * share / count;
  };
  const auto periods = static_cast<std::int64_t>(count);
  std::vector<Period> cut;
  for (std::int64_t i = 0; i < periods; ++i) {
    const bool is_last = i + 1 == periods;
    cut.push_back({.from = edge(i),
                   .to = is_last ? last : edge(i + 1),
                   .begin = i == 0 ? begin : cut.back().end,
                   .end = is_last ? end : std::clamp(first_from(log, edge(i + 1)), begin, end)});
  }
  return cut;
}

ordered_json backtest(const EventLog& log, const Past& past, std::span<const Period> periods,
                      const BacktestOptions& options,
                      const std::function<std::unique_ptr<Scorer>()>& start) {
  Contestant model{"model", start(), options.rank_among > 0 ? start() : nullptr};
  std::vector<Contestant> rules = rules_of(past);
  const std::vector<char> known = nodes_before(log, options.first_unseen);
  NegativeOptions negatives = options.negatives;
  RankingOptions ranked{
      .others = options.rank_among, .seed = negatives.seed, .batch_size = negatives.batch_size};
  for (const Period& period : periods) {
    if (period.begin == period.end) continue;
    const PeriodSet set(log, period, negatives);
    model.test(*set, negatives, ranked);
    for (Contestant& rule : rules) rule.test(*set, negatives, ranked);
    const std::int64_t events = period.end - period.begin;
    negatives.first_batch += (events + negatives.batch_size - 1) / negatives.batch_size;
    ranked.first += events;
    if (options.on_progress) options.on_progress(ranked.first);
  }

  const std::map<std::string, const Contestant*> best = best_rules(rules);
  ordered_json result = {{"periods", ordered_json::array()}};
  std::size_t tested = 0;
  for (const Period& period : periods) {
    const auto is_new = [&](EventId e) {
      return !known[index(log.src[e])] || !known[index(log.dst[e])];
    };
    std::int64_t fresh = 0;
    for (EventId e = period.begin; e < period.end; ++e) fresh += is_new(e) ? 1 : 0;
    ordered_json row = {
        {"from", period.from},      {"to", period.to}, {"events", period.end - period.begin},
        {"new_node_events", fresh}, {"test", nullptr}, {"rules", nullptr}};
    if (period.begin < period.end) {
      row["test"] = model.tests[tested];
      row["rules"] = ordered_json::object();
      for (const auto& [figure, ignored] : headline_of(model.tests[tested])) {
        row["rules"][figure] = headline_of(best.at(figure)->tests[tested]).at(figure);
      }
      ++tested;
    }
    result["periods"].push_back(std::move(row));
  }
  for (const std::string& figure : figures_of(model.figures)) {
    const Series& ours = model.figures.at(figure);
    const Series& theirs = best.at(figure)->figures.at(figure);
    result["all"]["test"][figure] = ours.mean();
    result["all"]["rules"][figure] = theirs.mean();
    result["rules"][figure] = best.at(figure)->name;
    result["change"][figure] = {{"model", ours.change()}, {"rule", theirs.change()}};
  }
  result["all"]["events"] = ranked.first;
  return result;
}

}  // namespace curnm
