#pragma once

#include <span>
#include <vector>

#include "curnm/base/distinct_rows.h"
#include "curnm/base/options.h"
#include "curnm/nn/module.h"
#include "curnm/nn/path.h"
#include "curnm/nn/time_encoding.h"
#include "curnm/sampling/event_batch.h"

namespace curnm {

/// When mail becomes visible in the state of a node.
enum class Ties {
  kStream,  // as soon as its batch is over, even for queries at the mail's own time
  kStrict,  // only for queries strictly after the mail's time: no leak inside a snapshot
};

enum class MemoryUpdater { kGru, kRnn };

constexpr ChoiceNames<2> choice_names(Ties) { return {"stream", "strict"}; }

struct MemoryOptions {
  NodeId num_nodes = 0;
  std::int64_t width = 172;  // D
  std::int64_t time_width = 100;
  MemoryUpdater updater = MemoryUpdater::kGru;
  Ties ties = Ties::kStream;
  bool learned_time = false;
  double time_scale = 1;
  Timestamp origin = 0;  // the time at which all memories start
  Tensor edge_features;  // [E,F]; undefined where there are none
  Path path = Path::kFast;
};

/// The distinct states that a batch needs: a node, with or without its pending mail.
class StateRows {
 public:
  explicit StateRows(NodeId num_nodes) : rows_(2 * std::int64_t{num_nodes}) {}

  /// The row of that state; the first call makes a new row.
  std::int64_t row(NodeId node, bool with_mail) {
    return rows_.row(2 * std::int64_t{node} + (with_mail ? 1 : 0));
  }
  std::int64_t size() const { return rows_.size(); }
  NodeId node(std::int64_t row) const { return static_cast<NodeId>(key(row) / 2); }
  bool with_mail(std::int64_t row) const { return key(row) % 2 == 1; }
  /// A number below 2·num_nodes that stands for the state.
  std::int64_t key(std::int64_t row) const { return rows_.keys()[static_cast<std::size_t>(row)]; }

 private:
  DistinctRows rows_;
};

/// TGN's memory and mailbox (Rossi et al. 2020, arXiv 2006.10637v3), and JODIE's.
///
/// A node x has a memory s_x, the time of its last update, and at most one pending mail: that of
/// its chronologically last event (x, o, t) with features e,
///   m_x = [s_x ‖ s_o ‖ e ‖ phi(t - last update)].
/// Its state is s'_x = GRU(m_x, s_x) while the mail is pending, and s_x without one. None of this
/// depends on the query, so it is computed once per distinct node.
///
/// `observe` is called after the loss step with the positives alone: their endpoints keep their
/// state, and get new mail. So predictions of a batch see the mail of earlier batches, and
/// gradients reach the updater through the state of the pending mail.
class NodeMemory : public Module {
 public:
  explicit NodeMemory(const MemoryOptions& options);

  /// Is the node's pending mail visible at time t? False without one.
  bool mail_visible(NodeId node, Timestamp t) const;
  /// The time of the latest own event that the state of a node includes.
  Timestamp state_time(NodeId node, bool with_mail) const;

  /// The states of the rows. [U,D]
  Tensor read(const StateRows& rows) const;
  /// A number that stands for the contents of a node: as long as it is the same, so are its states.
  /// An undone batch brings back the old one, and the same mail the number that it had.
  std::int64_t version(NodeId node) const { return versions_[index(node)]; }
  /// Whether a state depends on its own node alone, to the bit, whatever else is read with it.
  bool rows_are_independent() const;

  void observe(const EventBatch& batch);

  /// Resets to the state before any event.
  void forget();
  /// Copies of everything that changes, for snapshots and checkpoints.
  std::vector<Tensor> state() const;
  void set_state(const std::vector<Tensor>& state);
  /// Copies of the rows that observing the batch would change, and the way back to them.
  std::vector<Tensor> state_before(const EventBatch& batch) const;
  void undo(const std::vector<Tensor>& before);
  /// As Model::drop_events: mail about those events becomes memory, which changes no state.
  void drop_events(EventId count);

 private:
  /// m_x of nodes with a pending mail. [n,2D+F+T]
  Tensor mail(std::span<const std::int64_t> nodes, std::span<const EventId> events,
              std::span<const double> waits) const;
  /// The updater applied to mails, which begin with the memory that they are for. [n,D]
  Tensor update(const Tensor& mail) const;
  /// Delivers new mail to the endpoints of a batch; their previous mail, if visible, becomes
  /// memory. `undone`: as undone_, of a batch from the same state; where it has the same mail, its
  /// rows are taken.
  void deliver(const EventBatch& batch, const std::vector<Tensor>& undone);
  /// Everything that is known of the nodes, [n] each: rows, memory, mail_other, mail_event,
  /// mail_time, updated, versions.
  std::vector<Tensor> rows_of(const Tensor& nodes) const;
  /// The rows of `saved` at the given positions, back to where they were.
  void put_rows(const std::vector<Tensor>& saved, std::span<const std::int64_t> positions);
  /// After the contents of all nodes have changed.
  void renew_versions();

  MemoryOptions options_;
  std::shared_ptr<CosineTimeEncoding> encoding_;
  std::shared_ptr<RecurrentCell> cell_;

  Tensor memory_;                       // [N,D]
  Tensor mail_other_;                   // [N,D]: s_o at the time of the mail
  std::vector<EventId> mail_event_;     // [N], kNoEvent without mail
  std::vector<Timestamp> mail_time_;    // [N]
  std::vector<Timestamp> updated_;      // [N]
  std::vector<std::int64_t> versions_;  // [N]
  std::int64_t newest_version_ = 0;
  /// What the last batch had made of its nodes, if that has been undone and nothing happened since:
  /// the next batch mostly begins with the same events.
  std::vector<Tensor> undone_;
};

}  // namespace curnm
