#pragma once

#include <span>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/sampling/candidates.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/event_draws.h"
#include "curnm/sampling/history.h"

namespace curnm {

/// Which ends of a positive its random negatives replace.
enum class Corruption {
  kDestination,  // they keep its source
  kBoth,         // they have another source, drawn from those of the training events
  kHalf,         // every other one has another source
};
constexpr ChoiceNames<3> choice_names(Corruption) { return {"destination", "both", "half"}; }

inline constexpr Field kCorruptField{
    .name = "corrupt",
    .help = "random negatives replace the destination, both ends, or both ends of every other one"};

/// Random negatives at the times of a batch, spread evenly over its positives.
class RandomPairs {
 public:
  /// `pairs`, directed, of the training events: what must not be drawn. `sources` may be empty if
  /// sources are kept. REQUIRES: `pairs` outlives this object; at least two destinations.
  RandomPairs(const History* pairs, std::vector<NodeId> destinations, std::vector<NodeId> sources,
              Corruption corruption);

  bool keeps_sources() const { return corruption_ == Corruption::kDestination; }

  /// How many of `count` negatives belong to row i of `rows`.
  static std::int64_t share(std::int64_t count, std::int64_t i, std::int64_t rows) {
    return count / rows + (i < count % rows ? 1 : 0);
  }

  /// Appends `share` negatives for row i of the batch. None is an event of its source at its time,
  /// unless every destination is.
  void add(const EventBatch& batch, std::int64_t i, std::int64_t share, EventDraws& draws,
           ExtraPairs& out) const;

  /// Of `count` negatives for the whole batch, those of this part of it. Those of event e come from
  /// key.split(e).
  ExtraPairs draw(const EventBatch& batch, std::int64_t count, const Rng& key) const;

  std::span<const NodeId> destinations() const { return destinations_; }

 private:
  void add_of_source(NodeId source, std::int64_t i, Timestamp t, std::int64_t count,
                     RandomOrder& order, ExtraPairs& out) const;

  const History* pairs_;
  std::vector<NodeId> destinations_;
  std::vector<NodeId> sources_;
  Corruption corruption_;
};

}  // namespace curnm
