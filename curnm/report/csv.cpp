#include "curnm/base/csv.h"

#include <cmath>

#include "curnm/report/report.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

void add_row(std::string& out, const RunResult& run, const Cell& cell, const Score& score) {
  const bool known = std::isfinite(score.value);
  append(out, "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", run.id, csv_text(cell.experiment),
         csv_text(cell.variant), csv_text(run.network), csv_text(run.model), csv_text(run.miner),
         run.seed, state_name(run.state), csv_text(run.reason), csv_text(json_text(run.flags)),
         csv_text(score.set), csv_text(score.protocol), csv_text(score.metric),
         known ? fmt::format("{}", score.value) : "");
}

void add_rows(std::string& out, const RunResult& run, const Cell& cell) {
  if (run.scores.empty()) add_row(out, run, cell, {});
  for (const Score& score : run.scores) add_row(out, run, cell, score);
  for (const BaselineScore& rule : run.baselines) {
    const bool ranked = rule.protocol == kRankingScores;
    add_row(out, run, cell,
            {rule.set, rule.protocol, ranked ? "best_rule_mrr" : "best_rule_ap", rule.value});
  }
}

}  // namespace

std::string csv_report(const ResultSet& results) {
  std::string out =
      "run,experiment,variant,network,model,miner,seed,state,reason,flags,set,protocol,metric,"
      "value\r\n";
  std::vector<bool> named(results.runs.size());
  for (const Cell& cell : results.cells) {
    named.at(cell.run) = true;
    add_rows(out, results.runs[cell.run], cell);
  }
  for (std::size_t i = 0; i < results.runs.size(); ++i) {
    if (!named[i]) add_rows(out, results.runs[i], {});
  }
  return out;
}

}  // namespace curnm
