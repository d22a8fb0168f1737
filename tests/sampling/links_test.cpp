#include "curnm/sampling/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "curnm/base/rng.h"

namespace curnm {
namespace {

using Rows = std::vector<std::int64_t>;
using Root = std::pair<NodeId, Timestamp>;

/// A batch that owns its columns, with candidates and extra pairs.
struct Step {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  std::vector<EventId> events;
  Candidates candidates;

  EventBatch batch() const { return {src, dst, time, events}; }
  Links links() const { return {batch(), candidates}; }
  std::int64_t size() const { return std::ssize(src); }
};

/// Few nodes and few times: ties, self-loops, candidates that are the source or the positive
/// itself, and the same pair more than once.
Step random_step(std::uint64_t seed) {
  Rng rng(seed, Stream::kTest);
  const auto node = [&] { return static_cast<NodeId>(rng.below(9)); };
  Step step;
  const std::uint64_t rows = rng.below(12);
  step.candidates.width = static_cast<std::int64_t>(rng.below(5));
  Timestamp t = -2;
  for (std::uint64_t i = 0; i < rows; ++i) {
    t += static_cast<Timestamp>(rng.below(2));
    step.src.push_back(node());
    step.dst.push_back(node());
    step.time.push_back(t == 0 && rng.below(2) == 0 ? -0.0 : t);
    step.events.push_back(static_cast<EventId>(100 + i));
    for (std::int64_t j = 0; j < step.candidates.width; ++j) {
      step.candidates.nodes.push_back(node());
    }
    for (std::uint64_t extra = rng.below(4); extra > 0; --extra) {
      step.candidates.extra.rows.push_back(static_cast<std::int64_t>(i));
      step.candidates.extra.src.push_back(node());
      step.candidates.extra.dst.push_back(node());
    }
  }
  return step;
}

struct Link {
  NodeId src;
  NodeId dst;
  Timestamp time;

  bool operator==(const Link&) const = default;  // -0 and 0 are equal
};

/// All links in their order, by loops.
std::vector<Link> naive_links(const Step& step) {
  std::vector<Link> links;
  const auto rows = static_cast<std::size_t>(step.size());
  const auto width = static_cast<std::size_t>(step.candidates.width);
  for (std::size_t i = 0; i < rows; ++i) links.push_back({step.src[i], step.dst[i], step.time[i]});
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      links.push_back({step.src[i], step.candidates.nodes[i * width + j], step.time[i]});
    }
  }
  const ExtraPairs& extra = step.candidates.extra;
  for (std::size_t x = 0; x < extra.rows.size(); ++x) {
    links.push_back(
        {extra.src[x], extra.dst[x], step.time[static_cast<std::size_t>(extra.rows[x])]});
  }
  return links;
}

std::vector<Link> links_of(const Links& links) {
  std::vector<Link> all;
  for (std::size_t i = 0; i < links.src().size(); ++i) {
    all.push_back({links.src()[i], links.dst()[i], links.time()[i]});
  }
  return all;
}

/// With one zero.
Root root_at(const Links& links, std::int64_t r) {
  return {links.roots().nodes[index(r)], links.roots().times[index(r)] + 0.0};
}

/// Columns of equal length, and rows that lead to the ends of each link.
void expect_rows_lead_to_their_ends(const Links& links) {
  const auto size = static_cast<std::size_t>(links.size());
  ASSERT_EQ(links.src().size(), size);
  ASSERT_EQ(links.dst().size(), size);
  ASSERT_EQ(links.time().size(), size);
  ASSERT_EQ(links.source().size(), size);
  ASSERT_EQ(links.destination().size(), size);
  ASSERT_EQ(links.roots().nodes.size(), links.roots().times.size());
  for (std::int64_t i = 0; i < links.size(); ++i) {
    const Timestamp t = links.time()[index(i)] + 0.0;
    const std::int64_t destination = links.destination()[index(i)];
    ASSERT_GE(destination, 0);
    ASSERT_LT(destination, links.num_destinations());
    ASSERT_EQ(root_at(links, destination), Root(links.dst()[index(i)], t));
    const std::int64_t source = links.source()[index(i)];
    ASSERT_GE(source, 0);
    ASSERT_LT(source, std::ssize(links.sources()));
    ASSERT_EQ(links.source_root(i), links.sources()[index(source)]);
    ASSERT_EQ(root_at(links, links.source_root(i)), Root(links.src()[index(i)], t));
  }
}

