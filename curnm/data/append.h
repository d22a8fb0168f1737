#pragma once

#include <span>
#include <string>

#include "curnm/data/dataset.h"

namespace curnm {

/// Events that happened after those of a data set, in time order. Nodes are called by their names
/// in the data; new names are new nodes.
struct NewEvents {
  std::span<const std::string> src;
  std::span<const std::string> dst;
  std::span<const Timestamp> time;
  FeatureMatrix features = {};  // as wide as the edge features of the data set
};

/// Throws Error unless the columns are equally long and the features as wide as those of the data
/// set.
void check_columns(const Dataset& dataset, const NewEvents& events);

/// The data set with further events: what reading the longer table would give. Costs a copy of all
/// columns, so append many at a time. Throws Error for events that do not fit: times before the
/// last one, missing features, new nodes where every node has features.
Dataset append(const Dataset& dataset, const NewEvents& events);

}  // namespace curnm
