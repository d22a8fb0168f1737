// Writes the pages that the browser test looks at: make_pages FOLDER

#include <cstdio>
#include <filesystem>

#include "curnm/report/report.h"
#include "support/results.h"
#include "support/temporary_folder.h"

using namespace curnm;

namespace {

ResultSet grid() {
  ResultSet results = testing::full_grid({"uci", "USLegis", "CanParl", "shop visits 2019 to 2024"},
                                         {"tgn", "jodie", "dysat"}, /*seeds=*/5, /*epochs=*/60);
  results.runs[7] = testing::failed_run("uci", "tgn", "recent", 2,
                                        "epoch 12: the loss is not a number; try --learning-rate");
  for (std::size_t i = 10; i < 15; ++i) {
    const RunResult& run = results.runs[i];
    results.runs[i] =
        testing::failed_run(run.network, run.model, run.miner, run.seed, "out of memory");
  }
  results.runs[70].state = RunState::kRunning;
  results.runs[70].scores.clear();
  results.runs[3].version = "0.0.9";
  for (RunResult& run : results.runs) {
    if (run.network != "USLegis" || run.model != "tgn" || run.miner != "curnm") continue;
    run = testing::question_run(run.network, run.model, run.seed, .88, 45);
  }
  for (RunResult& run : results.runs) {
    if (run.network != "uci" || run.scores.empty()) continue;
    testing::add_ranking(run, run.scores[0].value - .3);
  }
  for (const char* network : {"uci", "USLegis", "CanParl"}) {
    testing::add_variants(results, "ablation", network,
                          {{"complete", .85},
                           {"without pi", .84},
                           {"without random negatives", .77},
                           {"without cache", .852},
                           {"without temporal-aware embeddings", .83}},
                          /*seeds=*/5);
  }
  const std::size_t first = results.runs.size();
  testing::add_variants(results, "pool size", "uci",
                        {{"M=8", .85}, {"M=4", .84}, {"M=12", .852}, {"M=16", .851}}, 3);
  for (std::size_t i = first; i < results.runs.size(); ++i) {
    results.runs[i].flags = {{"pool", results.cells[i].variant.substr(2)}};
  }
  return results;
}

/// Folders of runs, as `curnm report RUN...` reads them: no experiment and one seed.
ResultSet folders() {
  ResultSet results = testing::full_grid({"uci"}, {"light", "tgn", "jodie", "dysat"}, /*seeds=*/1,
                                         /*epochs=*/20);
  results.cells.clear();
  std::erase_if(results.runs,
                [](const RunResult& run) { return run.miner == "recent" || run.miner == "taser"; });
  for (RunResult& run : results.runs) {
    testing::add_ranking(run, .55 + .2 * testing::noise(run.id, 1));
    if (run.model != "light") continue;
    for (EpochMetrics& epoch : run.curve) {  // the labels of the axis need four digits
      epoch.validation_ap = .96 + .02 * (epoch.validation_ap - .6);
    }
  }
  return results;
}

RunResult single() {
  RunResult run = testing::full_run("uci", "tgn", "curnm", 0, .91, 39);
  testing::add_ranking(run, .55);
  for (BaselineScore& rule : run.baselines) {
    if (rule.protocol == "source_historical") rule.value = .86;
  }
  return run;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: make_pages FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  std::filesystem::create_directories(folder);
  testing::write_bytes(folder / "grid.html", html_report(grid(), {.title = "Negative mining"}));
  testing::write_bytes(folder / "run.html", html_report({.runs = {single()}}, {}));
  testing::write_bytes(folder / "folders.html", html_report(folders(), {}));
  const ResultSet questions{.runs = {testing::question_run("uci", "light", 0, .93, 40)}};
  testing::write_bytes(folder / "questions.html",
                       html_report(questions, {.title = "uci, a curriculum by question"}));
  testing::write_bytes(folder / "empty.html", html_report({}, {.title = "Nothing yet"}));
}
