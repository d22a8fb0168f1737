#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/graph/event_log.h"
#include "curnm/sampling/history.h"
#include "curnm/sampling/question.h"

namespace curnm {

/// Where the one negative pair per positive (u_i, v_i, t_i) comes from. Batches are consecutive
/// positives; t_s and t_e are the times of a batch's first and last one. Each negative is scored at
/// the time of the positive at its position.
enum class Protocol {
  /// (u_i, v) with v uniform over the destinations.
  kRandom,
  /// Pairs seen before t_s that do not occur in t_s .. t_e, without replacement: both endpoints are
  /// replaced. If there are too few: all of them, preceded by random pairs (source × destination)
  /// that do not occur in the batch.
  kHistorical,
  /// The same from the pairs that were first seen in the evaluated period.
  kInductive,
  /// The paper's mix: floor(B/2) random pairs (both endpoints), then B - floor(B/2) historical
  /// ones.
  kTrans,
  /// (u_i, v) with v uniform over H_{u_i,t_i}; a source without history gets a random destination.
  kSourceHistorical,
};
constexpr ChoiceNames<5> choice_names(Protocol) {
  return {"random", "historical", "inductive", "trans", "source_historical"};
}

/// What the negatives of a protocol are wrong answers to.
constexpr Question question_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kRandom:
      return Question::kDestination;
    case Protocol::kSourceHistorical:
      return Question::kPartner;
    case Protocol::kInductive:
      return Question::kNewPair;
    default:
      return Question::kPair;
  }
}

struct ProtocolEntry {
  std::string_view name;
  std::string_view summary;
  Protocol protocol;
};
std::span<const ProtocolEntry> protocols();
std::span<const Protocol> all_protocols();

/// Negatives aligned with the positives: row i belongs to positive i.
struct Negatives {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  /// Rows where every destination is a partner of the source at that time, so that the negative is
  /// necessarily a positive. Zero on ordinary networks.
  std::int64_t unavoidable = 0;
  /// Rows whose negative is what the protocol asks for and no event at its time. In the others
  /// random ones stand in, where a network has nothing else: if all are of that sort, their AP says
  /// nothing about the protocol's question.
  std::int64_t genuine = 0;
};

/// May a randomly drawn negative (u, v) happen to be an event at its own time? On dense snapshots
/// this changes AP by ten points: a tenth of the "negatives" are then positives.
enum class Collisions {
  kAllowed,      // as the public programs do: for comparison with published tables
  kNotOfSource,  // never where the positive's source is kept; random pairs of TRANS as published
  kNowhere,      // never
};
constexpr ChoiceNames<3> choice_names(Collisions) { return {"allowed", "source", "nowhere"}; }

struct NegativeOptions {
  std::uint64_t seed = 0;
  std::int64_t batch_size = 200;
  Collisions collisions = Collisions::kNotOfSource;
  /// The number of the first batch, where positives continue others: draws are keyed by it.
  std::int64_t first_batch = 0;
};

/// What the negatives come from. REQUIRES: the histories outlive every user of this struct.
struct EvaluationHistories {
  /// Directed, of the whole network: decides which negatives collide with events.
  const History* full;
  /// Mutual, of the whole network: H_{u,t}.
  const History* partners;
  /// Directed: supplies sources, destinations and pairs. For all validation or test events it is
  /// `full`; for new-node events it is the history of those events alone (DyGLib's rule), so that
  /// historical and inductive coincide there.
  const History* universe;
};

class NegativeSampler {
 public:
  /// Pairs of the universe whose first event is at or after `observed_until` are inductive.
  /// Throws Error when the universe has fewer than two destinations.
  NegativeSampler(const EvaluationHistories& histories, Timestamp observed_until);

  /// Draws are a function of (seed, protocol, batch, position) alone: the same in every epoch, for
  /// every model and thread count. Work is proportional to the positives, not to the history.
  Negatives draw(const EventLog& positives, Protocol protocol,
                 const NegativeOptions& options = {}) const;

 private:
  struct Batch;
  void random_destination(Batch& batch, std::int64_t row) const;
  /// Which events a random pair must avoid.
  enum class Avoid { kNothing, kEventNow, kEventInBatch };
  bool random_pair(Batch& batch, Avoid avoid) const;
  void random_pairs(Batch& batch, std::int64_t rows, Avoid avoid) const;
  void seen_pairs(Batch& batch, std::int64_t rows, PairId first) const;
  void source_historical(Batch& batch) const;

  EvaluationHistories histories_;
  Timestamp observed_until_;
  std::vector<NodeId> sources_;       // distinct, ascending
  std::vector<NodeId> destinations_;  // distinct, ascending
};

}  // namespace curnm
