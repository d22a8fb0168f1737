#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "curnm/evaluation/evaluate.h"

namespace curnm {

/// Every row that was scored: protocol, position, score of the positive and of its negative.
using ScoreSink = std::function<void(std::string_view set, const EvaluationSet& evaluated,
                                     const std::vector<ProtocolScores>& scores)>;

struct TestRequest {
  std::span<const Protocol> protocols = all_protocols();
  std::int64_t rank_among = 0;  // destinations to rank true ones among; 0: no ranking
  ScoreSink sink = {};
};

/// AP and AUC of every protocol: {"random": {"ap": ..., "auc": ..., "ap_global": ..., ...}, ...},
/// by one of the two contests of ProtocolScores.
nlohmann::ordered_json protocol_metrics(
    const std::vector<ProtocolScores>& scores, std::int64_t batch_size,
    Contest ProtocolScores::*contest = &ProtocolScores::fitting);

/// {"mrr": ..., "hits10": ..., "candidates": ...}
nlohmann::ordered_json to_json(const Ranking& ranking);

/// A scorer on the test events and on the new-node test events: {"test": {...}, "test_new": {...}},
/// of the protocols that each can measure, with "mrr", a ranking, if requested; "test_single" and
/// "test_new_single" are the same by one score for everything, where the scorer has an output for
/// each question. `start` makes a scorer that has seen all events before the test, a new one for
/// each pass.
nlohmann::ordered_json test_scorer(const LinkTask& task, const TestRequest& request,
                                   const std::function<std::unique_ptr<Scorer>()>& start);

/// The same for a rule without parameters.
nlohmann::ordered_json test_baseline(const LinkTask& task, std::string_view name,
                                     const TestRequest& request = {});

/// The ranking of every rule among the same destinations, by its name.
nlohmann::ordered_json rank_rules(const LinkTask& task, const RankingNegatives& negatives);

/// Adds the best rule of each protocol to the result of a test: best_baseline and
/// best_baseline_new, {"random": {"name": ..., "ap": ...}, ...}; that of the ranking, where one was
/// asked for, as best_ranking and best_ranking_new; how the task was made, and what it can measure
/// (facts_on_negatives).
void add_comparison(const LinkTask& task, const TestRequest& request,
                    nlohmann::ordered_json& result);

}  // namespace curnm