/// What Links promise about roots: distinct, destinations first, nothing that is not needed.
void expect_numbered(const Links& links) {
  ASSERT_NO_FATAL_FAILURE(expect_rows_lead_to_their_ends(links));
  std::set<Root> destinations;
  std::set<Root> sources;
  for (const Link& link : links_of(links)) {
    destinations.insert({link.dst, link.time + 0.0});
    sources.insert({link.src, link.time + 0.0});
  }
  std::set<Root> roots;
  for (std::int64_t r = 0; r < links.roots().size(); ++r) {
    ASSERT_TRUE(roots.insert(root_at(links, r)).second) << "root " << r << " twice";
    ASSERT_EQ(r < links.num_destinations(), destinations.contains(root_at(links, r)))
        << "root " << r;
  }
  std::set<Root> needed = destinations;
  needed.insert(sources.begin(), sources.end());
  ASSERT_EQ(roots, needed);
  ASSERT_EQ(links.num_destinations(), std::ssize(destinations));

  const std::set<std::int64_t> distinct(links.sources().begin(), links.sources().end());
  ASSERT_EQ(distinct.size(), links.sources().size()) << "a source twice";
  std::set<Root> listed;
  for (const std::int64_t root : links.sources()) {
    ASSERT_GE(root, 0);
    ASSERT_LT(root, links.roots().size());
    listed.insert(root_at(links, root));
  }
  ASSERT_EQ(listed, sources);
}

TEST(LinksTest, PairsAtOneTimeAreNumberedAsAnyPairs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Step step = random_step(seed);
    const std::vector<Timestamp> times(step.src.size(), 3.5);
    const Links expected(Pairs{step.src, step.dst, times});
    const Links links(3.5, step.src, step.dst, /*num_nodes=*/9);
    EXPECT_TRUE(std::ranges::equal(links.src(), expected.src()));
    EXPECT_TRUE(std::ranges::equal(links.dst(), expected.dst()));
    EXPECT_TRUE(std::ranges::equal(links.time(), expected.time()));
    EXPECT_TRUE(std::ranges::equal(links.roots().nodes, expected.roots().nodes));
    EXPECT_TRUE(std::ranges::equal(links.roots().times, expected.roots().times));
    EXPECT_EQ(links.num_destinations(), expected.num_destinations());
    EXPECT_TRUE(std::ranges::equal(links.source(), expected.source()));
    EXPECT_TRUE(std::ranges::equal(links.sources(), expected.sources()));
    EXPECT_TRUE(std::ranges::equal(links.destination(), expected.destination()));
  }
}

TEST(LinksTest, RandomStepsMatchLoops) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Step step = random_step(seed);
    const Links links = step.links();
    ASSERT_EQ(links_of(links), naive_links(step));
    ASSERT_NO_FATAL_FAILURE(expect_numbered(links));
    const std::int64_t candidates = step.size() * step.candidates.width;
    ASSERT_EQ(links.positives().begin, 0);
    ASSERT_EQ(links.positives().size, step.size());
    ASSERT_EQ(links.candidates().begin, step.size());
    ASSERT_EQ(links.candidates().size, candidates);
    ASSERT_EQ(links.extra().begin, step.size() + candidates);
    ASSERT_EQ(links.extra().size, step.candidates.extra.size());
    ASSERT_EQ(links.extra().end(), links.size());
    ASSERT_EQ(std::ssize(links.owner()), candidates);
    for (std::int64_t c = 0; c < candidates; ++c) {
      ASSERT_EQ(links.owner()[index(c)], c / step.candidates.width);
    }
  }
}

TEST(LinksTest, HandComputedExample) {
  Step step;
  step.src = {1, 1};
  step.dst = {2, 1};  // the second one is a self-loop
  step.time = {5, 5};
  step.events = {10, 11};
  step.candidates.width = 1;
  step.candidates.nodes = {3, 2};
  step.candidates.extra = {.rows = {1}, .src = {4}, .dst = {2}};
  const Links links = step.links();
  const auto rows = [](std::span<const std::int64_t> span) {
    return Rows(span.begin(), span.end());
  };
  EXPECT_EQ(links.size(), 5);
  EXPECT_EQ(std::vector<NodeId>(links.roots().nodes.begin(), links.roots().nodes.end()),
            (std::vector<NodeId>{2, 1, 3, 4}))
      << "destinations as they come, then what is a source only";
  EXPECT_EQ(links.num_destinations(), 3);
  EXPECT_EQ(rows(links.destination()), (Rows{0, 1, 2, 0, 0}));
  EXPECT_EQ(rows(links.sources()), (Rows{1, 3}));
  EXPECT_EQ(rows(links.source()), (Rows{0, 0, 0, 0, 1}));
  EXPECT_EQ(rows(links.owner()), (Rows{0, 1}));
  EXPECT_EQ(links.source_root(4), 3);
}

