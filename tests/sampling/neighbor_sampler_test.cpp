#include "curnm/sampling/neighbor_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <ostream>
#include <set>
#include <tuple>
#include <vector>

#include "curnm/base/error.h"
#include "support/chi_square.h"
#include "support/naive.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::all_events;
using testing::Entry;
using testing::interesting_times;
using testing::make_log;
using testing::naive_entries;
using testing::random_log;
using testing::ScopedThreads;

using Entries = std::vector<Entry>;

const Rng kKey(1, Stream::kNeighbors);

/// Questions that own their columns.
struct Questions {
  std::vector<NodeId> nodes;
  std::vector<Timestamp> times;

  void add(NodeId node, Timestamp t) {
    nodes.push_back(node);
    times.push_back(t);
  }
  std::size_t size() const { return nodes.size(); }
  Roots roots() const { return {nodes, times}; }
};

/// Every node, and nobody, at every interesting time.
Questions all_questions(const EventLog& log) {
  Questions questions;
  for (Timestamp t : interesting_times(log)) {
    for (NodeId node = kNoNode; node < log.num_nodes; ++node) questions.add(node, t);
  }
  return questions;
}

/// The same question many times.
Questions repeated(NodeId node, Timestamp t, std::size_t times) {
  return {std::vector<NodeId>(times, node), std::vector<Timestamp>(times, t)};
}

/// Different questions about the same past: all within less than 1 after t.
Questions different(NodeId node, Timestamp t, std::size_t count) {
  Questions questions = repeated(node, t, count);
  for (std::size_t i = 0; i < count; ++i) {
    questions.times[i] += static_cast<double>(i + 1) / static_cast<double>(count + 2);
  }
  return questions;
}

/// The questions that the slots of a layer ask of the next one.
Questions next_questions(const Questions& asked, const Neighbors& layer, LayerTime layer_time) {
  Questions questions{layer.nodes, layer.times};
  if (layer_time == LayerTime::kRoot) {
    for (std::size_t slot = 0; slot < questions.size(); ++slot) {
      questions.times[slot] = asked.times[slot / static_cast<std::size_t>(layer.width)];
    }
  }
  return questions;
}

/// What the node did in t - oldest <= time < t - newest, oldest first.
Entries naive_past(const EventLog& log, NodeId node, Timestamp t, const Window& window) {
  if (node == kNoNode) return {};
  return naive_entries(log, all_events(log), node, t - window.oldest, t - window.newest);
}

Entries row_of(const Neighbors& layer, std::size_t row) {
  Entries entries;
  for (std::int32_t j = 0; j < layer.counts[row]; ++j) {
    const std::size_t slot =
        row * static_cast<std::size_t>(layer.width) + static_cast<std::size_t>(j);
    entries.push_back({layer.nodes[slot], layer.times[slot], layer.events[slot]});
  }
  return entries;
}

void expect_shape(const Neighbors& layer, std::size_t rows, std::int64_t width) {
  ASSERT_EQ(layer.width, width);
  ASSERT_EQ(layer.rows(), static_cast<std::int64_t>(rows));
  const std::size_t slots = rows * static_cast<std::size_t>(width);
  ASSERT_EQ(layer.nodes.size(), slots);
  ASSERT_EQ(layer.times.size(), slots);
  ASSERT_EQ(layer.events.size(), slots);
  for (std::size_t row = 0; row < rows; ++row) {
    ASSERT_GE(layer.counts[row], 0);
    ASSERT_LE(layer.counts[row], width);
    for (std::int64_t j = layer.counts[row]; j < width; ++j) {
      const std::size_t slot = row * static_cast<std::size_t>(width) + static_cast<std::size_t>(j);
      ASSERT_EQ(layer.nodes[slot], kNoNode);
      ASSERT_EQ(layer.times[slot], 0);
      ASSERT_EQ(layer.events[slot], kNoEvent);
    }
  }
}

/// Is the row a legal answer: the newest K in order, or K different ones of the past?
void expect_answer(const Entries& row, const Entries& past, const SamplerOptions& options) {
  const auto k = static_cast<std::size_t>(options.neighbors);
  if (options.strategy == SamplingStrategy::kRecent) {
    const auto skipped = static_cast<std::ptrdiff_t>(past.size() - std::min(past.size(), k));
    ASSERT_EQ(row, Entries(past.begin() + skipped, past.end()));
    return;
  }
  ASSERT_EQ(row.size(), std::min(past.size(), k));
  const std::set<Entry> drawn(row.begin(), row.end());
  ASSERT_EQ(drawn.size(), row.size()) << "drawn twice";
  for (const Entry& entry : row) {
    ASSERT_NE(std::find(past.begin(), past.end(), entry), past.end())
        << "event " << entry.event << " is not in the window";
  }
}

