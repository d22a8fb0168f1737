#pragma once

#include <string>

#include "cli/predictor.h"

namespace curnm::cli {

struct BacktestFlags {
  PredictorFlags model;
  GivenOptions task;  // those that may change after training
  std::string from;   // empty: the first event that the model has not seen
  std::string to;     // empty: to the last event
  std::string periods = "8";
  std::string report;  // file of a page; empty: none
  bool json = false;
};

/// Tests a model period by period on what happened after its training.
void run_backtest(const BacktestFlags& flags);

}  // namespace curnm::cli
