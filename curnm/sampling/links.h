#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "curnm/sampling/candidates.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/neighbor_sampler.h"

namespace curnm {

/// Possible links: does src[i] meet dst[i] at time[i]?
struct Pairs {
  std::span<const NodeId> src;
  std::span<const NodeId> dst;
  std::span<const Timestamp> time;

  std::int64_t size() const { return static_cast<std::int64_t>(src.size()); }
};

/// Consecutive links.
struct LinkRange {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  std::int64_t end() const { return begin + size; }
};

/// The links of a training step, or of a block of an evaluation, and the embedding rows of their
/// ends. Trainer, miners, decoders, evaluation and prediction all take their row numbers from here.
///
/// Links come in three groups: the B positives; the candidates, grouped by positive; extra pairs. A
/// query to a model has extra pairs only.
///
/// Roots are the distinct (node, time) ends of the links, each to be embedded once. Those that are
/// the destination of some link come first, so that a decoder can project them in place; the
/// sources are rows among the roots, each once.
class Links {
 public:
  Links(const EventBatch& positives, const Candidates& candidates);
  explicit Links(const Pairs& pairs);
  /// Pairs at one time, of nodes below `num_nodes`: the same, without looking up their times.
  Links(Timestamp t, std::span<const NodeId> src, std::span<const NodeId> dst, NodeId num_nodes);

  std::int64_t size() const { return static_cast<std::int64_t>(src_.size()); }
  LinkRange positives() const { return {0, num_positives_}; }
  LinkRange candidates() const {
    return {num_positives_, static_cast<std::int64_t>(owner_.size())};
  }
  LinkRange extra() const {
    const std::int64_t begin = candidates().end();
    return {begin, size() - begin};
  }
  /// For each candidate: the positive that it belongs to.
  std::span<const std::int64_t> owner() const { return owner_; }

  // Each link: its nodes and its time.
  std::span<const NodeId> src() const { return src_; }
  std::span<const NodeId> dst() const { return dst_; }
  std::span<const Timestamp> time() const { return time_; }

  Roots roots() const { return {root_nodes_, root_times_}; }
  /// Roots 0 .. result-1 are destinations.
  std::int64_t num_destinations() const { return num_destinations_; }
  /// For each link: the root of its destination.
  std::span<const std::int64_t> destination() const { return destination_; }
  /// The roots that are sources, each once.
  std::span<const std::int64_t> sources() const { return sources_; }
  /// For each link: its source, as a position in `sources`.
  std::span<const std::int64_t> source() const { return source_; }
  /// The root of a link's source.
  std::int64_t source_root(std::int64_t link) const {
    return sources_[index(source_[index(link)])];
  }

  struct Part;
  /// The same with only the candidates at the positions `chosen`, ascending, among the candidates,
  /// and only the roots that are still needed: the others cost nothing in the backward pass.
  Part with_candidates(std::span<const std::int64_t> chosen) const;

  /// The first n links twice, each with its own root as destination: roots 0 .. n-1 for the first
  /// copy, n .. 2n-1 for the second, then the sources in the order of `sources`. For embeddings
  /// that do not belong to a node, such as parts of one.
  Links with_own_destinations(std::int64_t n) const;

 private:
  Links() = default;
  /// Numbers the roots from provisional numbers, below `most`, of the two ends of each link.
  /// Returns the provisional number of each root.
  template <class Number>
  std::vector<std::int64_t> number(std::span<const Number> src_ends,
                                   std::span<const Number> dst_ends, std::int64_t most);
  /// The same, where provisional numbers are positions in `nodes` and `times`.
  std::vector<std::int64_t> number(std::span<const std::int64_t> src_ends,
                                   std::span<const std::int64_t> dst_ends,
                                   std::span<const NodeId> nodes, std::span<const Timestamp> times);
  void number_by_node_and_time();
  void reserve(std::size_t links);
  void add(NodeId src, NodeId dst, Timestamp time);

  std::int64_t num_positives_ = 0;
  std::vector<std::int64_t> owner_;
  std::vector<NodeId> src_;
  std::vector<NodeId> dst_;
  std::vector<Timestamp> time_;
  std::vector<NodeId> root_nodes_;
  std::vector<Timestamp> root_times_;
  std::int64_t num_destinations_ = 0;
  std::vector<std::int64_t> destination_;
  std::vector<std::int64_t> sources_;
  std::vector<std::int64_t> source_;
};

struct Links::Part {
  Links links;
  std::vector<std::int64_t> roots;  // for each root: its number in the original links
};

}  // namespace curnm
