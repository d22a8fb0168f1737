#pragma once

#include "curnm/training/checkpoint.h"
#include "curnm/training/session.h"
#include "support/options.h"

namespace curnm::testing {

/// Options of a short training of a small model; entries of `more` override.
inline GivenOptions quick(std::string_view model, const GivenOptions& more = {}) {
  GivenOptions given = more;
  given.emplace("model", model);
  given.emplace("epochs", "3");
  given.emplace("batch", "50");
  given.emplace("learning-rate", "1e-3");
  given.emplace("width", "16");
  if (given["model"] != "dysat") given.emplace("time-width", "8");
  if (given["model"] != "jodie") given.emplace("neighbors", "4");
  return given;
}

/// A run on an existing network.
inline TrainingSession session_of(const GivenOptions& given, const Dataset& dataset) {
  return {resolve_run(given), dataset};
}

inline void train(TrainingSession& session) {
  TrainObserver nobody;
  session.train(nobody);
}

/// Trains and tests.
inline nlohmann::ordered_json trained_and_tested(const GivenOptions& given, const Dataset& dataset,
                                                 const TestRequest& request = {}) {
  TrainingSession session = session_of(given, dataset);
  train(session);
  return session.test(request);
}

}  // namespace curnm::testing
