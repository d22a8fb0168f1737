#include "curnm/evaluation/ranking_negatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "curnm/base/csv.h"
#include "curnm/data/id_map.h"
#include "curnm/evaluation/evaluate.h"
#include "support/chi_square.h"
#include "support/errors.h"
#include "support/naive.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::events_of;
using testing::fails;
using testing::random_log;
using testing::RandomLogOptions;
using testing::read_bytes;
using testing::ScopedThreads;
using testing::TemporaryFolder;
using testing::write_bytes;

Dataset dataset_of(EventLog log) {
  Dataset dataset;
  dataset.name = "network";
  dataset.events = std::move(log);
  return dataset;
}

/// With names that a table has to quote, or that look like something else.
IdMap awkward_names(NodeId nodes) {
  IdTable table;
  for (NodeId node = 0; node < nodes; ++node) {
    const std::string n = std::to_string(node);
    const std::array<std::string, 6> names = {"a,b " + n,   "#" + n, "say \"" + n + "\"",
                                              " blank" + n, "é" + n, std::to_string(1000 - node)};
    table.intern(names[static_cast<std::size_t>(node) % names.size()]);
  }
  return table.finish();
}

Dataset named_network() {
  Dataset dataset = dataset_of(random_log(3, {.nodes = 40, .events = 400, .distinct_times = 90}));
  dataset.ids = awkward_names(40);
  return dataset;
}

class ManyNetworks : public ::testing::TestWithParam<std::tuple<int, bool, RankedPart>> {
 protected:
  static LinkTask make_task() {
    const auto [seed, bipartite, part] = GetParam();
    // Few nodes and many ties: some sources meet every destination.
    const RandomLogOptions options{.nodes = static_cast<NodeId>(8 + 7 * seed),
                                   .events = 150 + 50 * seed,
                                   .distinct_times = 30,
                                   .bipartite = bipartite};
    return LinkTask(dataset_of(random_log(static_cast<std::uint64_t>(seed), options)),
                    {.hidden_share = 0});
  }
};

// By loops over the log: former partners are from strictly before, no negative is there twice or an
// event at the time, half are partners and half strangers unless one kind is too rare.
TEST_P(ManyNetworks, MatchLoops) {
  const LinkTask task = make_task();
  const RankedPart part = std::get<2>(GetParam());
  const EvaluationSet& set = set_of(task, part);
  const auto events = events_of(task.log());
  // Validation must not know what exists only later.
  const std::size_t known =
      part == RankedPart::kTest ? events.size() : static_cast<std::size_t>(task.split().first_test);
  std::set<NodeId> destinations;
  for (std::size_t e = 0; e < known; ++e) {
    destinations.insert(events[e].dst);
    if (!std::get<1>(GetParam())) destinations.insert(events[e].src);
  }
  bool saw_half = false;
  bool saw_fewer = false;
  for (const std::int64_t n : {1, 2, 7, 20}) {
    const RankingNegatives negatives = draw_ranking_negatives(task, part, n, /*seed=*/5);
    ASSERT_EQ(negatives.size(), set.positives.size());
    for (EventId i = 0; i < set.positives.size(); ++i) {
      const NodeId u = set.positives.log.src[i];
      const Timestamp t = set.positives.log.time[i];
      std::set<NodeId> history;
      std::set<NodeId> now;
      for (const auto& event : events) {
        if (event.src == u && event.time < t) history.insert(event.dst);
        if (event.src == u && event.time == t) now.insert(event.dst);
      }
      std::int64_t partners = 0;
      std::int64_t strangers = 0;
      for (const NodeId v : destinations) {
        if (!now.contains(v)) ++(history.contains(v) ? partners : strangers);
      }
      const auto drawn = negatives.of(i);
      const std::set<NodeId> distinct(drawn.begin(), drawn.end());
      ASSERT_EQ(distinct.size(), drawn.size());
      std::int64_t drawn_partners = 0;
      for (const NodeId v : drawn) {
        ASSERT_TRUE(destinations.contains(v));
        ASSERT_FALSE(now.contains(v));
        drawn_partners += history.contains(v) ? 1 : 0;
      }
      ASSERT_TRUE(now.contains(set.positives.log.dst[i]));
      ASSERT_EQ(std::ssize(drawn), std::min(n, partners + strangers));
      const std::int64_t half = std::min(n / 2, partners);
      const std::int64_t filled = std::max(half, std::min(n - strangers, partners));
      ASSERT_EQ(drawn_partners, filled);
      saw_half = saw_half || (n > 1 && drawn_partners == n / 2);
      saw_fewer = saw_fewer || std::ssize(drawn) < n;
    }
  }
  EXPECT_TRUE(saw_half);
  if (std::get<0>(GetParam()) == 0) {
    EXPECT_TRUE(saw_fewer);
  }
}