TEST(LinksTest, MinusZeroAndZeroAreOneTime) {
  const std::vector<NodeId> src = {1, 1, 2};
  const std::vector<NodeId> dst = {2, 2, 1};
  const std::vector<Timestamp> time = {0.0, -0.0, -0.0};
  const Links links(Pairs{src, dst, time});
  EXPECT_EQ(links.roots().size(), 2);
  EXPECT_EQ(links.num_destinations(), 2);
  EXPECT_EQ(links.destination()[0], links.destination()[1]);
  EXPECT_EQ(links.source_root(2), links.destination()[0]);
  // Whichever of the two came first: draws about a root are the same.
  const std::vector<Timestamp> other = {-0.0, 0.0, 0.0};
  const Links mirrored(Pairs{src, dst, other});
  for (std::size_t r = 0; r < 2; ++r)
    EXPECT_EQ(draw_key(mirrored.roots().nodes[r], mirrored.roots().times[r]),
              draw_key(links.roots().nodes[r], links.roots().times[r]));
}

TEST(LinksTest, ASelfLoopHasOneRoot) {
  const std::vector<NodeId> node = {7};
  const std::vector<Timestamp> time = {3};
  const Links links(Pairs{node, node, time});
  EXPECT_EQ(links.roots().size(), 1);
  EXPECT_EQ(links.num_destinations(), 1);
  EXPECT_EQ(links.source_root(0), 0);
  EXPECT_EQ(links.destination()[0], 0);
}

TEST(LinksTest, AQuestionHasExtraPairsOnly) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Link> asked = naive_links(random_step(seed));
    std::vector<NodeId> src;
    std::vector<NodeId> dst;
    std::vector<Timestamp> time;
    for (const Link& link : asked) {
      src.push_back(link.src);
      dst.push_back(link.dst);
      time.push_back(link.time);
    }
    const Links links(Pairs{src, dst, time});
    ASSERT_EQ(links_of(links), asked);
    ASSERT_NO_FATAL_FAILURE(expect_numbered(links));
    ASSERT_EQ(links.positives().size, 0);
    ASSERT_EQ(links.candidates().size, 0);
    ASSERT_EQ(links.extra().begin, 0);
    ASSERT_EQ(links.extra().size, links.size());
    ASSERT_TRUE(links.owner().empty());
  }
}

TEST(LinksTest, NothingAtAll) {
  const Links none(Pairs{});
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.roots().size(), 0);
  EXPECT_EQ(none.num_destinations(), 0);
  EXPECT_TRUE(none.sources().empty());
  const Links empty = Step{}.links();
  EXPECT_EQ(empty.size(), 0);
  EXPECT_EQ(empty.with_candidates({}).links.size(), 0);
  EXPECT_EQ(empty.with_own_destinations(0).roots().size(), 0);
}

TEST(LinksTest, WithoutCandidatesThereArePositivesAndExtraPairs) {
  Step step;
  step.src = {1, 2};
  step.dst = {3, 4};
  step.time = {1, 2};
  step.events = {0, 1};
  step.candidates.extra = {.rows = {0, 1}, .src = {1, 5}, .dst = {4, 3}};
  const Links links = step.links();
  EXPECT_EQ(links.candidates().begin, 2);
  EXPECT_EQ(links.candidates().size, 0);
  EXPECT_EQ(links.extra().begin, 2);
  EXPECT_EQ(links.extra().size, 2);
  ASSERT_NO_FATAL_FAILURE(expect_numbered(links));
}

// Times that differ in their last bit, and nodes at the ends of their range, are different roots.
TEST(LinksTest, NeighbouringTimesAndExtremeNodesAreToldApart) {
  const NodeId last = std::numeric_limits<NodeId>::max();
  const Timestamp t = 1.4e9;
  const Timestamp next = std::nextafter(t, 2e9);
  const std::vector<NodeId> src = {0, 0, last, last, 0};
  const std::vector<NodeId> dst = {last, last, 0, 0, last};
  const std::vector<Timestamp> time = {t, next, t, -t, -next};
  const Links links(Pairs{src, dst, time});
  ASSERT_NO_FATAL_FAILURE(expect_numbered(links));
  EXPECT_EQ(links.roots().size(), 8);
}

