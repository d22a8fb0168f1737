#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "curnm/experiments/result_set.h"

// Results as training would leave them, without training.

namespace curnm::testing {

/// A finished run with one score: AP under `trans` on all test events.
inline RunResult scored_run(std::string network, std::string model, std::string miner,
                            std::int64_t seed, double ap) {
  RunResult run;
  run.network = std::move(network);
  run.model = std::move(model);
  run.miner = std::move(miner);
  run.seed = seed;
  run.state = RunState::kDone;
  run.scores = {{"test", "trans", "ap", ap}};
  return run;
}

inline RunResult failed_run(std::string network, std::string model, std::string miner,
                            std::int64_t seed, std::string reason) {
  RunResult run = scored_run(std::move(network), std::move(model), std::move(miner), seed, 0);
  run.state = RunState::kFailed;
  run.reason = std::move(reason);
  run.scores.clear();
  return run;
}

/// Adds a run in its own cell.
inline void add_cell(ResultSet& results, std::string experiment, std::string variant,
                     RunResult run) {
  run.id = static_cast<std::int64_t>(results.runs.size()) + 1;
  results.cells.push_back({std::move(experiment), std::move(variant), results.runs.size()});
  results.runs.push_back(std::move(run));
}

/// Runs of the experiment "main" with seeds 0, 1, …, and the AP of the best rule if there is one.
inline void add_seeds(ResultSet& results, const std::string& network, const std::string& model,
                      const std::string& miner, const std::vector<double>& scores,
                      double rule = kNoValue) {
  for (std::size_t seed = 0; seed < scores.size(); ++seed) {
    RunResult run =
        scored_run(network, model, miner, static_cast<std::int64_t>(seed), scores[seed]);
    if (std::isfinite(rule)) run.baselines = {{"test", "trans", "ages", rule}};
    add_cell(results, "main", "", std::move(run));
  }
}

/// A number in [0, 1) that depends on the arguments alone.
inline double noise(std::int64_t a, std::int64_t b) {
  const double x = std::sin(static_cast<double>(a) * 12.9898 + static_cast<double>(b) * 78.233);
  return std::abs(x * 43758.5453) - std::floor(std::abs(x * 43758.5453));
}

/// A run with everything that a training leaves: scores of all protocols and sets, rules without
/// learning, `epochs` epochs of a curve that ends near `ap`.
inline RunResult full_run(std::string network, std::string model, std::string miner,
                          std::int64_t seed, double ap, std::int64_t epochs) {
  RunResult run = scored_run(std::move(network), std::move(model), std::move(miner), seed, ap);
  run.version = "0.1.0";
  run.data_digest = "8b48ee42a254230db8c5afee0e44d5f0";
  run.environment = {"Some Processor at 2.8 GHz",
                     2,
                     2,
                     std::int64_t{8} << 30,
                     "Linux 6.1, Debian GNU/Linux 12",
                     "LibTorch 1.13.0, OpenBLAS 0.3.21"};
  run.epochs = epochs;
  run.best_epoch = epochs * 2 / 3;
  run.seconds_per_epoch = (run.miner == "curnm" ? 15 : 7) + noise(seed, 1);
  run.training_events = 41'884;
  run.options = {{"train", {{"model", run.model}, {"epochs", 60}, {"batch", 200}, {"seed", seed}}},
                 {"model", {{"width", 172}, {"neighbors", 10}}},
                 {"miner", nlohmann::ordered_json::object()},
                 {"task", {{"split", "time"}, {"boundary", "later"}}}};
  if (run.miner == "curnm") run.options["miner"] = {{"pool", 8}, {"tau", 0.5}};
  run.scores.clear();
  for (const auto& [set, set_loss] : {std::pair("test", 0.), std::pair("test_new", .04)}) {
    for (const auto& [protocol, loss] :
         {std::pair("random", -.02), std::pair("historical", .02), std::pair("inductive", .05),
          std::pair("trans", 0.), std::pair("source_historical", .09)}) {
      const double score = std::min(ap - loss - set_loss, 1.);
      run.scores.push_back({set, protocol, "ap", score});
      run.scores.push_back({set, protocol, "auc", score - .01});
      run.baselines.push_back({set, protocol, "recency-src-dst", .8 - loss});
    }
  }
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto e = static_cast<double>(epoch);
    const double pi = std::max(.1, 1 - .03 * e);
    const double hard = pi > .5 ? 0 : .3;
    nlohmann::ordered_json metrics = {{"losses.positive", .7 * std::exp(-e / 30)}};
    if (run.miner == "curnm") {
      metrics.update({{"losses.random", .6 * std::exp(-e / 20)},
                      {"losses.selected", .9 - .2 * std::exp(-e / 10)},
                      {"losses.contrastive", .3 * std::exp(-e / 5)},
                      {"mining.pi", pi},
                      {"mining.delta", std::max(.3, pi)},
                      {"mining.alpha", .006 * std::min(1., (e + 1) / 30)},
                      {"mining.beta", std::min(1., (e + 1) / 6)},
                      {"mining.pool_hard", hard},
                      {"mining.pool_historical", .56 - hard / 2},
                      {"mining.pool_random", .44 - hard / 2},
                      {"mining.score_historical", .55 - .1 * std::exp(-e / 9)},
                      {"mining.score_random", .25 * std::exp(-e / 20)},
                      {"mining.false_negative_share", .03},
                      {"mining.selected_hard", hard * 1.4},
                      {"mining.selected_historical", .6 - hard * .9},
                      {"mining.selected_random", .4 - hard * .5}});
    }
    run.curve.push_back({.epoch = epoch,
                         .validation_ap = ap - .2 * std::exp(-e / 8) + .01 * noise(seed, epoch),
                         .seconds = run.seconds_per_epoch,
                         .metrics = metrics.dump()});
  }
  return run;
}

