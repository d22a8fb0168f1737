#pragma once

#include <string>

#include "curnm/experiments/result_set.h"

namespace curnm::testing {

/// A finished run with every kind of number in it.
inline RunResult finished_run(double trans_ap = 0.875) {
  RunResult run;
  run.network = "uci";
  run.model = "tgn";
  run.miner = "curnm";
  run.state = RunState::kDone;
  run.folder = "runs/some";
  run.version = "0.1.0";
  run.data_digest = "abc";
  run.options["train"]["epochs"] = 2;
  run.options["train"]["select-on"] = "trans";
  run.options["miner"]["pool"] = 8;
  run.environment = {"A CPU", 2, 1, 1 << 30, "Linux", "LibTorch"};
  run.epochs = 2;
  run.best_epoch = 1;
  run.seconds_per_epoch = 1.5;
  run.training_events = 1000;
  run.scores = {{"test", "trans", "ap", trans_ap}, {"test_new", "trans", "ap", 0.5}};
  run.baselines = {{"test", "trans", "recency-src", 0.9}};
  run.curve = {{0, 0.6, 1.0, R"({"mining.pi": 1.0})"}, {1, 0.7, 2.0, R"({"mining.pi": 0.95})"}};
  return run;
}

}  // namespace curnm::testing
