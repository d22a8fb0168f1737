#include "curnm/data/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/datasets.h"
#include "support/errors.h"

namespace curnm {
namespace {

using testing::fails;
using testing::inconsistency;

SyntheticOptions small_options() {
  return {.nodes = 400, .events = 20'000, .communities = 8, .drift = 5, .repeat = 0, .noise = 0.2};
}

Dataset network(const SyntheticOptions& options) { return generate(options, "test"); }

/// Share of the events whose destination is in the community that the source prefers at the time.
double preferred_share(const Dataset& d, const SyntheticOptions& options) {
  std::int64_t hits = 0;
  for (EventId e = 0; e < d.events.size(); ++e) {
    hits += d.communities[d.events.dst[e]] ==
            preferred_community(options, d.events.src[e], d.events.time[e]);
  }
  return static_cast<double>(hits) / static_cast<double>(d.events.size());
}

/// Share of the repeated partners among the events of sources that had an event before.
double repeat_share(const Dataset& d) {
  std::map<NodeId, NodeId> last;
  std::int64_t repeated = 0;
  std::int64_t later = 0;
  for (EventId e = 0; e < d.events.size(); ++e) {
    const auto found = last.find(d.events.src[e]);
    if (found != last.end()) {
      ++later;
      repeated += found->second == d.events.dst[e];
    }
    last[d.events.src[e]] = d.events.dst[e];
  }
  return static_cast<double>(repeated) / static_cast<double>(later);
}

/// Four standard deviations of a share p among n independent draws.
double tolerance(double p, std::int64_t n) {
  return 4 * std::sqrt(p * (1 - p) / static_cast<double>(n));
}

class Presets : public ::testing::TestWithParam<SyntheticPreset> {};

TEST_P(Presets, AreWellFormedNetworks) {
  const SyntheticOptions& options = GetParam().options;
  const Dataset d = generate(options, GetParam().name);
  EXPECT_EQ(inconsistency(d), "");
  EXPECT_EQ(d.name, GetParam().name);
  EXPECT_EQ(d.format, "synthetic");
  EXPECT_EQ(d.events.size(), options.events);
  EXPECT_EQ(d.events.num_nodes, options.nodes);
  EXPECT_EQ(d.communities.size(), options.nodes);
  for (EventId e = 0; e < d.events.size(); ++e) {
    ASSERT_NE(d.events.src[e], d.events.dst[e]) << "no self-loops";
    ASSERT_GE(d.communities[d.events.dst[e]], 0);
    ASSERT_LT(d.communities[d.events.dst[e]], options.communities);
  }
  EXPECT_GE(d.events.time.front(), 0);
  EXPECT_LE(d.events.time.back(), options.span);
}

TEST_P(Presets, TheSeedDecidesEverything) {
  SyntheticOptions options = GetParam().options;
  const std::string digest = network(options).digest();
  EXPECT_EQ(generate(options, "another name").digest(), digest);
  options.seed = 1;
  EXPECT_NE(network(options).digest(), digest);
}

// Without a repetition an event is in the preferred community with probability
//   q = 1 - noise + noise / communities;
// a repetition copies an earlier choice, which was in the community preferred then. Hence the share
// lies between (1 - repeat) q and q.
TEST_P(Presets, MostEventsFollowThePreference) {
  const SyntheticOptions& options = GetParam().options;
  const double q = 1 - options.noise + options.noise / static_cast<double>(options.communities);
  const double share = preferred_share(network(options), options);
  EXPECT_GE(share, (1 - options.repeat) * q - tolerance(q, options.events));
  EXPECT_LE(share, q + tolerance(q, options.events) / (1 - options.repeat));
}

INSTANTIATE_TEST_SUITE_P(Synthetic, Presets, ::testing::ValuesIn(synthetic_presets()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(SyntheticTest, PresetsHaveDistinctNamesAndSummaries) {
  std::set<std::string_view> names;
  for (const SyntheticPreset& preset : synthetic_presets()) {
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
    EXPECT_FALSE(preset.summary.empty()) << preset.name;
  }
  EXPECT_TRUE(names.contains("drift"));
  EXPECT_TRUE(names.contains("repeat"));
  EXPECT_TRUE(names.contains("sparse"));
}

TEST(SyntheticTest, EveryOptionMatters) {
  const auto digest = [](const std::function<void(SyntheticOptions&)>& change) {
    SyntheticOptions options{.nodes = 100, .events = 500, .communities = 5};
    change(options);
    return network(options).digest();
  };
  const std::string plain = digest([](SyntheticOptions&) {});
  EXPECT_NE(digest([](auto& o) { o.nodes = 101; }), plain);
  EXPECT_NE(digest([](auto& o) { o.events = 501; }), plain);
  EXPECT_NE(digest([](auto& o) { o.communities = 6; }), plain);
  EXPECT_NE(digest([](auto& o) { o.drift = 0; }), plain);
  EXPECT_NE(digest([](auto& o) { o.repeat = 0.9; }), plain);
  EXPECT_NE(digest([](auto& o) { o.noise = 0.9; }), plain);
  EXPECT_NE(digest([](auto& o) { o.source_share = 0.3; }), plain);
  EXPECT_NE(digest([](auto& o) { o.one_mode = true; }), plain);
  EXPECT_NE(digest([](auto& o) { o.span = 1000; }), plain);
  EXPECT_NE(digest([](auto& o) { o.distinct_times = 10; }), plain);
  EXPECT_NE(digest([](auto& o) { o.edge_features = 3; }), plain);
  EXPECT_NE(digest([](auto& o) { o.seed = 7; }), plain);
}

TEST(SyntheticTest, BipartiteUnlessOneMode) {
  SyntheticOptions options = small_options();
  options.source_share = 0.25;
  const Dataset two_mode = network(options);
  EXPECT_TRUE(is_bipartite(two_mode.events));
  for (NodeId node = 0; node < two_mode.events.num_nodes; ++node) {
    EXPECT_EQ(two_mode.communities[node] == -1, node < 100) << "a quarter are sources";
  }
  for (EventId e = 0; e < two_mode.events.size(); ++e) {
    ASSERT_LT(two_mode.events.src[e], 100);
    ASSERT_GE(two_mode.events.dst[e], 100);
  }

  options.one_mode = true;
  const Dataset one_mode = network(options);
  EXPECT_EQ(inconsistency(one_mode), "");
  EXPECT_FALSE(is_bipartite(one_mode.events));
  EXPECT_EQ(std::count(one_mode.communities.begin(), one_mode.communities.end(), -1), 0);
  for (EventId e = 0; e < one_mode.events.size(); ++e) {
    ASSERT_NE(one_mode.events.src[e], one_mode.events.dst[e]);
  }
}

TEST(SyntheticTest, SmallestNetworksHaveNoSelfLoops) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Dataset d =
        network({.nodes = 4, .events = 200, .communities = 1, .one_mode = true, .seed = seed});
    for (EventId e = 0; e < d.events.size(); ++e) ASSERT_NE(d.events.src[e], d.events.dst[e]);
  }
}

// Expected share: 1 - 0.2 + 0.2 / 8 = 0.825.
TEST(SyntheticTest, ShareOfPreferredEventsIsAsStated) {
  SyntheticOptions options = small_options();
  EXPECT_NEAR(preferred_share(network(options), options), 0.825, tolerance(0.825, options.events));
  options.noise = 0;
  EXPECT_EQ(preferred_share(network(options), options), 1.0);
  options.noise = 1;
  EXPECT_NEAR(preferred_share(network(options), options), 1.0 / 8,
              tolerance(1.0 / 8, options.events));
  options.noise = 0.2;
  options.one_mode = true;  // here a drawn self-loop moves on to the next node, in about 1 of 100
  EXPECT_NEAR(preferred_share(network(options), options), 0.825,
              tolerance(0.825, options.events) + 0.02);
}

TEST(SyntheticTest, PreferencesMoveOnAsOftenAsDriftSays) {
  SyntheticOptions options = small_options();
  for (double drift : {0.0, 1.0, 5.0}) {
    options.drift = drift;
    for (NodeId source = 0; source < 50; ++source) {
      std::int32_t current = preferred_community(options, source, 0);
      int moves = 0;
      for (int step = 1; step <= 1000; ++step) {
        const std::int32_t next = preferred_community(options, source, options.span * step / 1000);
        if (next == current) continue;
        ASSERT_EQ(next, (current + 1) % options.communities) << "on to the next community";
        current = next;
        ++moves;
      }
      ASSERT_EQ(moves, drift) << source;
    }
  }
}

TEST(SyntheticTest, SourcesPreferDifferentCommunities) {
  const SyntheticOptions options = small_options();
  std::vector<int> count(static_cast<std::size_t>(options.communities), 0);
  for (NodeId source = 0; source < 800; ++source) {
    ++count[static_cast<std::size_t>(preferred_community(options, source, 0))];
  }
  for (int sources : count) EXPECT_NEAR(sources / 800.0, 1.0 / 8, tolerance(1.0 / 8, 800));
}

// A repetition on purpose, or the same partner by chance: with 160 destinations in 8 communities
// the busiest of the 20 in a community is drawn with probability (1/20)^(1/1.4) < 0.12.
TEST(SyntheticTest, ShareOfRepetitionsIsAsStated) {
  SyntheticOptions options = small_options();
  for (double repeat : {0.0, 0.3, 0.8}) {
    options.repeat = repeat;
    const double share = repeat_share(network(options));
    EXPECT_GE(share, repeat - tolerance(repeat, options.events));
    EXPECT_LE(share, repeat + (1 - repeat) * 0.12 + tolerance(0.5, options.events));
  }
  options.repeat = 1;
  EXPECT_EQ(repeat_share(network(options)), 1.0);
}

TEST(SyntheticTest, PresetsDifferAsTheirNamesSay) {
  const auto preset = [](std::string_view name) {
    for (const SyntheticPreset& each : synthetic_presets()) {
      if (each.name == name) return generate(each.options, name);
    }
    throw std::runtime_error("no such preset");
  };
  const auto events_per_node = [](const Dataset& d) {
    return static_cast<double>(d.events.size()) / d.events.num_nodes;
  };
  const Dataset drift = preset("drift");
  EXPECT_GE(repeat_share(preset("repeat")), 0.79);
  EXPECT_LE(repeat_share(drift), 0.25);
  EXPECT_LT(events_per_node(preset("sparse")), 4);
  EXPECT_GE(events_per_node(drift), 20);
}

TEST(SyntheticTest, RandomTimesAreWholeSecondsOverTheSpan) {
  SyntheticOptions options = small_options();
  const Dataset d = network(options);
  for (Timestamp t : d.events.time) ASSERT_EQ(t, std::floor(t));
  EXPECT_LT(d.events.time.front(), 0.01 * options.span);
  EXPECT_GT(d.events.time.back(), 0.95 * options.span);
}

// 2000 events in 30 days: five of them in one second are next to impossible.
TEST(SyntheticTest, RandomTimesDoNotPileUp) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Dataset d = network({.events = 2000, .seed = seed});
    std::map<Timestamp, int> count;
    int most = 0;
    for (Timestamp t : d.events.time) most = std::max(most, ++count[t]);
    EXPECT_LT(most, 5) << "seed " << seed << ", last time " << d.events.time.back();
  }
}

TEST(SyntheticTest, DistinctTimesAreEqualSteps) {
  SyntheticOptions options = small_options();
  options.distinct_times = 16;
  const Dataset d = network(options);
  std::map<Timestamp, std::int64_t> count;
  for (Timestamp t : d.events.time) ++count[t];
  ASSERT_EQ(count.size(), 16U);
  std::vector<Timestamp> times;
  for (const auto& [time, events] : count) {
    EXPECT_EQ(events, options.events / 16);
    times.push_back(time);
  }
  EXPECT_EQ(times.front(), 0);
  EXPECT_LE(times.back(), options.span);
  for (std::size_t i = 2; i < times.size(); ++i) {
    EXPECT_NEAR(times[i] - times[i - 1], times[1], 1e-6);
  }
}

TEST(SyntheticTest, MoreTimesThanEventsAreAllDifferent) {
  const Dataset d = network({.events = 100, .distinct_times = 1000});
  EXPECT_EQ(std::set<Timestamp>(d.events.time.begin(), d.events.time.end()).size(), 100U);
}

TEST(SyntheticTest, NoSpanMeansOneTime) {
  const Dataset d = network({.events = 100, .span = 0});
  EXPECT_EQ(inconsistency(d), "");
  EXPECT_EQ(d.events.time.back(), 0);
}

TEST(SyntheticTest, FeaturesAreANoisyCodeOfTheCommunity) {
  SyntheticOptions options = small_options();
  options.edge_features = options.communities;
  const Dataset d = network(options);
  EXPECT_EQ(inconsistency(d), "");
  ASSERT_EQ(d.edge_features.width, options.communities);
  for (EventId e = 0; e < d.events.size(); ++e) {
    const auto row = d.edge_features.row(e);
    const auto largest = std::max_element(row.begin(), row.end()) - row.begin();
    ASSERT_EQ(largest, d.communities[d.events.dst[e]]);
  }
  std::set<float> values(d.edge_features.values.begin(), d.edge_features.values.end());
  EXPECT_GT(values.size(), 1000U) << "noisy";
}

TEST(SyntheticTest, FeaturesDoNotChangeTheEvents) {
  SyntheticOptions options = small_options();
  const Dataset without = network(options);
  options.edge_features = 3;
  const Dataset with = network(options);
  EXPECT_EQ(testing::to_vector(with.events.dst), testing::to_vector(without.events.dst));
  EXPECT_EQ(testing::to_vector(with.events.time), testing::to_vector(without.events.time));
}

struct OutOfRange {
  const char* option;
  const char* range;
  std::function<void(SyntheticOptions&)> change;
};

TEST(SyntheticTest, ValuesOutOfRangeAreUsageErrorsWithOptionAndRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<OutOfRange> all = {
      {"--nodes 3", "between 4 and 2", [](auto& o) { o.nodes = 3; }},
      {"--nodes 2000000001", "between 4 and 2", [](auto& o) { o.nodes = 2'000'000'001; }},
      {"--events 0", "between 1 and", [](auto& o) { o.events = 0; }},
      {"--events -1", "between 1 and", [](auto& o) { o.events = -1; }},
      {"--communities 0", "between 1 and", [](auto& o) { o.communities = 0; }},
      {"--drift -1", "between 0 and", [](auto& o) { o.drift = -1; }},
      {"--drift nan", "between 0 and", [=](auto& o) { o.drift = nan; }},
      {"--drift inf", "between 0 and", [](auto& o) { o.drift = INFINITY; }},
      {"--repeat 1.5", "between 0 and 1", [](auto& o) { o.repeat = 1.5; }},
      {"--repeat -0.1", "between 0 and 1", [](auto& o) { o.repeat = -0.1; }},
      {"--noise 2", "between 0 and 1", [](auto& o) { o.noise = 2; }},
      {"--noise nan", "between 0 and 1", [=](auto& o) { o.noise = nan; }},
      {"--source-share 0", "between 0.01 and 0.99", [](auto& o) { o.source_share = 0; }},
      {"--source-share 1", "between 0.01 and 0.99", [](auto& o) { o.source_share = 1; }},
      {"--span -1", "between 0 and", [](auto& o) { o.span = -1; }},
      {"--span inf", "between 0 and", [](auto& o) { o.span = INFINITY; }},
      {"--distinct-times -1", "between 0 and", [](auto& o) { o.distinct_times = -1; }},
      {"--edge-features -1", "between 0 and 4096", [](auto& o) { o.edge_features = -1; }},
      {"--edge-features 4097", "between 0 and 4096", [](auto& o) { o.edge_features = 4097; }},
  };
  for (const OutOfRange& bad : all) {
    SyntheticOptions options;
    bad.change(options);
    EXPECT_TRUE(fails<UsageError>([&] { network(options); }, {bad.option, bad.range}));
  }
}

TEST(SyntheticTest, CommunitiesNeedDestinations) {
  const SyntheticOptions options{
      .nodes = 10, .events = 10, .communities = 5};  // 6 of 10 are sources
  EXPECT_TRUE(fails<UsageError>([&] { network(options); }, {"--communities 5", "4 destinations"}));
  SyntheticOptions enough = options;
  enough.communities = 4;
  EXPECT_EQ(inconsistency(network(enough)), "");
}

TEST(SyntheticTest, TheSourceTellsHowItWasMade) {
  SyntheticOptions options = small_options();
  options.seed = 12345;
  EXPECT_NE(network(options).source.find("\"seed\":12345"), std::string::npos);
}

}  // namespace
}  // namespace curnm
