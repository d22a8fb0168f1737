#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "curnm/graph/event_log.h"
#include "curnm/sampling/history.h"

namespace curnm {

/// Where the one negative pair per positive (u_i, v_i, t_i) comes from. Batches are consecutive
/// positives; t_s and t_e are the times of a batch's first and last one. Each negative is scored at
/// the time of the positive at its position.
enum class Protocol {
  /// (u_i, v) with v uniform over the destinations.
  kRandom,
  /// Pairs seen before t_s that do not occur in t_s .. t_e, without replacement: both endpoints are
  /// replaced. Too few of them: all, preceded by random pairs (source × destination) that do not
  /// occur in the batch.
  kHistorical,
  /// The same from the pairs that were first seen in the evaluated period.
  kInductive,
  /// The paper's mix: floor(B/2) random pairs (both endpoints), then B - floor(B/2) historical
  /// ones.
  kTrans,
  /// (u_i, v) with v uniform over H_{u_i,t_i}; a source without history gets a random destination.
  kSourceHistorical,
};

struct ProtocolEntry {
  std::string_view name;
  std::string_view summary;
  Protocol protocol;
};
std::span<const ProtocolEntry> protocols();

/// Negatives aligned with the positives: row i belongs to positive i.
struct Negatives {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  /// Rows where every destination is a partner of the source at that very time, so that the
  /// negative could not avoid being a positive. Zero on ordinary networks.
  std::int64_t unavoidable = 0;
};

/// What a set of positives is evaluated against. For all validation or test events the universe is
/// the whole network; for new-node events it is those events alone (DyGLib's rule), so that
/// historical and inductive coincide there.
class NegativeSampler {
 public:
  /// `full` is the history of the whole network: it decides what is a positive, and holds the
  /// H_{u,t} of source-historical. `universe` supplies sources, destinations and pairs. Pairs whose
  /// first event is at or after `observed_until` are inductive. REQUIRES: both outlive this object.
  /// Throws Error when the universe has fewer than two destinations.
  NegativeSampler(const History& full, const History& universe, Timestamp observed_until);

  /// Draws are a function of (seed, protocol, batch, position) alone: the same in every epoch, for
  /// every model and thread count. Work is proportional to the positives, not to the history.
  Negatives draw(const EventLog& positives, Protocol protocol, std::uint64_t seed,
                 std::int64_t batch_size = 200) const;

 private:
  struct Batch;
  void random_destination(Batch& batch, std::int64_t row) const;
  bool random_pair(Batch& batch, Timestamp from, Timestamp to) const;
  void random_pairs(Batch& batch, std::int64_t rows, bool avoid_batch) const;
  void seen_pairs(Batch& batch, std::int64_t rows, PairId first) const;
  void source_historical(Batch& batch) const;

  const History* full_;
  const History* universe_;
  Timestamp observed_until_;
  std::vector<NodeId> sources_;       // distinct, ascending
  std::vector<NodeId> destinations_;  // distinct, ascending
};

}  // namespace curnm
