#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/data/append.h"
#include "curnm/data/stream_events.h"
#include "curnm/graph/keep.h"
#include "curnm/prediction/predictor.h"

namespace curnm {

/// A question that cannot be answered now: one about the past is being answered already.
class Busy : public Error {
 public:
  using Error::Error;
};
/// A question about a time that has been forgotten.
class Forgotten : public Error {
 public:
  using Error::Error;
};
/// A name that the network does not have.
class UnknownNode : public Error {
 public:
  using Error::Error;
};

/// Everything that a restart needs besides the log of what came later.
class LiveSnapshot {
 public:
  LiveSnapshot();
  ~LiveSnapshot();
  LiveSnapshot(LiveSnapshot&&) noexcept;

  /// Atomically, synced. Throws DiskFull, Error.
  void write(const std::filesystem::path& file) const;

  std::int64_t sequence = 0;  // events of the stream that it includes, late ones too
  std::int64_t late = 0;

 private:
  friend class LiveModel;
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

/// A trained model and a network that grows while it answers.
///
/// Answers equal those of a Predictor on the same events, to the bit. So the rule of batches is the
/// same: events count in batches from the first one of the network. A question at t sees every
/// event strictly before t; of those, whole batches have entered the memory one after the other,
/// the rest is shown as one partial batch and undone again.
///
/// With `keep`, answers equal those of a Predictor that keeps as much. What is forgotten is gone,
/// so that memory is bounded however long the stream is; it grows with the number of nodes alone.
/// Questions about times before the last forgetting are refused.
///
/// Thread-safe. Any number of threads may ask; `append` is for one thread at a time, and keeps
/// readers waiting for one batch at most. A question about a time before the newest whole batch is
/// answered by a second model that replays, one such question at a time; models without memory need
/// none of it.
class LiveModel {
 public:
  /// `base`: the network of the training, possibly grown since. Throws as Predictor does.
  LiveModel(TrainedModel model, Dataset base, const Keep& keep = {});
  ~LiveModel();
  LiveModel(const LiveModel&) = delete;
  LiveModel& operator=(const LiveModel&) = delete;

  const TrainedModel& model() const;

  /// Where the stream is.
  struct Position {
    std::int64_t events = 0;
    NodeId nodes = 0;
    Timestamp newest = kNever;  // of the last event
  };
  Position position() const;
  /// Events that may still be looked up.
  std::int64_t kept() const;
  /// Features per event.
  std::int64_t feature_width() const;
  /// Which nodes exist after the base, and so on: what the metrics show.
  std::int64_t appended() const;

  /// The names under which events enter the network: known ones as they are, also without the kind
  /// that a network of two kinds puts before them (5 for user:5); others are new nodes. Throws
  /// Error for names that cannot become nodes.
  void resolve(StreamEvents& events) const;
  /// REQUIRES: resolved, of non-decreasing times from the newest on, as wide as the network.
  void append(const StreamEvents& events);
  /// The same for any events. Throws Error as curnm::append does, and appends nothing then. A call
  /// that is interrupted has appended some of them, the first ones.
  void append(const NewEvents& events);

  struct Answer {
    std::string node;
    float logit = 0;
    /// Where it is asked for; with the facts in words.
    std::optional<Explanation> why = {};
    std::string words = {};
  };
  struct Ranking {
    Timestamp time = 0;       // of the question
    std::int64_t events = 0;  // that it knew
    std::vector<Answer> answers;
  };
  /// As Predictor::top; without a time, right after the newest event. Throws UnknownNode, Busy,
  /// Forgotten.
  Ranking top(const std::string& src, std::optional<Timestamp> time, std::int64_t k,
              Question question, Seen seen, bool explain = false) const;

  struct Scored {
    Timestamp time = 0;
    std::int64_t events = 0;
    std::vector<std::optional<float>> logits;  // nothing where a node is not known
  };
  /// As Predictor::score, all at one time. Throws Busy, Forgotten.
  Scored score(const std::vector<std::string>& src, const std::vector<std::string>& dst,
               std::optional<Timestamp> time, Question question) const;

  // The same for programs that ask by number: a node keeps its own while the network grows.

  /// kNoNode for a name that is not known in this role.
  NodeId find(std::string_view name, bool as_source) const;
  std::vector<std::string> names(std::span<const NodeId> nodes) const;
  /// As Predictor::score, all at one time. Throws Busy.
  std::vector<float> score(std::span<const NodeId> src, std::span<const NodeId> dst, Timestamp t,
                           Question question) const;
  /// As Predictor::top for many sources. Throws Busy. REQUIRES: `answer` does not wait for anybody
  /// who appends.
  void top(std::span<const NodeId> sources, Timestamp t, const TopQuery& query,
           const TopAnswer& answer) const;

  /// What is known of a node.
  struct Meeting {
    std::string node;
    Timestamp time = 0;
    bool as_source = false;
  };
  struct NodeFacts {
    std::string name;
    std::int64_t events = 0;
    std::int64_t as_source = 0;
    std::int64_t as_destination = 0;
    std::int64_t partners = 0;
    Timestamp first = 0;  // unless there are no events
    Timestamp last = 0;
    std::vector<Meeting> recent;  // newest first
  };
  NodeFacts node(const std::string& name, std::int64_t recent) const;

  /// Everything up to now. Keeps readers waiting as long as a copy of the memory takes.
  LiveSnapshot snapshot() const;
  /// Continues from a snapshot. REQUIRES: nothing has been appended. The memory is taken over where
  /// it is that of the same model and replayed otherwise. Returns sequence and late events.
  LiveSnapshot restore(const std::filesystem::path& file);
  /// The events after the base but for the first `known`; nothing if some of these are forgotten.
  std::optional<StreamEvents> events_from(std::int64_t known) const;
  /// Brings a model that has only its base, or nearly all of the events, to where another one of
  /// the same base is. Throws as `restore`. REQUIRES: nothing is appended to either meanwhile.
  void catch_up(const LiveModel& other);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace curnm
