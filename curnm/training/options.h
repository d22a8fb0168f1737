#pragma once

#include "curnm/base/feature_scale.h"
#include "curnm/base/options.h"
#include "curnm/base/path.h"
#include "curnm/evaluation/goal.h"

namespace curnm {

struct TrainOptions {
  std::string model = "light";
  std::string decoder = "pair";
  std::string miner = "curnm";
  std::int64_t epochs = 400;
  std::int64_t batch = 200;
  double learning_rate = 1e-4;
  double weight_decay = 0;
  std::int64_t patience = 20;
  double tolerance = 1e-3;
  Goal goal = Goal::kAll;
  SelectOn select_on = SelectOn::kGoal;
  FeatureInput features = FeatureInput::kStandardised;
  std::uint64_t seed = 0;
  std::string device = "cpu";
  Path path = Path::kFast;

  void fields(const FieldVisitor& visit);
};

}  // namespace curnm