void expect_legal(const EventLog& log, const Questions& asked, const SamplerOptions& options,
                  const Window& window, const std::vector<Neighbors>& layers) {
  ASSERT_EQ(static_cast<int>(layers.size()), options.layers);
  Questions questions = asked;
  for (const Neighbors& layer : layers) {
    expect_shape(layer, questions.size(), options.neighbors);
    for (std::size_t row = 0; row < questions.size(); ++row) {
      expect_answer(row_of(layer, row),
                    naive_past(log, questions.nodes[row], questions.times[row], window), options);
      if (::testing::Test::HasFatalFailure()) {
        FAIL() << "node " << questions.nodes[row] << " at " << questions.times[row];
      }
    }
    questions = next_questions(questions, layer, options.layer_time);
  }
}

void expect_identical(const std::vector<Neighbors>& a, const std::vector<Neighbors>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t layer = 0; layer < a.size(); ++layer) {
    EXPECT_EQ(a[layer].width, b[layer].width);
    EXPECT_EQ(a[layer].nodes, b[layer].nodes);
    EXPECT_EQ(a[layer].times, b[layer].times);
    EXPECT_EQ(a[layer].events, b[layer].events);
    EXPECT_EQ(a[layer].counts, b[layer].counts);
  }
}

/// Node 0 meets another one at 1, 2 ... events: entry e is event e.
EventLog busy_node(std::int64_t events) {
  std::vector<testing::Event> list;
  for (std::int64_t e = 0; e < events; ++e) {
    list.push_back({0, static_cast<NodeId>(1 + e % 3), static_cast<Timestamp>(e + 1)});
  }
  return make_log(list, 4);
}

TEST(NeighborSamplerTest, HandComputedRecentExample) {
  const EventLog log = make_log({{0, 1, 1}, {2, 0, 2}, {0, 0, 3}, {0, 1, 4}, {0, 3, 4}}, 5);
  const TemporalGraph graph(log);
  const NeighborSampler sampler(graph, {.neighbors = 3});
  const Questions asked{{0, 0, 0, 4, kNoNode, 3}, {4, 5, 1, 9, 9, 4.5}};
  const Neighbors layer = sampler.sample(asked.roots(), kKey).at(0);
  expect_shape(layer, 6, 3);
  EXPECT_EQ(row_of(layer, 0), (Entries{{1, 1, 0}, {2, 2, 1}, {0, 3, 2}}));
  EXPECT_EQ(row_of(layer, 1), (Entries{{0, 3, 2}, {1, 4, 3}, {3, 4, 4}}));
  EXPECT_EQ(row_of(layer, 2), Entries{}) << "not its own event";
  EXPECT_EQ(row_of(layer, 3), Entries{});
  EXPECT_EQ(row_of(layer, 4), Entries{});
  EXPECT_EQ(row_of(layer, 5), (Entries{{0, 4, 4}}));
}

TEST(NeighborSamplerTest, RefusesImpossibleOptions) {
  const TemporalGraph graph(busy_node(3));
  for (std::int64_t neighbors : {0, -1}) {
    EXPECT_THROW(NeighborSampler(graph, {.neighbors = neighbors}), Error);
  }
  for (int layers : {0, -1}) {
    EXPECT_THROW(NeighborSampler(graph, {.layers = layers}), Error);
  }
}

TEST(NeighborSamplerTest, NoRootsNoRows) {
  const TemporalGraph graph(busy_node(3));
  const NeighborSampler sampler(graph, {.neighbors = 2, .layers = 3});
  const auto layers = sampler.sample(Questions{}.roots(), kKey);
  ASSERT_EQ(layers.size(), 3u);
  for (const Neighbors& layer : layers) expect_shape(layer, 0, 2);
}

TEST(NeighborSamplerTest, NetworkWithoutEvents) {
  const TemporalGraph graph(make_log({}, 3));
  for (SamplingStrategy strategy : {SamplingStrategy::kRecent, SamplingStrategy::kUniform}) {
    const NeighborSampler sampler(graph, {.strategy = strategy, .neighbors = 2, .layers = 2});
    const auto layers = sampler.sample(repeated(1, 5, 3).roots(), kKey);
    expect_shape(layers[0], 3, 2);
    expect_shape(layers[1], 6, 2);
    EXPECT_EQ(layers[0].counts, std::vector<std::int32_t>(3, 0));
  }
}

