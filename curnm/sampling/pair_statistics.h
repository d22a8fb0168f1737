#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/graph/activity.h"
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

/// What statistics of a pair tell together: an explanation moves those of a group at once.
enum class StatisticGroup : std::uint8_t {
  kAges,       // since the last event of u, of v, of the two together in either direction
  kCounts,     // events, distinct partners, share of the pair in the events of each
  kDirection,  // u -> v and v -> u apart, u as a source, v as a destination
  kSince,      // since the two last met: events of each
  kRecent,     // among the newest events of each: v with u, u with v, common partners
  kPace,       // the age against the mean gap between events
  kNext,       // others who went on from whom u met last to v, and from v's partners to u
};
constexpr ChoiceNames<7> choice_names(StatisticGroup) {
  return {"ages", "counts", "direction", "since", "recent", "pace", "next"};
}

/// A statistic of a pair. There is none without a group: neither has a default.
struct PairStatistic {
  constexpr PairStatistic(std::string_view name_, StatisticGroup group_)
      : name(name_), group(group_) {}
  std::string_view name;
  StatisticGroup group;
};

/// Statistics of a pair: source u asks about destination v.
inline constexpr auto kPairStatistics = [] {
  using enum StatisticGroup;
  return std::to_array<PairStatistic>({
      {"age_u", kAges},
      {"age_v", kAges},
      {"age_pair", kAges},
      {"count_pair", kCounts},
      {"count_u", kCounts},
      {"count_v", kCounts},
      {"partners_u", kCounts},
      {"partners_v", kCounts},
      {"share_u", kCounts},
      {"share_v", kCounts},
      {"age_uv", kDirection},
      {"age_vu", kDirection},
      {"count_uv", kDirection},
      {"count_vu", kDirection},
      {"age_u_as_src", kDirection},
      {"age_v_as_dst", kDirection},
      {"count_u_as_src", kDirection},
      {"count_v_as_dst", kDirection},
      {"since_u", kSince},
      {"since_v", kSince},
      {"recent_vu", kRecent},
      {"recent_uv", kRecent},
      {"recent_common", kRecent},
      {"pace_u", kPace},
      {"pace_v", kPace},
      // A count, as a share of what the one met last was in, and when last; from the one met before
      // that, as a share.
      {"next_v", kNext},
      {"next_share_v", kNext},
      {"next_age_v", kNext},
      {"next_share_v2", kNext},
      {"next_u", kNext},
      {"next_share_u", kNext},
      {"next_age_u", kNext},
      {"next_share_u2", kNext},
  });
}();

inline constexpr std::int64_t kNodeStatisticsWidth = std::ssize(kNodeStatistics);
inline constexpr std::int64_t kPairStatisticsWidth = std::ssize(kPairStatistics);

/// How many events of a node are its newest ones.
inline constexpr std::int64_t kRecentEvents = 32;

/// What counting knows of a pair strictly before a time, in events and times: what its statistics
/// are made from.
struct PairFacts {
  struct Node {
    std::int64_t events = 0;
    std::int64_t partners = 0;  // distinct
    Timestamp first = kNever;
    Timestamp last = kNever;
  };
  Node u;
  Node v;
  Activity uv;               // u -> v
  Activity vu;               // v -> u; of a node with itself the same
  Activity met;              // either
  std::int64_t since_u = 0;  // events of u after the two last met; all where they never did
  std::int64_t since_v = 0;
  // Among the newest events of each: v with u, u with v, and partners of both, each as often as
  // its events match.
  std::int64_t recent_vu = 0;
  std::int64_t recent_uv = 0;
  std::int64_t recent_common = 0;
  std::int64_t common_partners = 0;  // the same, each once
  /// How often others went on from one node to another, and the events of that one.
  struct Next {
    Activity went_on;
    std::int64_t events = 0;
  };
  static constexpr std::size_t kLastMet = 2;
  std::array<Next, kLastMet> next_v;  // to v, from whom u met last and from the one before
  std::array<Next, kLastMet> next_u;  // to u, from v's
};
/// For each link.
std::vector<PairFacts> pair_facts(const Past& past, const Links& links);

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
  friend std::vector<PairFacts> pair_facts(const Past& past, const Links& links);
  struct Node;
  struct RecentPartners;
  Node node(NodeId node, Timestamp t) const;
  std::span<const NodeId> recent(const Node& node) const;
  void find_last_met(Node& node) const;
  std::array<PairFacts::Next, PairFacts::kLastMet> next(const Node& node, NodeId to) const;
  std::int64_t common_partners(const Node& u, const Node& v) const;
  /// All but the common partners.
  PairFacts facts(const Links& links, std::int64_t link, const Node& u, const Node& v,
                  const RecentPartners& of_u) const;
  void write_pair(const PairFacts& facts, const Node& u, const Node& v, float* out) const;
  /// Calls use(link, u, v, facts) for every link, from several threads.
  template <class Use>
  void for_each_pair(const Links& links, const Use& use) const;

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
