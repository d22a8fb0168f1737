#include "curnm/prediction/predictor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <set>
#include <thread>

#include "curnm/base/interrupt.h"
#include "curnm/data/synthetic.h"
#include "curnm/models/registry.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/training.h"

namespace curnm {
namespace {

using testing::fails;
using testing::quick;
using testing::TemporaryFolder;

Dataset network(std::int64_t events = 1500) {
  Dataset whole = generate(
      {.nodes = 60, .events = 1500, .communities = 4, .one_mode = true, .seed = 5}, "network");
  return events == whole.events.size() ? whole : whole.head({events, whole.events.num_nodes});
}

TrainedModel trained(const std::string& model, const Dataset& dataset,
                     const GivenOptions& more = {}) {
  GivenOptions given = more;
  given.emplace("epochs", "1");
  TrainingSession session = testing::session_of(quick(model, given), dataset);
  testing::train(session);
  return session.trained_model();
}

/// A decoder that knows pairs, walks and questions.
const GivenOptions kPairDecoder = {
    {"decoder", "pair"}, {"walk", "on"}, {"miner", "curnm"}, {"outputs", "questions"}};

struct Questions {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  Pairs pairs() const { return {src, dst, time}; }
};
/// Some in the past, some after the last event, in no order.
Questions some_questions(const Dataset& dataset) {
  Questions questions;
  Rng rng(1, Stream::kTest);
  const auto nodes = static_cast<std::uint64_t>(dataset.events.num_nodes);
  for (int i = 0; i < 60; ++i) {
    questions.src.push_back(static_cast<NodeId>(rng.below(nodes)));
    questions.dst.push_back(static_cast<NodeId>(rng.below(nodes)));
    const Timestamp last = dataset.events.time.back();
    questions.time.push_back(i % 3 == 0 ? last + 1 : last * rng.uniform());
  }
  return questions;
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

// The state that is saved is the one that a replay of all events comes to.
TEST_P(EveryModel, AnswersFromTheSavedStateAsFromAReplay) {
  const Dataset dataset = network();
  TrainedModel model = trained(GetParam(), dataset);
  ASSERT_EQ(model.state_events, 1400) << "whole batches of 200";
  const Questions questions = some_questions(dataset);
  const std::vector<float> saved = Predictor(model, dataset).score(questions.pairs());
  model.state_events = 0;
  EXPECT_EQ(Predictor(model, dataset).score(questions.pairs()), saved);
}

TEST_P(EveryModel, AFileHasAllThatAnAnswerNeeds) {
  const Dataset dataset = network();
  const TrainedModel model = trained(GetParam(), dataset);
  const TemporaryFolder folder;
  save_model(model, folder / "model");
  ASSERT_TRUE(is_model_file(folder / "model"));
  const TrainedModel loaded = load_model(folder / "model");
  const Questions questions = some_questions(dataset);
  EXPECT_EQ(Predictor(loaded, dataset).score(questions.pairs()),
            Predictor(model, dataset).score(questions.pairs()));
}

TEST_P(EveryModel, ThreadsMayAskAtOnce) {
  const Dataset dataset = network();
  const Predictor predictor(trained(GetParam(), dataset), dataset);
  const Questions questions = some_questions(dataset);
  const std::vector<float> expected =
      Predictor(predictor.model(), dataset).score(questions.pairs());
  std::vector<std::vector<float>> answers(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    threads.emplace_back([&, i] { answers[i] = predictor.score(questions.pairs()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& answer : answers) EXPECT_EQ(answer, expected);
}

// What comes later changes no answer, and what has come is known.
TEST_P(EveryModel, KnowsWhatHasHappenedSince) {
  const Dataset before = network(1200);
  const Dataset grown = network(1500);
  const TrainedModel model = trained(GetParam(), before);
  const Predictor early(model, before);
  const Predictor late(model, grown);
  Questions questions = some_questions(before);
  for (Timestamp& t : questions.time) t = std::min(t, before.events.time.back());
  EXPECT_EQ(late.score(questions.pairs()), early.score(questions.pairs()));
  for (Timestamp& t : questions.time) t = grown.events.time.back() + 1;
  EXPECT_NE(late.score(questions.pairs()), early.score(questions.pairs()));
}

INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::Values("tgn", "jodie", "dysat"),
                         [](const auto& test) { return test.param; });

std::vector<NodeId> everyone(const Dataset& dataset) {
  std::vector<NodeId> nodes(index(dataset.events.num_nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

// Many sources at once get what each gets alone, whatever is asked and whoever else asks.
class Batches : public ::testing::TestWithParam<std::string> {
 protected:
  Batches()
      : predictor_(
            trained(GetParam(), dataset_, GetParam() == "light" ? kPairDecoder : GivenOptions{}),
            dataset_) {}

  std::vector<std::vector<Prediction>> ask(std::span<const NodeId> sources, Timestamp t,
                                           const TopQuery& query) const {
    std::vector<std::vector<Prediction>> answers;
    predictor_.top(sources, t, query, [&](NodeId src, std::span<const Prediction> best) {
      EXPECT_EQ(src, sources[answers.size()]);
      answers.emplace_back(best.begin(), best.end());
    });
    EXPECT_EQ(answers.size(), sources.size());
    return answers;
  }
  /// By scoring every allowed pair, in an order of its own, and sorting.
  std::vector<Prediction> slowly(NodeId src, Timestamp t, const TopQuery& query) const {
    const EventLog& log = dataset_.events;
    std::set<NodeId> chosen;
    std::set<NodeId> partners;
    std::set<NodeId> all;
    for (EventId e = 0; e < log.size() && log.time[e] < t; ++e) {
      all.insert({log.src[e], log.dst[e]});
      if (log.src[e] == src) chosen.insert(log.dst[e]);
      if (log.src[e] == src) partners.insert(log.dst[e]);
      if (log.dst[e] == src) partners.insert(log.src[e]);
    }
    if (query.candidates) all = {query.candidates->begin(), query.candidates->end()};
    all.erase(src);
    std::vector<NodeId> dst;
    for (const NodeId node : all) {
      if (query.seen == Seen::kExcluded && chosen.contains(node)) continue;
      if (query.among == Among::kPartners && !partners.contains(node)) continue;
      dst.insert(dst.begin(), node);
    }
    const std::vector<NodeId> sources(dst.size(), src);
    const std::vector<Timestamp> times(dst.size(), t);
    const std::vector<float> logits = predictor_.score({sources, dst, times}, query.question);
    std::vector<Prediction> found;
    for (std::size_t i = 0; i < dst.size(); ++i) found.push_back({dst[i], logits[i]});
    std::ranges::sort(found, [](const Prediction& a, const Prediction& b) {
      return std::pair(-a.logit, a.node) < std::pair(-b.logit, b.node);
    });
    found.resize(std::min(found.size(), static_cast<std::size_t>(query.k)));
    return found;
  }

  Dataset dataset_ = network();
  Predictor predictor_;
};

TEST_P(Batches, EqualSingleQuestionsToTheBit) {
  const Timestamp last = dataset_.events.time.back();
  const std::vector<NodeId> all = everyone(dataset_);
  for (const Timestamp t : {last + 1, last / 2}) {
    for (const Question question : {Question::kDestination, Question::kPartner}) {
      const TopQuery query{.k = 7, .question = question};
      const auto answers = ask(all, t, query);
      for (const NodeId src : all) {
        EXPECT_EQ(answers[index(src)], predictor_.top(src, t, 7, question)) << src;
        EXPECT_EQ(answers[index(src)], slowly(src, t, query)) << src;
      }
    }
  }
  const std::vector<NodeId> few = {41, 3, 41};
  const auto of_few = ask(few, last + 1, {.k = 1000});
  const auto of_all = ask(all, last + 1, {.k = 1000});
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(of_few[i], of_all[index(few[i])]);
}

TEST_P(Batches, ChooseAmongWhatIsAllowed) {
  const std::vector<NodeId> all = everyone(dataset_);
  const std::vector<NodeId> some = {50, 2, 3, 17, 2, 59};
  for (const Timestamp t : {dataset_.events.time.back() + 1, dataset_.events.time[30]}) {
    for (const Seen seen : {Seen::kIncluded, Seen::kExcluded}) {
      for (const Among among : {Among::kAll, Among::kPartners}) {
        for (const bool restricted : {false, true}) {
          TopQuery query{.k = 5, .seen = seen, .among = among};
          if (restricted) query.candidates = some;
          const auto answers = ask(all, t, query);
          for (const NodeId src : all) {
            EXPECT_EQ(answers[index(src)], slowly(src, t, query)) << src;
          }
        }
      }
    }
  }
  EXPECT_TRUE(fails([&] { ask(all, 0, {}); }, {"nothing has happened before time 0"}));
}

INSTANTIATE_TEST_SUITE_P(All, Batches, ::testing::Values("light", "tgn", "jodie", "dysat"),
                         [](const auto& test) { return test.param; });

// Blocks hold thousands of links and sources. Here a source has more choices than a block holds
// links, and then there are more sources without a choice than it holds.
TEST(PredictorTest, BlocksMayEndAnywhere) {
  const Dataset dataset = generate(
      {.nodes = 12000, .events = 30000, .communities = 4, .one_mode = true, .seed = 5}, "network");
  const Predictor predictor(trained("light", dataset, {{"decoder", "pair"}}), dataset);
  const Timestamp t = dataset.events.time.back() + 1;
  const std::vector<NodeId> sources = {5, 11000, 7};
  ASSERT_GT(predictor.choices(5, t).size(), 8192U);
  std::size_t next = 0;
  predictor.top(sources, t, {.k = 20}, [&](NodeId src, std::span<const Prediction> best) {
    EXPECT_EQ(src, sources[next++]);
    const std::vector<NodeId> dst = predictor.choices(src, t);
    const std::vector<NodeId> from(dst.size(), src);
    const std::vector<Timestamp> times(dst.size(), t);
    std::vector<float> logits = predictor.score({from, dst, times}, Question::kDestination);
    std::ranges::sort(logits, std::greater());
    ASSERT_EQ(best.size(), 20U);
    for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].logit, logits[i]);
  });
  const std::vector<NodeId> all = predictor.sources(t);
  const TopQuery nothing{.candidates = std::vector<NodeId>()};
  next = 0;
  predictor.top(all, t, nothing, [&](NodeId src, std::span<const Prediction> best) {
    EXPECT_EQ(src, all[next++]);
    EXPECT_TRUE(best.empty());
  });
  EXPECT_EQ(next, all.size());
}

TEST(PredictorTest, SourcesAreThoseThatHaveActed) {
  for (const bool one_mode : {false, true}) {
    const Dataset dataset = generate(
        {.nodes = 60, .events = 600, .communities = 4, .one_mode = one_mode, .seed = 5}, "network");
    const Predictor predictor(trained("light", dataset), dataset);
    const EventLog& log = dataset.events;
    std::set<NodeId> acted;
    for (EventId e = 0; log.time[e] < log.time[50]; ++e) {
      acted.insert(log.src[e]);
      if (one_mode) acted.insert(log.dst[e]);
    }
    const std::vector<NodeId> sources = predictor.sources(log.time[50]);
    EXPECT_EQ(sources, std::vector<NodeId>(acted.begin(), acted.end()));
  }
}

TEST(PredictorTest, TheLikeliestComeFirstAndAreScoredAsPairs) {
  const Dataset dataset = network();
  const Predictor predictor(trained("jodie", dataset), dataset);
  const Timestamp t = dataset.events.time.back() + 1;
  const std::vector<Prediction> top = predictor.top(3, t, 10);
  ASSERT_EQ(top.size(), 10U);
  for (std::size_t i = 1; i < top.size(); ++i) EXPECT_GE(top[i - 1].logit, top[i].logit);
  for (const Prediction& found : top) {
    const std::vector<NodeId> src = {3};
    const std::vector<NodeId> dst = {found.node};
    const std::vector<Timestamp> time = {t};
    EXPECT_EQ(predictor.score({src, dst, time}, Question::kDestination)[0], found.logit);
    EXPECT_NE(found.node, 3) << "nobody meets himself in this network";
  }
  EXPECT_TRUE(fails([&] { predictor.top(3, 0, 10); }, {"nothing has happened before time 0"}));
}

TEST(PredictorTest, OnlyWhatHasBeenSeenMayBePredicted) {
  const Dataset dataset = network();
  const Predictor predictor(trained("jodie", dataset), dataset);
  const EventLog& log = dataset.events;
  for (const EventId e : {EventId{5}, EventId{40}, log.size() - 1}) {
    std::set<NodeId> seen;
    for (EventId before = 0; before < log.size() && log.time[before] < log.time[e]; ++before) {
      seen.insert({log.src[before], log.dst[before]});
    }
    seen.erase(7);
    const std::vector<NodeId> choices = predictor.choices(7, log.time[e]);
    EXPECT_EQ(std::set<NodeId>(choices.begin(), choices.end()), seen) << e;
  }
}

TEST(PredictorTest, WhatHasBeenChosenMayBeLeftOut) {
  const Dataset dataset = network();
  const Predictor predictor(trained("jodie", dataset), dataset);
  const EventLog& log = dataset.events;
  const Timestamp t = log.time[log.size() / 2];
  std::set<NodeId> expected;
  for (const NodeId node : predictor.choices(7, t)) expected.insert(node);
  for (EventId e = 0; log.time[e] < t; ++e) {
    if (log.src[e] == 7) expected.erase(log.dst[e]);
  }
  const std::vector<NodeId> choices = predictor.choices(7, t, Seen::kExcluded);
  EXPECT_EQ(std::set<NodeId>(choices.begin(), choices.end()), expected);
}

TEST(PredictorTest, WhatIsNotKeptIsNotChosenAndNotLookedUp) {
  const Dataset dataset = network();
  const EventLog& log = dataset.events;
  for (const std::string model : {"light", "tgn"}) {
    const TrainedModel made = trained(model, dataset, kPairDecoder);
    const Keep keep{.events = 100};
    const Predictor predictor(made, dataset, keep);
    const Predictor with_all(made, dataset);
    for (const EventId known : {500, 733, 1500}) {
      const Timestamp t = known < log.size() ? log.time[known] : log.time.back() + 1;
      const EventId before = std::ranges::lower_bound(log.time, t) - log.time.begin();
      std::set<NodeId> allowed;
      for (EventId e = keep.first(before, log.time.span()); e < before; ++e) {
        allowed.insert({log.src[e], log.dst[e]});
      }
      allowed.erase(NodeId{3});
      const std::vector<NodeId> chosen = predictor.choices(3, t);
      EXPECT_EQ(std::set<NodeId>(chosen.begin(), chosen.end()), allowed);
      EXPECT_LT(chosen.size(), with_all.choices(3, t).size());
    }
    const Questions questions = some_questions(dataset);
    EXPECT_NE(predictor.score(questions.pairs()), with_all.score(questions.pairs()));
    const Predictor keeps_all(made, dataset, {.events = 1500});
    EXPECT_EQ(keeps_all.score(questions.pairs()), with_all.score(questions.pairs()));
  }
}

// A test asks for many times at once, whose pasts begin at different events.
TEST(PredictorTest, AScorerKeepsWhatSingleQuestionsDo) {
  const Dataset dataset = network();
  const EventLog& log = dataset.events;
  const TrainedModel made = trained("light", dataset, {{"decoder", "pair"}});
  for (const Keep& keep : {Keep{.events = 60}, Keep{.age = log.time.back() / 20}}) {
    const Predictor predictor(made, dataset, keep);
    Questions questions;
    for (EventId e = 600; e < 900; e += 2) {  // the other way around, too, and in no order
      const EventId shuffled = 600 + (e * 7) % 300;
      questions.src.push_back(log.src[shuffled]);
      questions.dst.push_back(log.dst[e]);
      questions.time.push_back(log.time[shuffled]);
    }
    const auto scorer = predictor.scorer_after(600);
    const Scores scores = scorer->score(questions.pairs(), log.time[600]);
    EXPECT_EQ(scores.of(Question::kPair), predictor.score(questions.pairs(), Question::kPair));
  }
}

TEST(PredictorTest, LongCallsCanBeInterrupted) {
  const Dataset dataset = network();
  const Predictor predictor(trained("jodie", dataset), dataset);
  struct Interrupted {};
  interrupt_check = [] { throw Interrupted(); };
  const Questions questions = some_questions(dataset);
  EXPECT_THROW(predictor.score(questions.pairs()), Interrupted);
  interrupt_check = nullptr;
  EXPECT_NO_THROW(predictor.score(questions.pairs()));
}

TEST(PredictorTest, AnotherNetworkIsRefused) {
  const TrainedModel model = trained("jodie", network());
  EXPECT_TRUE(fails<UnusableRun>([&] { Predictor(model, network(1000)); },
                                 {"not the network that this model was trained on"}));
  const Predictor predictor(model, network());
  EXPECT_TRUE(fails([&] { predictor.find("6o"); }, {"node '6o' is not in the network"}));
}

TEST(ModelFileTest, DamageAndOtherVersionsAreFound) {
  const TemporaryFolder folder;
  save_model(trained("jodie", network()), folder / "model");
  std::ifstream in(folder / "model", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  for (std::size_t at : {std::size_t{40}, bytes.size() / 2, bytes.size() - 1}) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_TRUE(fails<UnusableRun>([&] { load_model(folder.write("flipped", flipped)); },
                                   {"flipped is damaged", "export it from its run again"}));
    EXPECT_TRUE(fails<UnusableRun>([&] { load_model(folder.write("cut", bytes.substr(0, at))); },
                                   {"cut is damaged"}));
  }
  std::string newer = bytes;
  newer.replace(newer.find(" 3\n"), 3, " 9\n");
  EXPECT_TRUE(fails<UnusableRun>([&] { load_model(folder.write("newer", newer)); },
                                 {"another version of curnm"}));
  EXPECT_TRUE(fails<UnusableRun>([&] { load_model(folder.write("text", "src,dst,time\n")); },
                                 {"is not a curnm model"}));
  EXPECT_TRUE(fails([&] { load_model(folder / "none"); }, {"none"}));
}

TEST(ModelFileTest, ForgedContentsAreRefused) {
  const TemporaryFolder folder;
  const Dataset dataset = network();
  save_model(trained("jodie", dataset), folder / "model");
  constexpr TensorFileKind kKind{.name = "model", .version = 3, .remedy = ""};
  const TensorFile good = load_tensors(kKind, folder / "model");
  const auto refuses = [&](const std::string& what, const auto& change) {
    TensorFile forged = good;
    for (auto& [name, tensor] : forged.tensors) tensor = tensor.clone();
    change(forged);
    save_tensors(forged, kKind, folder / "forged");
    EXPECT_TRUE(fails<UnusableRun>(
        [&] {
          const Predictor predictor(load_model(folder / "forged"), dataset);
          predictor.top(3, 1e12, 3);
        },
        {}))
        << what;
  };
  const auto refuses_value = [&](const char* key, const nlohmann::ordered_json& value) {
    refuses(key + (" " + value.dump()), [&](TensorFile& forged) { forged.document[key] = value; });
  };
  for (const char* key : {"events", "nodes", "batch", "outputs", "state_events", "edge_features"}) {
    refuses_value(key, -1);
    refuses_value(key, 1e300);
    refuses_value(key, "many");
  }
  refuses_value("events", std::int64_t{1} << 32);
  refuses_value("nodes", 3);
  refuses_value("batch", 0);
  refuses_value("state_events", std::int64_t{1} << 32);
  refuses_value("first_time", nullptr);
  refuses_value("device", "nonsense");
  refuses_value("model", "nonsense");
  refuses_value("model_options", nlohmann::ordered_json::array());
  refuses_value("lists", {{"state", 2}});
  for (const auto& [name, tensor] : good.tensors) {
    if (tensor.numel() == 0) continue;
    refuses("without " + name, [&](TensorFile& forged) { forged.tensors.erase(name); });
    refuses("another shape of " + name, [&](TensorFile& forged) {
      forged.tensors[name] = at::zeros({7, 3, 2});
    });
  }
  refuses("events out of range",
          [](TensorFile& forged) { forged.tensors.at("state/2").fill_(-2); });
}

// DySAT gives nodes random inputs, and its weights belong to those that they were trained on.
TEST(PredictorTest, AWarmStartWithAnotherSeedKeepsTheInputsOfItsWeights) {
  const Dataset dataset = network();
  const auto first =
      std::make_shared<const TrainedModel>(trained("dysat", dataset, {{"seed", "1"}}));
  const GivenOptions given = {{"miner", "random"}, {"epochs", "1"}, {"learning-rate", "1e-9"}};
  TrainingSession session(resolve_run(given, first), dataset);
  testing::train(session);
  const TrainedModel second = session.trained_model();
  EXPECT_EQ(second.seed, 0U);

  const TemporaryFolder folder;
  save_model(second, folder.path() / "model");
  const Predictor before(*first, dataset);
  const Predictor after(load_model(folder.path() / "model"), dataset);
  // Few nodes have so many neighbours that some are drawn, which depends on the seed.
  const Timestamp early = dataset.events.time[60];
  const std::vector<NodeId> src(20, 3);
  std::vector<NodeId> dst(20);
  std::iota(dst.begin(), dst.end(), 0);
  const std::vector<Timestamp> times(20, early);
  const auto expected = before.score({src, dst, times}, Question::kDestination);
  const auto found = after.score({src, dst, times}, Question::kDestination);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4);
}

}  // namespace
}  // namespace curnm
