#include "curnm/serving/live_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "curnm/data/append.h"
#include "curnm/data/synthetic.h"
#include "curnm/evaluation/backtest.h"
#include "curnm/evaluation/metrics.h"
#include "curnm/models/registry.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/training.h"

namespace curnm {
namespace {

using testing::fails;
using testing::quick;
using testing::TemporaryFolder;

Dataset whole_network(bool features = false) {
  Dataset whole = generate(
      {.nodes = 60, .events = 1500, .communities = 4, .one_mode = true, .seed = 5}, "network");
  if (features) {
    std::vector<float> values;
    Rng rng(3, Stream::kTest);
    for (EventId e = 0; e < whole.events.size() * 3; ++e) {
      values.push_back(static_cast<float>(rng.uniform()));
    }
    whole.edge_features = {std::move(values), 3};
  }
  return whole;
}

TrainedModel trained(const std::string& model, const Dataset& dataset,
                     GivenOptions options = {{"epochs", "1"}}) {
  TrainingSession session = testing::session_of(quick(model, options), dataset);
  testing::train(session);
  return session.trained_model();
}

/// What comes after the base: the rest of the network, then nodes that nobody knew.
StreamEvents what_follows(const Dataset& whole, EventId base) {
  StreamEvents events;
  const auto add = [&](std::string src, std::string dst, Timestamp time) {
    events.src.push_back(std::move(src));
    events.dst.push_back(std::move(dst));
    events.time.push_back(time);
    for (std::int64_t i = 0; i < whole.edge_features.width; ++i) {
      events.features.push_back(static_cast<float>(events.size() % 7) + static_cast<float>(i));
    }
  };
  for (EventId e = base; e < whole.events.size(); ++e) {
    add(std::to_string(whole.events.src[e]), std::to_string(whole.events.dst[e]),
        whole.events.time[e]);
  }
  const Timestamp last = whole.events.time.back();
  for (int i = 0; i < 70; ++i) {
    const int born = whole.events.num_nodes + i / 2;
    add(std::to_string(born), std::to_string(i % 2 == 0 ? i : born), last + i / 3);
  }
  return events;
}

StreamEvents part(const StreamEvents& events, std::int64_t begin, std::int64_t end) {
  const auto cut = [&](const auto& column, std::int64_t width) {
    return std::remove_cvref_t<decltype(column)>(column.begin() + begin * width,
                                                 column.begin() + end * width);
  };
  const std::int64_t width = std::ssize(events.features) / events.size();
  return {cut(events.src, 1), cut(events.dst, 1), cut(events.time, 1), cut(events.features, width)};
}

Dataset grown(const Dataset& base, const StreamEvents& events) {
  return append(base,
                {events.src, events.dst, events.time, {events.features, base.edge_features.width}});
}

void expect_same_answers(const LiveModel& live, const Predictor& predictor, Timestamp t,
                         std::optional<Timestamp> asked) {
  const Dataset& data = predictor.dataset();
  for (const std::string src : {"3", "17"}) {
    for (const Seen seen : {Seen::kIncluded, Seen::kExcluded}) {
      const auto expected = predictor.top(predictor.find(src), t, 10, Question::kDestination, seen);
      const auto found = live.top(src, asked, 10, Question::kDestination, seen);
      ASSERT_EQ(found.answers.size(), expected.size());
      EXPECT_EQ(found.time, t);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(found.answers[i].node, data.ids.name(expected[i].node));
        EXPECT_EQ(found.answers[i].logit, expected[i].logit) << "at " << t;
      }
    }
  }
  const auto ranking = live.top("3", asked, 4, Question::kDestination, Seen::kIncluded,
                                /*explain=*/true);
  for (const LiveModel::Answer& answer : ranking.answers) {
    const NodeId node = predictor.find("3");
    const NodeId other = predictor.find(answer.node);
    const Explanation expected =
        predictor
            .explain({std::span(&node, 1), std::span(&other, 1), std::span(&t, 1)},
                     Question::kDestination)
            .front();
    ASSERT_TRUE(answer.why.has_value());
    EXPECT_EQ(answer.why->logit, answer.logit);
    EXPECT_EQ(to_json(*answer.why, answer.words),
              to_json(expected,
                      in_words(expected.facts, "3", answer.node, t, TimeUnit::of(data.events))));
  }
  // By number, as programs ask that keep them.
  const std::vector<NodeId> sources = {live.find("3", true), live.find("17", true)};
  EXPECT_EQ(live.names(sources), (std::vector<std::string>{"3", "17"}));
  for (const Seen seen : {Seen::kIncluded, Seen::kExcluded}) {
    const TopQuery query{.k = 7, .seen = seen};
    std::vector<std::vector<Prediction>> found;
    std::vector<std::vector<Prediction>> expected;
    live.top(sources, t, query,
             [&](NodeId, auto best) { found.emplace_back(best.begin(), best.end()); });
    predictor.top(sources, t, query,
                  [&](NodeId, auto best) { expected.emplace_back(best.begin(), best.end()); });
    EXPECT_EQ(found, expected) << "at " << t;
  }
  std::vector<std::string> src;
  std::vector<std::string> dst;
  std::vector<NodeId> u;
  std::vector<NodeId> v;
  for (NodeId node = 0; node < data.events.num_nodes; ++node) {
    u.push_back(node);
    v.push_back((node * 7 + 3) % data.events.num_nodes);
    src.push_back(data.ids.name(u.back()));
    dst.push_back(data.ids.name(v.back()));
  }
  const std::vector<Timestamp> times(u.size(), t);
  const auto scored = live.score(src, dst, asked, Question::kPair).logits;
  const auto expected = predictor.score({u, v, times}, Question::kPair);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(scored[i], expected[i]);
  EXPECT_EQ(live.score(u, v, t, Question::kPair), expected);
}

class EveryLiveModel : public ::testing::TestWithParam<std::string> {};

/// The same where the time may have been forgotten. Returns whether it has not.
bool expect_same_or_forgotten(const LiveModel& live, const Predictor& predictor, Timestamp t) {
  try {
    live.score({}, {}, t, Question::kPair);
  } catch (const Forgotten&) {
    return false;
  }
  expect_same_answers(live, predictor, t, t);
  return true;
}

/// Events in requests of any size, questions now, within the newest batch and long ago.
void follow(const std::string& model, const GivenOptions& options, bool features,
            const Keep& keep = {}) {
  const Dataset whole = whole_network(features);
  const Dataset base = whole.head({1100, whole.events.num_nodes});
  const TrainedModel made = trained(model, base, options);
  const StreamEvents events = what_follows(whole, 1100);
  LiveModel live(made, base, keep);
  Rng rng(9, Stream::kTest);
  std::int64_t asked_earlier = 0;
  std::int64_t done = 0;
  while (done < events.size()) {
    const auto count = static_cast<std::int64_t>(rng.below(170)) + 1;
    const std::int64_t end = std::min(events.size(), done + count);
    StreamEvents next = part(events, done, end);
    live.resolve(next);
    live.append(next);
    done = end;
    const Predictor predictor(made, grown(base, part(events, 0, done)), keep);
    const EventLog& log = predictor.dataset().events;
    const Timestamp now = std::nextafter(log.time.back(), -kNever);
    expect_same_answers(live, predictor, now, std::nullopt);
    expect_same_answers(live, predictor, now + 5, now + 5);
    for (const Timestamp t : {log.time.back(), log.time[log.size() - 30], log.time[700]}) {
      const bool answered = expect_same_or_forgotten(live, predictor, t);
      const EventId known = std::ranges::lower_bound(log.time, t) - log.time.begin();
      const auto kept_then = keep.first(known, log.time.span());
      const auto kept_now = keep.first(log.size(), log.time.span());
      if (kept_then < kept_now) {
        EXPECT_FALSE(answered);
      }
      // A memory replays only while nothing has been dropped.
      const bool in_batch = known >= log.size() / made.batch * made.batch;
      if (keep.everything() || (kept_then == kept_now && in_batch)) {
        EXPECT_TRUE(answered);
      }
      asked_earlier += answered ? 1 : 0;
    }
    EXPECT_EQ(live.position().events, log.size());
    EXPECT_EQ(live.kept(), log.size() - keep.first(log.size(), log.time.span()));
    ASSERT_FALSE(::testing::Test::HasFailure()) << done << " events";
  }
  EXPECT_GT(asked_earlier, 0);
  EXPECT_EQ(live.position().nodes, whole.events.num_nodes + 35);
}

TEST_P(EveryLiveModel, AnswersAsPredictDoesOnTheSameEvents) {
  follow(GetParam(), {{"epochs", "1"}}, /*features=*/false);
}

TEST_P(EveryLiveModel, AnswersTheSameWithFeatures) {
  follow(GetParam(), {{"epochs", "1"}}, /*features=*/true);
}

TEST_P(EveryLiveModel, ForgetsAsPredictDoes) {
  const Timestamp span = whole_network().events.time.back() - whole_network().events.time.front();
  for (const Keep& keep : {Keep{.events = 90}, Keep{.events = 400}, Keep{.age = span / 5}}) {
    follow(GetParam(), {{"epochs", "1"}}, /*features=*/true, keep);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryLiveModel,
                         ::testing::Values("light", "tgn", "jodie", "dysat"),
                         [](const auto& model) { return model.param; });

// There is room for 1,024 more events at first.
TEST(LiveModelTest, MoreEventsThanThereIsRoomFor) {
  const Dataset whole = whole_network(/*features=*/true);
  const Dataset base = whole.head({250, whole.events.num_nodes});
  const StreamEvents events = what_follows(whole, 250);
  ASSERT_GT(events.size(), 1024);
  const TrainedModel made = trained("tgn", base);
  for (const Keep& keep : {Keep{}, Keep{.events = 300}}) {
    LiveModel live(made, base, keep);
    if (keep.everything()) {  // makes a model for earlier times
      live.top("3", base.events.time[150], 5, Question::kDestination, Seen::kIncluded);
    }
    for (std::int64_t begin = 0; begin < events.size(); begin += 90) {
      live.append(part(events, begin, std::min(events.size(), begin + 90)));
      live.top("3", std::nullopt, 5, Question::kDestination, Seen::kIncluded);
    }
    const Predictor predictor(made, grown(base, events), keep);
    const EventLog& log = predictor.dataset().events;
    const Timestamp now = std::nextafter(log.time.back(), -kNever);
    expect_same_answers(live, predictor, now, std::nullopt);
    if (keep.everything()) {  // that model needs the room as well
      expect_same_answers(live, predictor, log.time[1390], log.time[1390]);
    }
  }
}

// A batch may be larger than the room that is left.
TEST(LiveModelTest, MoreEventsAtOnceThanThereIsRoomFor) {
  const Dataset whole = whole_network(/*features=*/true);
  const Dataset base = whole.head({300, whole.events.num_nodes});
  const StreamEvents events = what_follows(whole, 300);
  ASSERT_GT(events.size(), 1024);
  const TrainedModel made = trained("tgn", base, {{"epochs", "1"}, {"evaluation-batch", "5000"}});
  LiveModel live(made, base);
  live.append(events);
  const Predictor predictor(made, grown(base, events));
  const Timestamp now = std::nextafter(predictor.dataset().events.time.back(), -kNever);
  expect_same_answers(live, predictor, now, std::nullopt);
}

// Nodes that are numbers may be born in any order, those before them as well.
TEST(LiveModelTest, NodesWithNumbersFarUpAreBorn) {
  const Dataset whole = whole_network();
  const Dataset base = whole.head({400, whole.events.num_nodes});
  StreamEvents events = what_follows(whole, 400);
  const std::int64_t far = base.events.num_nodes + 2 * events.size() - 1;
  ASSERT_GT(far, 2000);
  events.dst.front() = std::to_string(far);
  for (const std::string model : {"light", "tgn", "jodie", "dysat"}) {
    const TrainedModel made = trained(model, base);
    LiveModel live(made, base);
    live.resolve(events);
    live.append(events);
    EXPECT_EQ(live.position().nodes, far + 1);
    const Predictor predictor(made, grown(base, events));
    const Timestamp now = std::nextafter(predictor.dataset().events.time.back(), -kNever);
    expect_same_answers(live, predictor, now, std::nullopt);
  }
}

TEST(LiveModelTest, ASketchOfWalksFollowsToo) {
  follow("light", {{"epochs", "1"}, {"decoder", "pair"}, {"walk", "on"}}, /*features=*/false);
}

// Asked before each event which of all destinations it will go to, a model without memory ranks
// them as a test of these events does.
TEST(LiveModelTest, RanksEachEventBeforeItComesAsEvalDoes) {
  const Dataset whole =
      generate({.nodes = 60, .events = 1500, .communities = 4, .seed = 5}, "network");
  constexpr EventId kFirst = 1100;
  const TrainedModel made =
      trained("light", whole.head({kFirst, whole.events.num_nodes}),
              {{"epochs", "1"}, {"decoder", "pair"}, {"miner", "curnm"}, {"outputs", "questions"}});
  const EventLog& log = whole.events;
  const Predictor predictor(made, whole);
  const std::vector<Period> periods = {
      {.from = log.time[kFirst], .to = log.time.back(), .begin = kFirst, .end = log.size()}};
  const auto test = backtest(log, predictor.past(), periods,
                             {.rank_among = log.num_nodes, .first_unseen = kFirst},
                             [&] { return predictor.scorer_after(kFirst); });
  LiveModel live(made, whole.head({kFirst, log.num_nodes}));
  const std::set<NodeId> destinations(log.dst.begin(), log.dst.end());
  double reciprocal = 0;
  for (EventId e = kFirst; e < log.size(); ++e) {
    std::vector<std::string> dst = {std::to_string(log.dst[e])};
    for (const NodeId v : destinations) {
      if (!predictor.past().pairs->occurs_at(log.src[e], v, log.time[e])) {
        dst.push_back(std::to_string(v));
      }
    }
    const std::vector<std::string> src(dst.size(), std::to_string(log.src[e]));
    const auto scored = live.score(src, dst, log.time[e], Question::kDestination);
    std::vector<float> logits;
    for (const std::optional<float>& logit : scored.logits) logits.push_back(logit.value());
    reciprocal += reciprocal_rank(logits.front(), std::span(logits).subspan(1));
    live.append({{src.front()}, {dst.front()}, {log.time[e]}});
  }
  EXPECT_EQ(reciprocal / static_cast<double>(log.size() - kFirst),
            test["periods"][0]["test"]["mrr"]["mrr"]);
}

TEST(LiveModelTest, ASnapshotContinuesWithTheSameBits) {
  for (const std::string model : {"light", "tgn"}) {
    const TemporaryFolder folder;
    const Dataset whole = whole_network(/*features=*/true);
    const Dataset base = whole.head({1100, whole.events.num_nodes});
    const TrainedModel made = trained(model, base);
    const StreamEvents events = what_follows(whole, 1100);
    LiveModel live(made, base);
    live.append(part(events, 0, 333));
    LiveSnapshot snapshot = live.snapshot();
    snapshot.sequence = 340;
    snapshot.late = 7;
    snapshot.write(folder.path() / "snapshot");
    LiveModel again(made, base);
    const LiveSnapshot read = again.restore(folder.path() / "snapshot");
    EXPECT_EQ(read.sequence, 340);
    EXPECT_EQ(read.late, 7);
    for (LiveModel* one : {&live, &again}) one->append(part(events, 333, events.size()));
    const Predictor predictor(made, grown(base, events));
    const Timestamp now = std::nextafter(predictor.dataset().events.time.back(), -kNever);
    expect_same_answers(live, predictor, now, std::nullopt);
    expect_same_answers(again, predictor, now, std::nullopt);
  }
}

TEST(LiveModelTest, ASnapshotKnowsWhatIsForgotten) {
  for (const std::string model : {"light", "tgn"}) {
    const TemporaryFolder folder;
    const Dataset whole = whole_network(/*features=*/true);
    const Dataset base = whole.head({1100, whole.events.num_nodes});
    const TrainedModel made = trained(model, base, {{"epochs", "1"}});
    const TrainedModel other = trained(model, base, {{"epochs", "1"}, {"seed", "1"}});
    const StreamEvents events = what_follows(whole, 1100);
    for (const std::int64_t count : {90, 400}) {  // events of the base are left, or none
      const Keep keep{.events = count};
      LiveModel live(made, base, keep);
      const std::int64_t first = events.size() - 40;  // nodes have been born by then
      live.append(part(events, 0, first));
      live.snapshot().write(folder.path() / "snapshot");
      EXPECT_EQ(live.events_from(0).has_value(), count == 400);
      LiveModel again(made, base, keep);
      again.restore(folder.path() / "snapshot");
      EXPECT_EQ(again.position().events, live.position().events);
      EXPECT_EQ(again.kept(), live.kept());
      LiveModel following(made, base, keep);
      following.catch_up(live);
      for (LiveModel* one : {&live, &again, &following}) {
        one->append(part(events, first, events.size()));
        const Predictor predictor(made, grown(base, events), keep);
        const Timestamp now = std::nextafter(predictor.dataset().events.time.back(), -kNever);
        expect_same_answers(*one, predictor, now, std::nullopt);
      }
      LiveModel keeps_more(made, base, {.events = 1000});
      EXPECT_THROW(keeps_more.restore(folder.path() / "snapshot"), UnusableRun);
      // Another memory would need what is forgotten; without one, what is left is enough.
      LiveModel exchanged(other, base, keep);
      if (model == "tgn") {
        EXPECT_THROW(exchanged.restore(folder.path() / "snapshot"), UnusableRun);
      } else {
        exchanged.restore(folder.path() / "snapshot");
        exchanged.append(part(events, first, events.size()));
        const Predictor predictor(other, grown(base, events), keep);
        const Timestamp now = std::nextafter(predictor.dataset().events.time.back(), -kNever);
        expect_same_answers(exchanged, predictor, now, std::nullopt);
      }
    }
  }
}

TEST(LiveModelTest, ReadersAndAWriterTogether) {
  const Dataset whole = whole_network();
  const Dataset base = whole.head({1100, whole.events.num_nodes});
  const TrainedModel made = trained("tgn", base);
  const StreamEvents events = what_follows(whole, 1100);
  LiveModel live(made, base);
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      while (!done) {
        const auto found =
            live.top(std::to_string(i), std::nullopt, 5, Question::kDestination, Seen::kIncluded);
        EXPECT_EQ(found.answers.size(), 5U);
        EXPECT_GT(live.node(std::to_string(i), 3).events, 0);
      }
    });
  }
  for (std::int64_t i = 0; i < events.size(); ++i) live.append(part(events, i, i + 1));
  done = true;
  for (std::thread& reader : readers) reader.join();
  const Predictor predictor(made, grown(base, events));
  expect_same_answers(live, predictor,
                      std::nextafter(predictor.dataset().events.time.back(), -kNever),
                      std::nullopt);
}

