#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "curnm/base/types.h"
#include "curnm/sampling/question.h"

namespace curnm {

/// A destination and how likely it is.
struct Prediction {
  NodeId node = kNoNode;
  float logit = 0;

  bool operator==(const Prediction&) const = default;
};

/// Whether destinations that a source has chosen before may be predicted for it.
enum class Seen { kIncluded, kExcluded };

/// Among what the likeliest destinations are looked for: all of them, or the former partners of the
/// source, in either role.
enum class Among { kAll, kPartners };
constexpr ChoiceNames<2> choice_names(Among) { return {"all", "partners"}; }

/// Which destinations are wanted.
struct TopQuery {
  std::int64_t k = 10;  // at most
  Question question = Question::kDestination;
  Seen seen = Seen::kIncluded;
  Among among = Among::kAll;
  /// To choose from these instead of all nodes that were destinations before; they may be new.
  std::optional<std::vector<NodeId>> candidates;
};

/// Receives the likeliest destinations of a source, best first; ties go to the lower node number.
using TopAnswer = std::function<void(NodeId src, std::span<const Prediction> best)>;

}  // namespace curnm