/// Where the run ranks true destinations, and the best rule does, lower on events of new nodes.
inline void add_ranking(RunResult& run, double mrr) {
  for (const auto& [set, loss] : {std::pair("test", 0.), std::pair("test_new", .05)}) {
    run.scores.push_back({set, "mrr", "mrr", mrr - loss});
    run.scores.push_back({set, "mrr", "hits10", mrr - loss + .2});
    run.scores.push_back({set, "mrr", "candidates", 100});
    run.baselines.push_back({set, "mrr", "ages", .6});
  }
}

/// The same with a curriculum by question, as `--outputs questions` leaves it.
inline RunResult question_run(std::string network, std::string model, std::int64_t seed, double ap,
                              std::int64_t epochs) {
  RunResult run = full_run(std::move(network), std::move(model), "curnm", seed, ap, epochs);
  run.options["miner"] = {{"outputs", "questions"}, {"budget", 2}};
  for (EpochMetrics& epoch : run.curve) {
    const auto e = static_cast<double>(epoch.epoch);
    const double partner = .25 + .2 * std::exp(-e / 12);
    epoch.metrics = nlohmann::ordered_json{
        {"losses.positive", 2 * std::exp(-e / 30)},
        {"losses.negative", 1.9 * std::exp(-e / 25)},
        {"validation.random", epoch.validation_ap + .03},
        {"validation.source_historical",
         epoch.validation_ap - .06 + .02 * noise(seed, epoch.epoch)},
        {"validation.trans", epoch.validation_ap + .02},
        {"validation.inductive", epoch.validation_ap - .03},
        {"mining.pi_new_pair", std::max(.3, 1 - .015 * e)},
        {"mining.pi_destination", std::max(.3, 1 - .02 * e)},
        {"mining.pi_partner", std::max(.3, 1 - .01 * e)},
        {"mining.pi_pair", std::max(.3, 1 - .03 * e)},
        {"mining.share_destination", .6 - partner},
        {"mining.share_partner", partner},
        {"mining.share_pair", .3},
        {"mining.share_new_pair",
         .1}}.dump();
  }
  return run;
}

/// All miners on every network and model; `networks` may be names or anything a user typed.
inline ResultSet full_grid(const std::vector<std::string>& networks,
                           const std::vector<std::string>& models, std::int64_t seeds,
                           std::int64_t epochs) {
  ResultSet results;
  std::int64_t row = 0;
  for (const std::string& network : networks) {
    for (const std::string& model : models) {
      ++row;
      const double level = .7 + .15 * noise(row, 3);
      for (const auto& [miner, gain] :
           {std::pair("random", 0.), std::pair("recent", -.12 + .2 * noise(row, 4)),
            std::pair("ens", .015), std::pair("taser", -.02 + .04 * noise(row, 5)),
            std::pair("curnm", .05 * noise(row, 6))}) {
        for (std::int64_t seed = 0; seed < seeds; ++seed) {
          const auto id = static_cast<std::int64_t>(results.runs.size());
          const double ap = level + gain + .02 * noise(seed, row) + .008 * noise(seed, id);
          const auto length = static_cast<std::int64_t>(static_cast<double>(epochs) *
                                                        (1 - .4 * noise(seed + row, 7)));
          add_cell(results, "main", "", full_run(network, model, miner, seed, ap, length));
        }
      }
    }
  }
  return results;
}

/// Variants of one network; the first is complete.
inline void add_variants(ResultSet& results, const std::string& experiment,
                         const std::string& network,
                         const std::vector<std::pair<std::string, double>>& variants,
                         std::int64_t seeds) {
  for (const auto& [variant, ap] : variants) {
    for (std::int64_t seed = 0; seed < seeds; ++seed) {
      const double score = ap + .01 * noise(seed, static_cast<std::int64_t>(variant.size()));
      add_cell(results, experiment, variant, full_run(network, "tgn", "curnm", seed, score, 30));
    }
  }
}

}  // namespace curnm::testing