TEST_P(ManyNetworks, ThreadsChangeNothing) {
  const LinkTask task = make_task();
  const RankedPart part = std::get<2>(GetParam());
  const auto draw = [&](int threads) {
    const ScopedThreads scope(threads);
    return draw_ranking_negatives(task, part, 10, /*seed=*/1).nodes;
  };
  EXPECT_EQ(draw(1), draw(4));
}

INSTANTIATE_TEST_SUITE_P(All, ManyNetworks,
                         ::testing::Combine(::testing::Values(0, 1, 4, 6), ::testing::Bool(),
                                            ::testing::Values(RankedPart::kValidation,
                                                              RankedPart::kTest)));

// Every partner and every stranger of one event is drawn equally often over many seeds: chi-square
// at p = 1e-6.
TEST(RankingNegativesTest, BothHalvesAreUniform) {
  const LinkTask task(dataset_of(random_log(9, {.nodes = 40, .events = 400, .distinct_times = 90})),
                      {.hidden_share = 0});
  const EventLog& log = task.test().positives.log;
  const EventId last = log.size() - 1;
  std::map<NodeId, std::int64_t> partners;
  std::map<NodeId, std::int64_t> strangers;
  for (const NodeId v : task.test().destinations) {
    if (task.pairs().occurs_at(log.src[last], v, log.time[last])) continue;
    const bool met = task.pairs().before(log.src[last], v, log.time[last]).count > 0;
    (met ? partners : strangers)[v] = 0;
  }
  ASSERT_GT(partners.size(), 2U);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const RankingNegatives negatives = draw_ranking_negatives(task, RankedPart::kTest, 4, seed);
    for (const NodeId v : negatives.of(last)) ++(partners.contains(v) ? partners : strangers).at(v);
  }
  for (const auto* counts : {&partners, &strangers}) {
    std::vector<std::int64_t> drawn;
    for (const auto& [node, count] : *counts) drawn.push_back(count);
    EXPECT_TRUE(testing::equally_included(drawn, 4000, 2));
  }
}

