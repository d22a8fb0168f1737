#pragma once

#include <algorithm>

#include "curnm/models/registry.h"
#include "curnm/training/checkpoint.h"
#include "curnm/training/session.h"
#include "support/options.h"

namespace curnm::testing {

/// Adds an option unless it is given already, if the model that is given has such an option.
inline void give_where_known(GivenOptions& given, const std::string& name,
                             const std::string& value) {
  Options options = models().at(given.at("model")).defaults;
  const auto known = option_names(options);
  if (std::ranges::find(known, name) != known.end()) given.emplace(name, value);
}

/// Options of a short training of a small model; entries of `more` override.
inline GivenOptions quick(std::string_view model, const GivenOptions& more = {}) {
  GivenOptions given = more;
  given.emplace("model", model);
  given.emplace("miner", "random");
  if (given.emplace("decoder", "additive").first->second == "pair") {
    given.emplace("walk", "off");  // a trial would take longer than the training
  }
  given.emplace("epochs", "3");
  given.emplace("batch", "50");
  given.emplace("learning-rate", "1e-3");
  given.emplace("width", "16");
  give_where_known(given, "time-width", "8");
  give_where_known(given, "neighbors", "4");
  return given;
}

/// A run on an existing network.
inline TrainingSession session_of(const GivenOptions& given, const Dataset& dataset) {
  return {resolve_run(given), dataset};
}

inline void train(TrainingSession& session) { session.train(nobody()); }

/// Trains and tests.
inline nlohmann::ordered_json trained_and_tested(const GivenOptions& given, const Dataset& dataset,
                                                 const TestRequest& request = {}) {
  TrainingSession session = session_of(given, dataset);
  train(session);
  return session.test(request);
}

}  // namespace curnm::testing
