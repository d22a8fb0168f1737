#include "curnm/evaluation/baselines.h"

#include <array>
#include <cmath>

#include "curnm/base/names.h"
#include "curnm/base/parallel.h"
#include "curnm/evaluation/fitted_rules.h"

namespace curnm {
namespace {

/// A score that depends on what happened strictly before t, and on nothing else.
template <class Rule>
class RuleScorer final : public Scorer {
 public:
  explicit RuleScorer(Rule rule) : rule_(std::move(rule)) {}

  Scores score(const Pairs& pairs, Timestamp) override {
    Scores scores{.values = std::vector<float>(pairs.src.size())};
    parallel_for(pairs.size(), /*grain=*/1024, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = index(begin); i < index(end); ++i) {
        scores.values[i] = static_cast<float>(rule_(pairs.src[i], pairs.dst[i], pairs.time[i]));
      }
    });
    return scores;
  }

 private:
  Rule rule_;
};

template <class Rule>
std::unique_ptr<Scorer> scorer(Rule rule) {
  return std::make_unique<RuleScorer<Rule>>(std::move(rule));
}

/// log(1 + time since the last event); if there was none, larger than for any time.
double age(Timestamp last, Timestamp t) {
  constexpr double kForever = 710;
  return last == kNever ? kForever : std::log1p(t - last);
}

double node_age(const Past& past, NodeId node, Timestamp t) {
  return age(past.graph->last_seen(node, t), t);
}

std::unique_ptr<Scorer> recency_src(const Past& past) {
  return scorer([past](NodeId u, NodeId, Timestamp t) { return -node_age(past, u, t); });
}

std::unique_ptr<Scorer> recency_dst(const Past& past) {
  return scorer([past](NodeId, NodeId v, Timestamp t) { return -node_age(past, v, t); });
}

std::unique_ptr<Scorer> recency_src_dst(const Past& past) {
  return scorer([past](NodeId u, NodeId v, Timestamp t) {
    return -node_age(past, u, t) - node_age(past, v, t);
  });
}

std::unique_ptr<Scorer> recency_pair(const Past& past) {
  return scorer([past](NodeId u, NodeId v, Timestamp t) {
    return -age(past.partners->last_before(u, v, t), t);
  });
}

/// EdgeBank (Poursafaei et al. 2022, arXiv 2207.10128v1): has the pair been seen before?
std::unique_ptr<Scorer> edgebank(const Past& past) {
  return scorer([past](NodeId u, NodeId v, Timestamp t) {
    return past.pairs->last_before(u, v, t) == kNever ? 0.0 : 1.0;
  });
}

/// The same within a window as long as the test period.
std::unique_ptr<Scorer> edgebank_window(const LinkTask& task) {
  const EventLog& log = task.log();
  const double window = log.time.back() - log.time[task.split().first_test];
  return scorer([&task, window](NodeId u, NodeId v, Timestamp t) {
    return task.pairs().last_before(u, v, t) >= t - window ? 1.0 : 0.0;
  });
}

std::unique_ptr<Scorer> popularity(const Past& past) {
  return scorer([past](NodeId, NodeId v, Timestamp t) {
    return static_cast<double>(past.graph->before(v, t).size());
  });
}

/// A rule that needs nothing but the past, on a task.
template <std::unique_ptr<Scorer> (*rule)(const Past&)>
constexpr BaselineEntry of_past(std::string_view name, std::string_view summary) {
  return {name, summary, [](const LinkTask& task) { return rule(task.past()); }, rule};
}

constexpr std::array<BaselineEntry, 9> kBaselines = {{
    of_past<recency_src>("recency-src", "how recently the source was active"),
    of_past<recency_dst>("recency-dst", "how recently the destination was active"),
    of_past<recency_src_dst>("recency-src-dst", "the sum of both ages"),
    of_past<recency_pair>("recency-pair", "how recently the two met"),
    of_past<edgebank>("edgebank", "whether the pair was seen before"),
    {"edgebank-window", "whether it was seen within the length of the test period",
     edgebank_window},
    of_past<popularity>("popularity", "how many events the destination has had"),
    {"best-statistic", "the statistic of the pair that tells training events best", best_statistic},
    {"ages", "a logistic regression on ages, fitted to training events", age_regression},
}};

}  // namespace

std::span<const BaselineEntry> baselines() { return kBaselines; }

std::unique_ptr<Scorer> make_baseline(std::string_view name, const LinkTask& task) {
  return find_entry("baseline", baselines(), name).make(task);
}

}  // namespace curnm
