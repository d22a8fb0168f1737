#include "curnm/evaluation/results.h"

#include <nlohmann/json.hpp>

#include "curnm/evaluation/baselines.h"

namespace curnm {

using nlohmann::ordered_json;

ordered_json protocol_metrics(const std::vector<ProtocolScores>& scores, std::int64_t batch_size) {
  ordered_json result;
  for (const ProtocolScores& entry : scores) {
    const LinkMetrics metrics = link_metrics(entry.positives, entry.negatives, batch_size);
    result[std::string(name_of(entry.protocol))] = {{"ap", metrics.ap},
                                                    {"auc", metrics.auc},
                                                    {"ap_global", metrics.ap_global},
                                                    {"auc_global", metrics.auc_global}};
  }
  return result;
}

ordered_json test_scorer(const LinkTask& task, const TestRequest& request,
                         const std::function<std::unique_ptr<Scorer>()>& start) {
  ordered_json result;
  const auto test = [&](const char* name, const EvaluationSet* set) {
    if (set == nullptr) {
      result[name] = nullptr;
      return;
    }
    const std::vector<ProtocolScores> scores =
        score_protocols(*start(), *set, request.protocols, task.evaluation_batch());
    if (request.sink) request.sink(name, *set, scores);
    result[name] = protocol_metrics(scores, task.evaluation_batch());
    result[name]["events"] = set->positives.size();
    if (request.mrr_negatives > 0) {
      result[name]["mrr"] = mean_reciprocal_rank(*start(), *set, task, request.mrr_negatives);
    }
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

ordered_json best_baselines(const LinkTask& task, const EvaluationSet& set,
                            std::span<const Protocol> asked) {
  const std::int64_t batch_size = task.evaluation_batch();
  ordered_json best;
  for (const BaselineEntry& entry : baselines()) {
    const std::vector<ProtocolScores> scores =
        score_protocols(*entry.make(task), set, asked, batch_size);
    const ordered_json all = protocol_metrics(scores, batch_size);
    for (const auto& [protocol, metrics] : all.items()) {
      const double ap = metrics["ap"];
      if (!best.contains(protocol) || best[protocol]["ap"] < ap) {
        best[protocol] = {{"name", entry.name}, {"ap", ap}};
      }
    }
  }
  return best;
}

}  // namespace

void add_comparison(const LinkTask& task, std::span<const Protocol> protocols,
                    ordered_json& result) {
  result["best_baseline"] = best_baselines(task, task.test(), protocols);
  result["best_baseline_new"] = task.new_test() == nullptr
                                    ? ordered_json()
                                    : best_baselines(task, *task.new_test(), protocols);
  result["lookahead"] = name_of(task.options().lookahead);
}

}  // namespace curnm
