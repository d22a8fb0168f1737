#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "curnm/sampling/links.h"
#include "curnm/sampling/past.h"

// What plain counting tells about nodes and pairs, strictly before a time t. Everything is looked
// up in immutable indices: any t, any thread, nothing to maintain along the stream.

namespace curnm {

/// How times become numbers: log(1 + age / unit), and a constant above all ages for what has never
/// happened. Fitted to the training events, so that seconds, days and fractions do equally well.
struct AgeScale {
  double unit = 1;   // the least difference of two training times
  double never = 1;  // log(1 + training period / unit) + 1

  static AgeScale of(std::span<const Timestamp> times);
  double operator()(Timestamp last, Timestamp t) const;
  /// log(1 + a length of time).
  double log_length(double length) const;
};

/// Statistics of a node, for models.
inline constexpr std::array<std::string_view, 9> kNodeStatistics = {
    "age",        "count",        "partners", "age_as_src", "count_as_src",
    "age_as_dst", "count_as_dst", "pace",     "mean_gap",
};

/// Statistics of a pair: source u asks about destination v.
inline constexpr std::array<std::string_view, 33> kPairStatistics = {
    // ages: since the last event of u, of v, of the two together in either direction
    "age_u", "age_v", "age_pair",
    // counts: events, distinct partners, share of the pair in the events of each
    "count_pair", "count_u", "count_v", "partners_u", "partners_v", "share_u", "share_v",
    // direction: u -> v and v -> u apart, u as a source, v as a destination
    "age_uv", "age_vu", "count_uv", "count_vu", "age_u_as_src", "age_v_as_dst", "count_u_as_src",
    "count_v_as_dst",
    // since the two last met: events of each
    "since_u", "since_v",
    // among the 32 newest events of each: v with u, u with v, common partners
    "recent_vu", "recent_uv", "recent_common",
    // pace: the age against the mean gap between events
    "pace_u", "pace_v",
    // next: how often others went on from whom u met last to v, as a count, as a share of what that
    // one was in, and when last; from the one before that, as a share; and from v's partners to u
    "next_v", "next_share_v", "next_age_v", "next_share_v2", "next_u", "next_share_u", "next_age_u",
    "next_share_u2"};

inline constexpr std::int64_t kNodeStatisticsWidth = std::ssize(kNodeStatistics);
inline constexpr std::int64_t kPairStatisticsWidth = std::ssize(kPairStatistics);

/// Counts as log(1 + count), ages as AgeScale has them, shares as they are. Thread-safe.
class PairStatistics {
 public:
  /// REQUIRES: what `past` points to outlives this object.
  PairStatistics(const Past& past, const AgeScale& ages) : past_(past), ages_(ages) {}

  /// [R,kNodeStatisticsWidth]
  std::vector<float> of_nodes(const Roots& roots) const;
  /// [L,kPairStatisticsWidth]
  std::vector<float> of_pairs(const Links& links) const;

 private:
  struct Node;
  struct RecentPartners;
  Node node(NodeId node, Timestamp t) const;
  std::span<const NodeId> recent(const Node& node) const;
  void find_last_met(Node& node) const;
  void write_next(const Node& node, NodeId to, float* out) const;
  void write_pair(const Links& links, std::int64_t link, const Node& u, const Node& v,
                  const RecentPartners& of_u, float* out) const;

  Past past_;
  AgeScale ages_;
};

/// How statistics become the inputs of a network: (x - mean) / deviation, at most 5 either way.
struct Standardisation {
  std::vector<float> mean;
  std::vector<float> deviation;

  /// REQUIRES: rows of the given width, at least one.
  static Standardisation of(std::span<const float> rows, std::int64_t width);
  void apply(std::span<float> rows) const;
};

}  // namespace curnm
