#include "curnm/evaluation/task_features.h"

#include <algorithm>

namespace curnm {
namespace {

std::vector<std::int64_t> training_nodes(const LinkTask& task) {
  const EventLog& log = task.train().log;
  std::vector<std::int64_t> nodes(log.src.span().begin(), log.src.span().end());
  nodes.insert(nodes.end(), log.dst.span().begin(), log.dst.span().end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

FeatureScales fit_feature_scales(const LinkTask& task, FeatureInput input) {
  if (input == FeatureInput::kRaw) return {};
  const Dataset& data = task.dataset();
  FeatureScales scales{.edges = FeatureScale::of(data.edge_features, task.train().events)};
  if (data.node_features.width > 0) {
    scales.nodes = FeatureScale::of(data.node_features, training_nodes(task));
  }
  return scales;
}

std::vector<std::string> notes_on_features(const LinkTask& task) {
  const Dataset& data = task.dataset();
  const FeatureScales scales = fit_feature_scales(task, FeatureInput::kStandardised);
  std::vector<std::string> notes =
      notes_on(data.edge_features, scales.edges, task.train().events, "edge");
  if (data.node_features.width == 0) return notes;
  for (std::string& note :
       notes_on(data.node_features, scales.nodes, training_nodes(task), "node")) {
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace curnm
