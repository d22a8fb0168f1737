#pragma once

#include <array>
#include <span>
#include <vector>

#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/links.h"

namespace curnm {

/// A sketch of who can be reached from whom by temporal walks of up to two steps, newer events
/// counting more (the idea of TPNet, Lu et al. 2024, arXiv 2410.04013v1): it knows that people who
/// took item x went on to item y.
///
/// Every node has a fixed random vector and two that are updated by its events: at an event (u, v)
/// vector l of each decays by exp(-decay·l·dt) and takes up vector l-1 of the other. Inner products
/// of such vectors estimate numbers of walks.
///
/// State of the stream, like a memory. Events are visible once a later one has been observed:
/// equal times never see each other.
class WalkSketch {
 public:
  static constexpr std::int64_t kSteps = 2;
  static constexpr std::int64_t kWidth = 96;                  // of a vector
  static constexpr std::size_t kPerNode = kSteps * kWidth;    // floats that change
  static constexpr std::int64_t kVectors = 2 * (kSteps + 1);  // of a pair
  /// The inner products of a pair's vectors, each once.
  static constexpr std::int64_t kStatistics = kVectors * (kVectors + 1) / 2;

  struct Options {
    NodeId num_nodes = 0;
    double decay = 0;  // per unit of time and step
    std::uint64_t seed = 0;
  };
  explicit WalkSketch(const Options& options);

  void observe(const EventBatch& batch);
  void forget();

  /// log(1 + max(x, 0)) of the inner products of each link's vectors as of its time,
  /// [L,kStatistics]. Thread-safe while nothing is observed.
  std::vector<float> of_pairs(const Links& links) const;

  // Everything that `observe` changes, for checkpoints.
  struct Event {
    NodeId src;
    NodeId dst;
    Timestamp time;
  };
  std::vector<float> vectors;    // [N,kSteps,kWidth]
  std::vector<Timestamp> times;  // [N], of the last update
  std::vector<Event> pending;    // events at the newest time

 private:
  /// Vector l of a node, 0 .. kSteps.
  const float* vector(NodeId node, std::int64_t l) const;
  void apply(const Event& event);

  Options options_;
  std::vector<float> fixed_;  // [N,kWidth]
};

}  // namespace curnm