TEST(WithCandidatesTest, KeepsExactlyWhatIsNeeded) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Step step = random_step(seed);
    const Links whole = step.links();
    Rng rng(seed, Stream::kTest, 1);
    Rows chosen;
    const std::uint64_t odds = 1 + rng.below(4);
    for (std::int64_t c = 0; c < whole.candidates().size; ++c) {
      if (rng.below(odds) == 0) chosen.push_back(c);
    }
    if (seed % 7 == 0) chosen.clear();
    const auto [part, roots] = whole.with_candidates(chosen);

    std::vector<Link> expected;
    const std::vector<Link> all = naive_links(step);
    for (std::int64_t i = 0; i < step.size(); ++i) expected.push_back(all[index(i)]);
    for (const std::int64_t c : chosen) expected.push_back(all[index(step.size() + c)]);
    for (std::int64_t i = whole.extra().begin; i < whole.size(); ++i) {
      expected.push_back(all[index(i)]);
    }
    ASSERT_EQ(links_of(part), expected);
    ASSERT_NO_FATAL_FAILURE(expect_numbered(part));
    ASSERT_EQ(part.positives().size, step.size());
    ASSERT_EQ(part.candidates().size, std::ssize(chosen));
    ASSERT_EQ(part.extra().size, whole.extra().size);
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      ASSERT_EQ(part.owner()[c], chosen[c] / step.candidates.width);
    }
    ASSERT_EQ(std::ssize(roots), part.roots().size());
    for (std::int64_t r = 0; r < part.roots().size(); ++r) {
      ASSERT_EQ(root_at(part, r), root_at(whole, roots[index(r)])) << "root " << r;
    }
  }
}

TEST(WithCandidatesTest, AllOfThemAreTheWhole) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Links whole = random_step(seed).links();
    Rows all(static_cast<std::size_t>(whole.candidates().size));
    for (std::size_t c = 0; c < all.size(); ++c) all[c] = static_cast<std::int64_t>(c);
    const auto [part, roots] = whole.with_candidates(all);
    ASSERT_EQ(links_of(part), links_of(whole));
    ASSERT_TRUE(std::ranges::equal(part.destination(), whole.destination()));
    ASSERT_TRUE(std::ranges::equal(part.source(), whole.source()));
    ASSERT_TRUE(std::ranges::equal(part.sources(), whole.sources()));
    for (std::size_t r = 0; r < roots.size(); ++r) {
      ASSERT_EQ(roots[r], static_cast<std::int64_t>(r)) << "numbered in the same way";
    }
  }
}

TEST(WithCandidatesTest, APartHasPartsOfItsOwn) {
  const Step step = random_step(17);
  const Links whole = step.links();
  ASSERT_GE(whole.candidates().size, 4);
  const auto [part, roots] = whole.with_candidates(Rows{0, 1, 3});
  const auto [smaller, inner] = part.with_candidates(Rows{2});
  const auto [direct, outer] = whole.with_candidates(Rows{3});
  EXPECT_EQ(links_of(smaller), links_of(direct));
  EXPECT_TRUE(std::ranges::equal(smaller.owner(), direct.owner()));
  for (std::size_t r = 0; r < inner.size(); ++r) EXPECT_EQ(roots[index(inner[r])], outer[r]);
}

TEST(WithOwnDestinationsTest, EachLinkTwiceWithRootsOfItsOwn) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Links links = random_step(seed).links();
    for (const std::int64_t n :
         {std::int64_t{0}, links.positives().size, links.extra().begin, links.size()}) {
      const Links twice = links.with_own_destinations(n);
      ASSERT_EQ(twice.size(), 2 * n);
      ASSERT_EQ(twice.num_destinations(), 2 * n);
      ASSERT_EQ(twice.extra().size, 2 * n) << "all are extra pairs";
      ASSERT_NO_FATAL_FAILURE(expect_rows_lead_to_their_ends(twice));
      const std::vector<Link> all = links_of(links);
      for (std::int64_t i = 0; i < 2 * n; ++i) {
        ASSERT_EQ(links_of(twice)[index(i)], all[index(i % n)]);
        ASSERT_EQ(twice.destination()[index(i)], i);
        ASSERT_EQ(twice.source()[index(i)], links.source()[index(i % n)]);
      }
      ASSERT_EQ(twice.sources().size(), links.sources().size());
      ASSERT_EQ(twice.roots().size(), 2 * n + std::ssize(links.sources()));
      for (std::int64_t s = 0; s < std::ssize(twice.sources()); ++s) {
        ASSERT_EQ(twice.sources()[index(s)], 2 * n + s);
        ASSERT_EQ(root_at(twice, 2 * n + s), root_at(links, links.sources()[index(s)]));
      }
    }
  }
}

TEST(RootsTest, KeysTellRootsApart) {
  std::vector<NodeId> nodes;
  std::vector<Timestamp> times;
  for (NodeId node = 0; node < 200; ++node) {
    for (int t = -50; t < 50; ++t) {
      nodes.push_back(node);
      times.push_back(1.4e9 + 0.25 * t);
    }
  }
  const Roots roots{nodes, times};
  std::set<std::uint64_t> keys;
  for (std::size_t r = 0; r < nodes.size(); ++r)
    keys.insert(draw_key(roots.nodes[r], roots.times[r]));
  EXPECT_EQ(keys.size(), nodes.size());
}

}  // namespace
}  // namespace curnm
