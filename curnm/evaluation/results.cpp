#include "curnm/evaluation/results.h"

#include <nlohmann/json.hpp>

#include "curnm/evaluation/baselines.h"
#include "curnm/evaluation/measured.h"

namespace curnm {

using nlohmann::ordered_json;

ordered_json protocol_metrics(const std::vector<ProtocolScores>& scores, std::int64_t batch_size,
                              Contest ProtocolScores::*contest) {
  ordered_json result = ordered_json::object();
  for (const ProtocolScores& entry : scores) {
    const auto& [positives, negatives] = entry.*contest;
    const LinkMetrics metrics = link_metrics(positives, negatives, batch_size);
    result[std::string(name_of(entry.protocol))] = {{"ap", metrics.ap},
                                                    {"auc", metrics.auc},
                                                    {"ap_global", metrics.ap_global},
                                                    {"auc_global", metrics.auc_global}};
  }
  return result;
}

ordered_json to_json(const Ranking& ranking) {
  return {{"mrr", ranking.mrr}, {"hits10", ranking.hits10}, {"candidates", ranking.candidates}};
}

ordered_json test_scorer(const LinkTask& task, const TestRequest& request,
                         const std::function<std::unique_ptr<Scorer>()>& start) {
  ordered_json result;
  const auto test = [&](const std::string& name, const EvaluationSet* set) {
    if (set == nullptr) {
      result[name] = nullptr;
      return;
    }
    const std::vector<ProtocolScores> scores =
        score_protocols(*start(), *set, measured(*set, request.protocols), task.evaluation_batch());
    if (request.sink) request.sink(name, *set, scores);
    result[name] = protocol_metrics(scores, task.evaluation_batch());
    result[name]["events"] = set->positives.size();
    if (request.rank_among > 0) {
      result[name]["mrr"] = to_json(rank_destinations(*start(), *set, task, request.rank_among));
    }
    if (scores.empty() || scores.front().single.positives.empty()) return;
    result[name + "_single"] =
        protocol_metrics(scores, task.evaluation_batch(), &ProtocolScores::single);
  };
  test("test", &task.test());
  test("test_new", task.new_test());
  return result;
}

ordered_json test_baseline(const LinkTask& task, std::string_view name,
                           const TestRequest& request) {
  return test_scorer(task, request, [&] { return make_baseline(name, task); });
}

namespace {

/// All rules, each fitted once: they have no state, so one serves every test.
struct Rule {
  std::string_view name;
  std::unique_ptr<Scorer> scorer;
};

std::vector<Rule> make_rules(const LinkTask& task) {
  std::vector<Rule> rules;
  for (const BaselineEntry& entry : baselines()) rules.push_back({entry.name, entry.make(task)});
  return rules;
}

ordered_json best_baselines(const std::vector<Rule>& rules, const EvaluationSet& set,
                            std::span<const Protocol> asked, std::int64_t batch_size) {
  ordered_json best = ordered_json::object();
  for (const Rule& rule : rules) {
    const ordered_json all =
        protocol_metrics(score_protocols(*rule.scorer, set, asked, batch_size), batch_size);
    for (const auto& [protocol, metrics] : all.items()) {
      const double ap = metrics["ap"];
      if (!best.contains(protocol) || best[protocol]["ap"] < ap) {
        best[protocol] = {{"name", rule.name}, {"ap", ap}};
      }
    }
  }
  return best;
}

ordered_json best_ranking(const std::vector<Rule>& rules, const LinkTask& task,
                          const EvaluationSet& set, std::int64_t among) {
  ordered_json best;
  for (const Rule& rule : rules) {
    ordered_json found = to_json(rank_destinations(*rule.scorer, set, task, among));
    if (!best.is_null() && best["mrr"] >= found["mrr"]) continue;
    best = std::move(found);
    best["name"] = rule.name;
  }
  return best;
}

}  // namespace

ordered_json rank_rules(const LinkTask& task, const RankingNegatives& negatives) {
  ordered_json all = ordered_json::object();
  for (const Rule& rule : make_rules(task)) {
    all[std::string(rule.name)] = to_json(rank_destinations(*rule.scorer, task, negatives));
  }
  return all;
}

void add_comparison(const LinkTask& task, const TestRequest& request, ordered_json& result) {
  const std::vector<Rule> rules = make_rules(task);
  const auto compare = [&](const std::string& suffix, const EvaluationSet* set) {
    result["best_baseline" + suffix] =
        set == nullptr ? ordered_json()
                       : best_baselines(rules, *set, measured(*set, request.protocols),
                                        task.evaluation_batch());
    if (request.rank_among == 0) return;
    result["best_ranking" + suffix] =
        set == nullptr ? ordered_json() : best_ranking(rules, task, *set, request.rank_among);
  };
  compare("", &task.test());
  compare("_new", task.new_test());
  result["lookahead"] = name_of(task.options().lookahead);
  result.update(facts_on_negatives(task));
}

}  // namespace curnm
