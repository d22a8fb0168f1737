#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "curnm/experiments/job.h"
#include "curnm/experiments/result_set.h"

namespace curnm {

/// How long jobs take, judged by finished runs.
class Estimates {
 public:
  explicit Estimates(const ResultSet& known);

  /// Seconds that a job takes on one thread if all its epochs are run: from finished runs of its
  /// model and miner (on its own network, if there are any), else from rates measured on an
  /// ordinary machine.
  double seconds(const Job& job, std::int64_t events, std::int64_t epochs) const;

 private:
  struct Mean {
    double sum = 0;
    int count = 0;
  };
  using Components = std::pair<std::string, std::string>;  // model and miner
  /// Of seconds per epoch on a network.
  std::map<std::pair<Components, std::string>, Mean> on_network_;
  /// Of seconds per training event and epoch.
  std::map<Components, Mean> anywhere_;
};

/// The total time of runs that take these seconds each, `workers` at a time.
double side_by_side(std::span<const double> seconds, std::int64_t workers);

}  // namespace curnm