TEST(LiveModel, EventsOfAProgramAreCheckedBeforeAnyIsAppended) {
  const Dataset whole = whole_network(/*features=*/true);
  LiveModel live(trained("light", whole), whole);
  const Timestamp last = whole.events.time.back();
  using Names = std::vector<std::string>;
  const auto append = [&](const Names& src, const Names& dst, const std::vector<Timestamp>& time,
                          std::vector<float> features) {
    live.append(NewEvents{src, dst, time, {std::move(features), 3}});
  };
  EXPECT_TRUE(fails(
      [&] {
        append({"1", "2"}, {"3"}, {last, last}, {1, 2, 3, 4, 5, 6});
      },
      {"differ in length"}));
  EXPECT_TRUE(fails([&] { append({"1"}, {"2"}, {last}, {1, 2}); }, {"3 per event"}));
  EXPECT_TRUE(fails(
      [&] {
        append({"1", "2"}, {"2", "3"}, {last, last - 1}, {1, 2, 3, 4, 5, 6});
      },
      {"event 1501", "precedes"}));
  EXPECT_TRUE(fails(
      [&] {
        append({"1", "2"}, {"2", "x"}, {last, last}, {1, 2, 3, 4, 5, 6});
      },
      {"node 'x'"}));
  EXPECT_EQ(live.position().events, whole.events.size());
  append({"1", "60"}, {"60", "2"}, {last, last + 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(live.position().events, whole.events.size() + 2);
  EXPECT_EQ(live.position().nodes, 61);
  EXPECT_EQ(live.find("60", /*as_source=*/false), 60);
  EXPECT_EQ(live.find("61", /*as_source=*/false), kNoNode);
}

}  // namespace
}  // namespace curnm
