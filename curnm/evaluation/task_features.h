#pragma once

#include "curnm/base/feature_scale.h"
#include "curnm/evaluation/task.h"

namespace curnm {

/// How the features of a network become inputs of models, fitted to the training events and their
/// nodes.
struct FeatureScales {
  FeatureScale edges;
  FeatureScale nodes;
};

FeatureScales fit_feature_scales(const LinkTask& task, FeatureInput input);
/// What a user should know about the features as they are standardised.
std::vector<std::string> notes_on_features(const LinkTask& task);

}  // namespace curnm