class NeighborSamplerLegalTest
    : public ::testing::TestWithParam<std::tuple<SamplingStrategy, LayerTime>> {};

// All nodes at all times, one to three layers, narrow and wide, on multigraphs with ties,
// self-loops and isolated nodes; over the whole past and over windows of it.
TEST_P(NeighborSamplerLegalTest, MatchesLoopsOnRandomMultigraphs) {
  const auto [strategy, layer_time] = GetParam();
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const EventLog log =
        random_log(seed, {.nodes = 7, .events = 90, .distinct_times = 9, .bipartite = seed == 3});
    const TemporalGraph graph(log);
    const Questions asked = all_questions(log);
    for (const auto& [k, depth] : std::vector<std::pair<std::int64_t, int>>{
             {1, 3}, {2, 3}, {5, 2}, {17, 1}, {20, 1}, {100, 1}}) {
      const SamplerOptions options{
          .strategy = strategy, .neighbors = k, .layers = depth, .layer_time = layer_time};
      const NeighborSampler sampler(graph, options);
      for (const Window& window :
           {Window{}, Window::snapshot(0, 4), Window::snapshot(1, 2.5), Window{.newest = 3}}) {
        const auto layers = sampler.sample(asked.roots(), kKey, window);
        expect_legal(log, asked, options, window, layers);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NeighborSamplerLegalTest,
    ::testing::Combine(::testing::Values(SamplingStrategy::kRecent, SamplingStrategy::kUniform),
                       ::testing::Values(LayerTime::kEvent, LayerTime::kRoot)));

// The past that lies before t falls into snapshots without gap or overlap, whatever the length.
TEST(NeighborSamplerTest, SnapshotsPartitionThePast) {
  const ScopedThreads one(1);  // hundreds of small calls
  const EventLog log = random_log(5, {.nodes = 6, .events = 60, .distinct_times = 20});
  const TemporalGraph graph(log);
  const NeighborSampler sampler(graph, {.neighbors = 60});
  const Questions asked = all_questions(log);
  for (Timestamp length : {0.1, 0.7, 1.0, 3.3, 10.0}) {
    std::vector<Entries> collected(asked.size());
    std::vector<Neighbors> layers;
    for (int index = 0; index * length < 25; ++index) {
      sampler.sample(asked.roots(), kKey, Window::snapshot(index, length), layers);
      for (std::size_t row = 0; row < asked.size(); ++row) {
        const Entries found = row_of(layers[0], row);
        // Older snapshots hold older events.
        collected[row].insert(collected[row].begin(), found.begin(), found.end());
      }
    }
    for (std::size_t row = 0; row < asked.size(); ++row) {
      ASSERT_EQ(collected[row], naive_past(log, asked.nodes[row], asked.times[row], {}))
          << "length " << length;
    }
  }
}

TEST(NeighborSamplerTest, NeighbouringLargeTimesAreDistinct) {
  const Timestamp large = 0x1p53;
  const TemporalGraph graph(make_log({{0, 1, large - 1}, {0, 2, large}}, 3));
  for (SamplingStrategy strategy : {SamplingStrategy::kRecent, SamplingStrategy::kUniform}) {
    const NeighborSampler sampler(graph, {.strategy = strategy, .neighbors = 2});
    const Questions asked{{0, 0, 0}, {large - 1, large, large + 2}};
    const Neighbors layer = sampler.sample(asked.roots(), kKey).at(0);
    EXPECT_EQ(row_of(layer, 0), Entries{});
    EXPECT_EQ(row_of(layer, 1), (Entries{{1, large - 1, 0}}));
    EXPECT_EQ(row_of(layer, 2), (Entries{{1, large - 1, 0}, {2, large, 1}}));
  }
}

struct Draw {
  std::int64_t past;
  std::int64_t neighbors;

  friend std::ostream& operator<<(std::ostream& out, const Draw& draw) {
    return out << draw.neighbors << " of " << draw.past;
  }
};

class NeighborSamplerUniformTest : public ::testing::TestWithParam<Draw> {};

// K of n past events; an event after the question must never be drawn. Tolerance in
// equally_included.
TEST_P(NeighborSamplerUniformTest, EveryPastEventIsEquallyLikely) {
  const auto [past, k] = GetParam();
  constexpr std::size_t kRows = 4000;
  const TemporalGraph graph(busy_node(past + 5));
  const NeighborSampler sampler(graph, {.strategy = SamplingStrategy::kUniform, .neighbors = k});
  const Questions asked = different(0, static_cast<Timestamp>(past), kRows);
  const Neighbors layer = sampler.sample(asked.roots(), kKey).at(0);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(past));
  for (std::size_t row = 0; row < kRows; ++row) {
    const Entries drawn = row_of(layer, row);
    ASSERT_EQ(std::set(drawn.begin(), drawn.end()).size(), static_cast<std::size_t>(k));
    for (const Entry& entry : drawn) {
      ASSERT_LT(entry.event, past);
      ++counts[static_cast<std::size_t>(entry.event)];
    }
  }
  EXPECT_TRUE(testing::equally_included(counts, kRows, k));
}

INSTANTIATE_TEST_SUITE_P(Sizes, NeighborSamplerUniformTest,
                         ::testing::Values(Draw{2, 1}, Draw{12, 5}, Draw{11, 10}, Draw{40, 16},
                                           Draw{40, 17}, Draw{50, 20}, Draw{21, 20}, Draw{300, 120},
                                           Draw{130, 128}));

// All 20 subsets of 3 out of 6, about 300 draws each.
TEST(NeighborSamplerTest, EverySubsetIsEquallyLikely) {
  constexpr std::size_t kRows = 6000;
  const TemporalGraph graph(busy_node(6));
  const NeighborSampler sampler(graph, {.strategy = SamplingStrategy::kUniform, .neighbors = 3});
  const Neighbors layer = sampler.sample(different(0, 100, kRows).roots(), kKey).at(0);
  std::map<std::set<Entry>, std::int64_t> frequency;
  for (std::size_t row = 0; row < kRows; ++row) {
    const Entries drawn = row_of(layer, row);
    ++frequency[{drawn.begin(), drawn.end()}];
  }
  ASSERT_EQ(frequency.size(), 20u);
  std::vector<std::int64_t> counts;
  for (const auto& [subset, count] : frequency) counts.push_back(count);
  EXPECT_TRUE(testing::equally_frequent(counts));
}

// Different keys are different draws, also in each layer: 300 rows of 5 out of 40 agree by chance
// with probability 1e-1700.
TEST(NeighborSamplerTest, KeysAndLayersDrawAnew) {
  const TemporalGraph graph(busy_node(40));
  const NeighborSampler sampler(graph, {.strategy = SamplingStrategy::kUniform,
                                        .neighbors = 5,
                                        .layers = 2,
                                        .layer_time = LayerTime::kRoot});
  const Questions asked = different(0, 100, 300);
  const auto first = sampler.sample(asked.roots(), kKey);
  expect_identical(sampler.sample(asked.roots(), kKey), first);
  const auto second = sampler.sample(asked.roots(), kKey.split(1));
  EXPECT_NE(first[0].events, second[0].events);
  EXPECT_NE(first[1].events, second[1].events);
  EXPECT_NE(row_of(first[0], 0), row_of(first[0], 1)) << "questions share their draws";

  // A single-layer sampler asked as layer 1 was: the same past in the same row, another draw.
  const NeighborSampler single(graph, {.strategy = SamplingStrategy::kUniform, .neighbors = 5});
  const Questions again = next_questions(asked, first[0], LayerTime::kRoot);
  EXPECT_NE(single.sample(again.roots(), kKey)[0].events, first[1].events);
}

TEST(NeighborSamplerTest, ADrawDependsOnItsQuestionAlone) {
  const EventLog log = random_log(6, {.nodes = 10, .events = 400, .distinct_times = 100});
  const TemporalGraph graph(log);
  const Questions asked = all_questions(log);
  for (std::int64_t k : {3, 20}) {
    const NeighborSampler sampler(graph, {.strategy = SamplingStrategy::kUniform, .neighbors = k});
    const Neighbors all = sampler.sample(asked.roots(), kKey).at(0);
    // A shorter batch, one whose other rows ask something else, and one the other way round.
    Questions reversed = asked;
    std::ranges::reverse(reversed.nodes);
    std::ranges::reverse(reversed.times);
    const Neighbors backwards = sampler.sample(reversed.roots(), kKey).at(0);
    const std::size_t half = asked.size() / 2;
    Questions fewer{{asked.nodes.begin(), asked.nodes.begin() + static_cast<std::ptrdiff_t>(half)},
                    {asked.times.begin(), asked.times.begin() + static_cast<std::ptrdiff_t>(half)}};
    Questions others = asked;
    for (std::size_t row = 0; row < half; ++row) others.nodes[row] = kNoNode;
    const Neighbors first = sampler.sample(fewer.roots(), kKey).at(0);
    const Neighbors last = sampler.sample(others.roots(), kKey).at(0);
    for (std::size_t row = 0; row < asked.size(); ++row) {
      ASSERT_EQ(row_of(row < half ? first : last, row), row_of(all, row)) << "K = " << k;
      ASSERT_EQ(row_of(backwards, asked.size() - 1 - row), row_of(all, row)) << "K = " << k;
    }
  }
}

TEST(NeighborSamplerTest, ThreadCountChangesNothing) {
  const EventLog log = random_log(7, {.nodes = 20, .events = 3000, .distinct_times = 150});
  const TemporalGraph graph(log);
  const Questions asked = all_questions(log);
  ASSERT_GT(asked.size(), 5000u);
  for (SamplingStrategy strategy : {SamplingStrategy::kRecent, SamplingStrategy::kUniform}) {
    for (const auto& [k, depth] :
         std::vector<std::pair<std::int64_t, int>>{{4, 2}, {20, 1}, {120, 1}}) {
      const NeighborSampler sampler(graph, {.strategy = strategy, .neighbors = k, .layers = depth});
      const ScopedThreads one(1);
      const auto alone = sampler.sample(asked.roots(), kKey);
      for (int threads : {2, 5}) {
        const ScopedThreads more(threads);
        expect_identical(sampler.sample(asked.roots(), kKey), alone);
      }
    }
  }
}

TEST(NeighborSamplerTest, ReusedBuffersGiveFreshResults) {
  const EventLog log = random_log(8, {.nodes = 10, .events = 200, .distinct_times = 40});
  const TemporalGraph graph(log);
  const Questions many = all_questions(log);
  const Questions few = repeated(kNoNode, 5, 7);
  const NeighborSampler wide(graph,
                             {.strategy = SamplingStrategy::kUniform, .neighbors = 9, .layers = 2});
  const NeighborSampler deep(graph, {.neighbors = 3, .layers = 3});
  std::vector<Neighbors> buffers;
  for (int round = 0; round < 2; ++round) {
    for (const NeighborSampler* sampler : {&wide, &deep}) {
      for (const Questions* asked : {&many, &few}) {
        sampler->sample(asked->roots(), kKey, {}, buffers);
        expect_identical(buffers, sampler->sample(asked->roots(), kKey));
      }
    }
  }
}

// What happens at or after the asked time changes nothing, to the bit.
TEST(NeighborSamplerTest, NeverSeesTheFuture) {
  const EventLog log = random_log(9, {.nodes = 8, .events = 300, .distinct_times = 60});
  const TemporalGraph graph(log);
  for (Timestamp t : {0.0, 10.0, 30.5, 59.0}) {
    std::vector<testing::Event> events;
    for (const testing::Event& event : testing::events_of(log)) {
      if (event.time < t) events.push_back(event);
    }
    for (NodeId node = 0; node < 8; ++node) events.push_back({node, 7, t});
    const TemporalGraph other(make_log(events, 8));
    Questions asked;
    for (NodeId node = 0; node < 8; ++node) asked.add(node, t);
    for (SamplingStrategy strategy : {SamplingStrategy::kRecent, SamplingStrategy::kUniform}) {
      const SamplerOptions options{.strategy = strategy, .neighbors = 6, .layers = 2};
      expect_identical(NeighborSampler(graph, options).sample(asked.roots(), kKey),
                       NeighborSampler(other, options).sample(asked.roots(), kKey));
    }
  }
}

TEST(NeighborSampler, MinusZeroAndZeroAreOneTime) {
  std::vector<NodeId> dst(40);
  std::iota(dst.begin(), dst.end(), 1);
  std::vector<Timestamp> times(40);
  std::iota(times.begin(), times.end(), -50.0);
  const EventLog log{std::vector<NodeId>(40, 0), dst, times, 41};
  const TemporalGraph graph(log);
  const NeighborSampler sampler(graph, {.strategy = SamplingStrategy::kUniform, .neighbors = 5});
  const std::vector<NodeId> nodes = {0, 0};
  const std::vector<Timestamp> zeros = {0.0, -0.0};
  const auto layers = sampler.sample({nodes, zeros}, Rng(1, Stream::kTest));
  const std::vector<NodeId>& drawn = layers[0].nodes;
  ASSERT_EQ(drawn.size(), 10U);
  EXPECT_TRUE(std::equal(drawn.begin(), drawn.begin() + 5, drawn.begin() + 5));
}

}  // namespace
}  // namespace curnm
