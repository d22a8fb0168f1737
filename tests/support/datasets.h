#pragma once

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/data/dataset.h"

namespace curnm::testing {

template <class T>
std::vector<T> to_vector(const Column<T>& column) {
  return {column.begin(), column.end()};
}

/// An event with the outside names of its nodes, for comparisons that read like the file.
struct NamedEvent {
  std::string src;
  std::string dst;
  Timestamp time;

  bool operator==(const NamedEvent&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const NamedEvent& event) {
    return out << "(" << event.src << ", " << event.dst << ", " << event.time << ")";
  }
};

inline std::vector<NamedEvent> named_events(const Dataset& dataset) {
  std::vector<NamedEvent> events;
  for (EventId e = 0; e < dataset.events.size(); ++e) {
    events.push_back({dataset.ids.name(dataset.events.src[e]),
                      dataset.ids.name(dataset.events.dst[e]), dataset.events.time[e]});
  }
  return events;
}

inline bool has_note(const Dataset& dataset, std::string_view part) {
  return std::any_of(dataset.notes.begin(), dataset.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

inline bool all_finite(const Column<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

/// Violations of the invariants of Dataset; empty if there are none.
inline std::string inconsistency(const Dataset& d) {
  try {
    validate(d.events);
  } catch (const Error& error) {
    return error.what();
  }
  const std::int64_t events = d.events.size();
  const std::int64_t nodes = d.events.num_nodes;
  const auto absent_or = [](std::int64_t size, std::int64_t expected) {
    return size == 0 || size == expected;
  };
  const auto fits = [](const FeatureMatrix& matrix, std::int64_t rows) {
    return matrix.width >= 0 && matrix.values.size() == rows * matrix.width;
  };
  if (!absent_or(d.labels.size(), events)) return "labels";
  if (!absent_or(d.roll.size(), events)) return "roll";
  if (!absent_or(d.communities.size(), nodes)) return "communities";
  if (!fits(d.edge_features, events)) return "edge_features";
  if (!fits(d.node_features, nodes)) return "node_features";
  if (!all_finite(d.edge_features.values)) return "edge features that are not finite";
  if (!all_finite(d.node_features.values)) return "node features that are not finite";
  if (d.ids.empty()) return "";
  if (d.ids.offsets.size() != nodes + 1) return "id_offsets";
  if (!std::is_sorted(d.ids.offsets.begin(), d.ids.offsets.end())) return "order of id_offsets";
  if (d.ids.offsets.front() != 0 || d.ids.offsets.back() != d.ids.text.size()) return "id_text";
  return "";
}

}  // namespace curnm::testing
