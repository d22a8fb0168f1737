#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "curnm/sampling/neighbor_sampler.h"

namespace curnm {

/// Distinct (node, time) questions, numbered as they come, so that each is answered once.
class Questions {
 public:
  /// The row of a question, a new one at the first call.
  std::int64_t row(NodeId node, Timestamp t) {
    const auto [found, is_new] = rows_.try_emplace({node, t}, std::ssize(nodes_));
    if (is_new) {
      nodes_.push_back(node);
      times_.push_back(t);
    }
    return found->second;
  }
  /// By row.
  Roots roots() const { return {nodes_, times_}; }

 private:
  struct Question {
    NodeId node;
    Timestamp time;
    bool operator==(const Question&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Question& question) const {
      return std::hash<Timestamp>()(question.time) + index(question.node) * 0x9e3779b97f4a7c15;
    }
  };
  std::unordered_map<Question, std::int64_t, Hash> rows_;
  std::vector<NodeId> nodes_;
  std::vector<Timestamp> times_;
};

}  // namespace curnm