TEST(RankingNegativesTest, ASeedChangesTheDraw) {
  const LinkTask task(named_network());
  const auto draw = [&](std::uint64_t seed) {
    return draw_ranking_negatives(task, RankedPart::kTest, 10, seed).nodes;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(RankingNegativesTest, AFileHoldsTheSame) {
  const TemporaryFolder folder;
  const LinkTask task(named_network());
  for (const RankedPart part : {RankedPart::kValidation, RankedPart::kTest}) {
    const RankingNegatives drawn = draw_ranking_negatives(task, part, 50, /*seed=*/11);
    write_ranking_negatives(folder.path() / "negatives.csv", task, drawn);
    const RankingNegatives read = read_ranking_negatives(folder.path() / "negatives.csv", task);
    EXPECT_EQ(read.part, part);
    EXPECT_EQ(read.per_event, 50);
    EXPECT_EQ(read.seed, 11U);
    EXPECT_EQ(read.nodes, drawn.nodes);
  }
}

TEST(RankingNegativesTest, TheFormatIsAsDocumented) {
  const TemporaryFolder folder;
  const LinkTask task(dataset_of(random_log(1, {.nodes = 6, .events = 40, .distinct_times = 40})),
                      {.hidden_share = 0});
  RankingNegatives negatives = draw_ranking_negatives(task, RankedPart::kTest, 3, 0);
  write_ranking_negatives(folder.path() / "n.csv", task, negatives);
  const std::string text = read_bytes(folder.path() / "n.csv");
  const EventLog& log = task.test().positives.log;
  EXPECT_TRUE(text.starts_with(fmt::format(
      "# curnm negatives {{\"format\":1,\"data\":\"{}\",\"part\":\"test\",\"events\":{},"
      "\"per_event\":3,\"seed\":0}}\nevent,src,dst,time,negative_1,negative_2,negative_3\n"
      "{},{},{},{},{},",
      task.data_digest(), log.size(), task.split().first_test, log.src[0], log.dst[0], log.time[0],
      negatives.of(0)[0])))
      << text;
}

class BrokenFile : public ::testing::Test {
 protected:
  BrokenFile() : task_(named_network()), file_(folder_.path() / "negatives.csv") {
    write_ranking_negatives(file_, task_, draw_ranking_negatives(task_, RankedPart::kTest, 3, 0));
    text_ = read_bytes(file_);
  }

  /// Reading the file fails after `from` became `to` in it.
  ::testing::AssertionResult fails_with(const std::string& from, const std::string& to,
                                        const std::vector<std::string>& parts) {
    const std::size_t at = text_.find(from);
    if (at == std::string::npos) return ::testing::AssertionFailure() << from << " is not there";
    return fails_as(std::string(text_).replace(at, from.size(), to), parts);
  }
  ::testing::AssertionResult fails_as(const std::string& text,
                                      const std::vector<std::string>& parts) {
    write_bytes(file_, text);
    return fails([&] { read_ranking_negatives(file_, task_); }, parts);
  }
  /// Row i of the events, without the line end.
  std::string row(std::size_t i) const {
    std::size_t at = 0;
    for (std::size_t line = 0; line < i + 2; ++line) at = text_.find('\n', at) + 1;
    return text_.substr(at, text_.find('\n', at) - at);
  }

  TemporaryFolder folder_;
  LinkTask task_;
  std::filesystem::path file_;
  std::string text_;
};

TEST_F(BrokenFile, TheHeader) {
  EXPECT_TRUE(fails_with("# curnm negatives ", "# ", {"has no negatives", "curnm negatives DATA"}));
  EXPECT_TRUE(fails_as("", {"has no negatives"}));
  EXPECT_TRUE(fails_with("\"format\":1", "\"format\":2", {"has format 2", "reads 1"}));
  EXPECT_TRUE(fails_with("{\"format\"", "{\"format", {"is damaged"}));
  EXPECT_TRUE(fails_with("\"seed\":0", "\"sead\":0", {"is damaged", "seed"}));
  EXPECT_TRUE(fails_with("\"seed\":0", "\"seed\":1e300", {"seed 1e+300 is not a whole number"}));
  EXPECT_TRUE(fails_with("\"part\":\"test\"", "\"part\":\"train\"", {"there is no part 'train'"}));
  EXPECT_TRUE(fails_with("\"per_event\":3", "\"per_event\":0", {"0 negatives per event"}));
  EXPECT_TRUE(
      fails_with(task_.data_digest(), "abc", {"for other data", "abc", task_.data_digest()}));
  EXPECT_TRUE(fails_with("\"events\":", "\"events\":9", {"9", "other options of the split"}));
}

TEST_F(BrokenFile, TheRows) {
  const std::string first = row(0);
  const std::size_t end = text_.find(row(5));
  EXPECT_TRUE(fails_as(text_.substr(0, end), {"is cut off", "it has 5 of"}));
  EXPECT_TRUE(fails_as(text_.substr(0, text_.find('\n')), {"ends after its first line"}));
  EXPECT_TRUE(fails_as(text_ + first + "\n", {"a row after the last"}));
  EXPECT_TRUE(fails_with(first, first + ",1000", {"negatives.csv:3", "8 columns instead of 7"}));
  EXPECT_TRUE(
      fails_with(first, row(1), {"is not the next one of the test", "options of the split"}));
}

TEST_F(BrokenFile, TheNegatives) {
  const EventLog& log = task_.test().positives.log;
  const auto name = [&](NodeId node) { return csv_field(task_.dataset().ids.name(node)); };
  const std::string start = fmt::format("{},{},{},{}", task_.split().first_test, name(log.src[0]),
                                        name(log.dst[0]), log.time[0]);
  const NodeId other = draw_ranking_negatives(task_, RankedPart::kTest, 3, 0).of(0)[0];
  const auto with = [&](const std::string& negatives) { return start + "," + negatives; };
  EXPECT_TRUE(fails_with(row(0), with("nobody,,"),
                         {"negatives.csv:3", "node 'nobody' is not in the network"}));
  EXPECT_TRUE(fails_with(row(0), with(name(log.dst[0]) + ",,"), {"is no negative"}));
  EXPECT_TRUE(fails_with(row(0), with(name(other) + "," + name(other) + ","), {"is there twice"}));
  EXPECT_TRUE(fails_with(row(0), with("," + name(other) + ","), {"after an empty column"}));
}

/// The number of the destination.
class ByNumber final : public Scorer {
 public:
  Scores score(const Pairs& pairs, Timestamp) override {
    return {.values = std::vector<float>(pairs.dst.begin(), pairs.dst.end())};
  }
};

TEST(RankingNegativesTest, TheRankingIsAmongExactlyThese) {
  const LinkTask task(named_network());
  for (const RankedPart part : {RankedPart::kValidation, RankedPart::kTest}) {
    const RankingNegatives negatives = draw_ranking_negatives(task, part, 25, 0);
    const EventLog& log = set_of(task, part).positives.log;
    double mrr = 0;
    double hits = 0;
    for (EventId i = 0; i < log.size(); ++i) {
      const auto above =
          std::ranges::count_if(negatives.of(i), [&](NodeId v) { return v > log.dst[i]; });
      mrr += 1 / static_cast<double>(above + 1);
      hits += above < 10 ? 1 : 0;
    }
    ByNumber scorer;
    const Ranking found = rank_destinations(scorer, task, negatives);
    EXPECT_NEAR(found.mrr, mrr / static_cast<double>(log.size()), 1e-12);
    EXPECT_NEAR(found.hits10, hits / static_cast<double>(log.size()), 1e-12);
    EXPECT_EQ(found.candidates, 25);
  }
}

}  // namespace
}  // namespace curnm
