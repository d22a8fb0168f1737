#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "curnm/evaluation/task.h"

namespace curnm {

/// The part of a task whose events are ranked.
enum class RankedPart { kValidation, kTest };
constexpr ChoiceNames<2> choice_names(RankedPart) { return {"validation", "test"}; }

const EvaluationSet& set_of(const LinkTask& task, RankedPart part);

/// The destinations that each true one of a part is ranked among, fixed once for every program that
/// reads their file.
struct RankingNegatives {
  RankedPart part = RankedPart::kTest;
  std::int64_t per_event = 20;  // N: at most
  std::uint64_t seed = 0;
  std::vector<NodeId> nodes;  // [E,N], kNoNode after the last where an event has fewer

  std::int64_t size() const { return std::ssize(nodes) / per_event; }
  /// Those of event i of the part.
  std::span<const NodeId> of(std::int64_t i) const;
};

/// Draws negatives in the manner of the Temporal Graph Benchmark (Huang et al. 2023,
/// arXiv:2307.01026): for each event (u, v, t), floor(N/2) of the destinations that u met before t,
/// and others that it never met. Where one kind is too rare, the other fills up; an event has fewer
/// than N only where there are no more. Never one that u meets at t, v among them.
///
/// Differs from the release in: history is everything strictly before t, there only what was
/// trained on; all N are distinct, there strangers are repeated where they are too few.
///
/// A draw depends on (seed, event) alone: the same for every part, split and number of threads.
RankingNegatives draw_ranking_negatives(const LinkTask& task, RankedPart part,
                                        std::int64_t per_event, std::uint64_t seed);

/// docs/data-formats.md describes the file. Nodes are called by their names in the data.
void write_ranking_negatives(const std::filesystem::path& path, const LinkTask& task,
                             const RankingNegatives& negatives);
/// Throws Error for a file that is damaged, or made for other data or another split.
RankingNegatives read_ranking_negatives(const std::filesystem::path& path, const LinkTask& task);

}  // namespace curnm
