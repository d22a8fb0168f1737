#include "curnm/training/trainer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include "curnm/data/synthetic.h"
#include "curnm/evaluation/results.h"
#include "curnm/nn/tensors.h"
#include "curnm/prediction/replay.h"
#include "curnm/training/facts.h"
#include "support/errors.h"
#include "support/scoped_threads.h"
#include "support/temporary_folder.h"
#include "support/training.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;
using testing::fails;
using testing::quick;
using testing::session_of;
using testing::TemporaryFolder;
using testing::train;
using testing::trained_and_tested;

Dataset small_network(std::uint64_t seed = 0) {
  return generate({.nodes = 60, .events = 1500, .communities = 4, .seed = seed}, "small");
}

FeatureMatrix features(std::int64_t rows, std::int64_t width) {
  std::vector<float> values(static_cast<std::size_t>(rows * width));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  return {Column<float>(std::move(values)), width};
}

/// A trainer with its parts within reach.
struct Training {
  Training(const GivenOptions& given, const Dataset& dataset)
      : task(dataset, resolve_run(given).task),
        spec(completed(given, task)),
        trainer(task, make_learner(spec, task), spec.train) {}

  static RunSpec completed(const GivenOptions& given, const LinkTask& task) {
    RunSpec spec = resolve_run(given);
    complete(spec, task, nobody());
    return spec;
  }
  TensorFile checkpoint() const { return checkpoint_of(trainer, spec); }
  void resume(const TensorFile& checkpoint) { restore(checkpoint, spec, trainer); }
  TrainOutcome run() { return trainer.run(nobody()); }

  LinkTask task;
  RunSpec spec;
  Trainer trainer;
};

/// Asks to stop after a number of batches.
class StopAfter final : public TrainObserver {
 public:
  explicit StopAfter(std::int64_t batches) : left_(batches) {}
  void on_batch(std::int64_t, std::int64_t, std::int64_t) override { --left_; }
  bool stop_requested() override { return left_ <= 0; }

 private:
  std::int64_t left_;
};

// Hidden nodes are hidden from training, not from those who ask afterwards.
TEST(ReplayTest, KnowsTheEventsOfHiddenNodes) {
  Training training(quick("jodie", {{"epochs", "1"}}), small_network());
  const EventLog& log = training.task.log();
  const EventId end = training.task.split().first_validation;
  std::vector<EventId> last(static_cast<std::size_t>(log.num_nodes), kNoEvent);
  for (EventId e = 0; e < end; ++e) {
    for (NodeId node : {log.src[e], log.dst[e]}) last[static_cast<std::size_t>(node)] = e;
  }
  training.run();
  LinkModel& model = training.trainer.learner();
  const auto pending_mail = [&] {
    std::vector<EventId> events(last.size());
    copy_to(model.state()[2], std::span(events));
    return events;
  };
  training.trainer.restore_best();
  EXPECT_NE(pending_mail(), last) << "no node is hidden in this network: the test shows nothing";
  Replay replay(model, log, 200);
  replay.restart();
  replay.advance_to(end);
  EXPECT_EQ(pending_mail(), last);
}

TEST(ReplayTest, StopsOnTheWayChangeNothing) {
  Training training(quick("tgn"), small_network());
  LinkModel& model = training.trainer.learner();
  const EventLog& log = training.task.log();
  const auto state_at = [&](std::initializer_list<EventId> stops) {
    Replay replay(model, log, 200);
    replay.restart();
    for (const EventId stop : stops) replay.advance_to(stop);
    return model.state();
  };
  const std::vector<Tensor> at_once = state_at({777});
  const std::vector<Tensor> with_stops = state_at({3, 199, 200, 401, 650, 777});
  for (std::size_t i = 0; i < at_once.size(); ++i) {
    EXPECT_TRUE(at::equal(at_once[i], with_stops[i])) << i;
  }
}

class EveryModel : public ::testing::TestWithParam<std::string> {};
class EveryMiner : public ::testing::TestWithParam<std::string> {};

template <class Registry>
std::vector<std::string> names_of(const Registry& registry) {
  const std::vector<std::string_view> names = registry.names();
  return {names.begin(), names.end()};
}
INSTANTIATE_TEST_SUITE_P(All, EveryMiner, ::testing::ValuesIn(names_of(miners())),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::ValuesIn(names_of(models())),
                         [](const auto& test) { return test.param; });

/// Stopped after some batches, saved, loaded and continued: the same records and test figures.
void expect_resumes(const GivenOptions& given, std::initializer_list<std::int64_t> stops) {
  const Dataset network = small_network();
  TrainingSession whole = session_of(given, network);
  ASSERT_TRUE(whole.train(nobody()));
  const ordered_json expected = whole.test({.rank_among = 5});
  const TemporaryFolder folder;
  const RunFolder run(folder / "run");
  std::filesystem::create_directory(run.path());
  for (const std::int64_t batches : stops) {
    TrainingSession first = session_of(given, network);
    StopAfter stop(batches);
    ASSERT_FALSE(first.train(stop)) << batches;
    first.save_checkpoint(run);

    TrainingSession second = session_of(given, network);
    second.resume(run);
    ASSERT_TRUE(second.train(nobody()));
    EXPECT_EQ(second.test({.rank_among = 5}), expected)
        << "stopped after " << batches << " batches";
    ASSERT_EQ(second.records().size(), whole.records().size());
    for (std::size_t e = 0; e < whole.records().size(); ++e) {
      EXPECT_EQ(second.records()[e].losses, whole.records()[e].losses) << e;
      EXPECT_EQ(second.records()[e].mining, whole.records()[e].mining) << e;
    }
  }
}

TEST_P(EveryModel, ResumesToTheSameBits) { expect_resumes(quick(GetParam()), {1, 13, 30, 50}); }

// Scales that were fitted and the sketch of walks are restored, too.
TEST_P(EveryModel, ResumesToTheSameBitsWithThePairDecoder) {
  expect_resumes(quick(GetParam(), {{"decoder", "pair"}, {"walk", "on"}, {"miner", "mixture"}}),
                 {1, 13, 30, 50});
}

// Caches, histories of scores, curricula and drawn positives go on where they were.
TEST_P(EveryMiner, ResumesToTheSameBits) {
  GivenOptions given = quick("jodie", {{"epochs", "5"}, {"miner", GetParam()}});
  if (GetParam() == "curnm") {
    given["tau"] = "0.95";  // caching begins after one improvement
    TrainingSession session = session_of(given, small_network());
    train(session);
    ASSERT_EQ(session.records().back().mining.at("caching"), 1);
  }
  expect_resumes(given, {13, 40, 61, 84});
}

TEST(QuestionCurriculumTest, ResumesToTheSameBits) {
  expect_resumes(
      quick("light",
            {{"epochs", "5"}, {"decoder", "pair"}, {"miner", "curnm"}, {"outputs", "questions"}}),
      {13, 40, 61, 84});
}

TEST(QuestionCurriculumTest, RecordsWhatEachQuestionGains) {
  TrainingSession session = session_of(
      quick("light",
            {{"epochs", "3"}, {"decoder", "pair"}, {"miner", "curnm"}, {"outputs", "questions"}}),
      small_network());
  train(session);
  const std::vector<EpochRecord>& records = session.records();
  ASSERT_EQ(records.size(), 3U);
  EXPECT_FALSE(records[0].mining.contains("gain_pair"));
  for (std::size_t e = 1; e < records.size(); ++e) {
    for (const Question question : kQuestions) {
      const std::string protocol(name_of(protocol_of(question)));
      EXPECT_DOUBLE_EQ(records[e].mining.at(fmt::format("gain_{}", name_of(question))),
                       records[e].validation.at(protocol) - records[e - 1].validation.at(protocol));
    }
  }
}

// At full width, where products are large enough for more than one thread.
TEST_P(EveryModel, ThreadsDoNotMatterToTheBit) {
  Dataset network = small_network();
  network.node_features = features(network.events.num_nodes, 20);
  const auto run = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    TrainingSession session = session_of({{"model", GetParam()},
                                          {"miner", "curnm"},
                                          {"epochs", "2"},
                                          {"batch", "100"},
                                          {"learning-rate", "1e-3"},
                                          {"pi", "0.5"}},
                                         network);
    train(session);
    std::vector<ordered_json> epochs;
    for (const EpochRecord& record : session.records()) {
      epochs.push_back({record.losses, record.mining, record.validation_ap});
    }
    return std::pair(epochs, session.test());
  };
  const auto expected = run(1);
  EXPECT_EQ(run(2), expected);
  EXPECT_EQ(run(5), expected);
}

TEST_P(EveryModel, TestingTwiceGivesTheSameBits) {
  TrainingSession session = session_of(quick(GetParam(), {{"epochs", "1"}}), small_network());
  train(session);
  const ordered_json once = session.test({.rank_among = 5});
  EXPECT_EQ(session.test({.rank_among = 5}), once);
}

// The record has the MRR of the weights and the state at the end of its epoch: ranking among all
// destinations, drawn in another way, gives the same.
TEST_P(EveryModel, TheBestEpochMayBeChosenByMrr) {
  TrainingSession session = session_of(
      quick(GetParam(),
            {{"epochs", "4"}, {"select-on", "mrr"}, {"rank-among", "1000000"}, {"tolerance", "0"}}),
      small_network());
  train(session);
  const std::vector<EpochRecord>& records = session.records();
  const auto best = std::ranges::max_element(
      records, {}, [](const EpochRecord& record) { return record.validation_mrr.value(); });
  EXPECT_EQ(session.best_epoch(), best->epoch);
  EXPECT_EQ(best->selected(), *best->validation_mrr);
  EXPECT_GT(best->validation_ap, 0);
  const RankingNegatives all =
      draw_ranking_negatives(session.task(), RankedPart::kValidation, 1000, /*seed=*/0);
  const Ranking ranking = session.rank(all);
  EXPECT_NEAR(ranking.mrr, *best->validation_mrr, 1e-12);
  const Ranking tested =
      session.rank(draw_ranking_negatives(session.task(), RankedPart::kTest, 1000, /*seed=*/0));
  const ordered_json test = session.test({.rank_among = 1'000'000});
  EXPECT_NEAR(tested.mrr, test["test"]["mrr"]["mrr"].get<double>(), 1e-12);
  EXPECT_NEAR(tested.hits10, test["test"]["mrr"]["hits10"].get<double>(), 1e-12);
}

TEST(SelectOnMrrTest, NeedsARanking) {
  try {
    resolve_run({{"select-on", "mrr"}, {"rank-among", "0"}});
    ADD_FAILURE() << "no error";
  } catch (const OptionError& error) {
    EXPECT_EQ(error.kind(), OptionError::Kind::kConflict);
    EXPECT_EQ(error.option(), "rank-among");
    EXPECT_STREQ(error.what(),
                 "--select-on mrr needs a ranking, and --rank-among 0 switches it off");
  }
  EXPECT_FALSE(resolve_run({{"select-on", "random"}, {"rank-among", "0"}}).task.rank_among > 0);
}

double popularity_of(const Dataset& network) {
  return test_baseline(LinkTask(network), "popularity")["test"]["random"]["ap"];
}

// A network whose destinations follow the preferences of their sources: popularity knows nothing of
// a source, a model must do better by a clear margin. DySAT is the slowest to learn it: .647 to
// .684 over five seeds against .578; another kind of processor, which rounds differently, draws
// anew.
TEST_P(EveryModel, LearnsWhatPopularityCannotKnow) {
  SyntheticOptions drift = synthetic_presets().front().options;
  drift.nodes = 300;
  drift.events = 6000;
  const Dataset network = generate(drift, "drift");
  GivenOptions given = quick(GetParam(), {{"epochs", "32"}, {"width", "32"}});
  if (given.contains("time-width")) given["time-width"] = "16";
  if (given.contains("neighbors")) given["neighbors"] = "8";
  if (GetParam() == "light") given["decoder"] = "pair";  // it knows nothing of neighbours itself
  const double learned = trained_and_tested(given, network)["test"]["random"]["ap"];
  EXPECT_GT(learned, popularity_of(network) + 0.03);
}

/// The same times and sources with destinations drawn at random: there is nothing to learn.
TEST_P(EveryModel, LearnsNothingWhereThereIsNothing) {
  Dataset network = small_network();
  Rng rng(1, Stream::kTest);
  std::vector<NodeId> dst(network.events.dst.begin(), network.events.dst.end());
  std::vector<NodeId> distinct = dst;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (NodeId& v : dst) v = distinct[rng.below(distinct.size())];
  network.events.dst = std::move(dst);
  // 225 test events: the AP of noise has a standard deviation of about 0.03.
  EXPECT_NEAR(
      trained_and_tested(quick(GetParam(), {{"epochs", "4"}}), network)["test"]["random"]["ap"]
          .get<double>(),
      0.5, 0.1);
}

TEST_P(EveryMiner, LearnsWhatPopularityCannotKnow) {
  const Dataset network =
      generate({.nodes = 200, .events = 4000, .communities = 4, .edge_features = 8}, "communities");
  const double learned = trained_and_tested(
      quick("jodie", {{"epochs", "12"}, {"miner", GetParam()}}), network)["test"]["random"]["ap"];
  const double popular = popularity_of(network);
  if (GetParam() == "recent") {
    // All its negatives are former partners: it learns to avoid the community that a source likes.
    EXPECT_LT(learned, popular);
  } else {
    EXPECT_GT(learned, popular + 0.05);
  }
}

TEST(BatchBoundariesTest, CoverTheEventsOnceAllShiftedAlike) {
  std::set<std::int64_t> shifts;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const std::vector<std::int64_t> bounds =
        batch_boundaries(103, 10, Rng(1, Stream::kTest, 0, draw));
    ASSERT_EQ(bounds.front(), 0);
    ASSERT_EQ(bounds.back(), 103);
    ASSERT_TRUE(bounds[1] >= 1 && bounds[1] <= 10) << bounds[1];
    shifts.insert(bounds[1]);
    for (std::size_t i = 2; i + 1 < bounds.size(); ++i) EXPECT_EQ(bounds[i] - bounds[i - 1], 10);
    const std::int64_t last = bounds.back() - bounds[bounds.size() - 2];
    EXPECT_TRUE(last >= 1 && last <= 10) << last;
  }
  EXPECT_EQ(shifts.size(), 10U) << "every shift occurs";
}

TEST(BatchBoundariesTest, FewEvents) {
  for (std::uint64_t draw = 0; draw < 50; ++draw) {
    EXPECT_EQ(batch_boundaries(1, 10, Rng(1, Stream::kTest, 0, draw)),
              (std::vector<std::int64_t>{0, 1}));
    EXPECT_EQ(batch_boundaries(3, 1, Rng(1, Stream::kTest, 0, draw)),
              (std::vector<std::int64_t>{0, 1, 2, 3}));
  }
}

TEST(TrainerTest, StopsEarlyAndKeepsTheBest) {
  Training training(
      quick("jodie",
            {{"epochs", "100"}, {"patience", "2"}, {"tolerance", "1"}}),  // nothing ever doubles
      small_network());
  EXPECT_EQ(training.run(), TrainOutcome::kStoppedEarly);
  EXPECT_EQ(training.trainer.early_stopping().best_epoch(), 0);
  EXPECT_EQ(training.trainer.records().size(), 3U);
}

TEST(TrainerTest, WeightDecayHoldsTheNormOfTheParametersDown) {
  const auto norm = [&](const char* decay) {
    Training training(
        quick("jodie", {{"epochs", "1"}, {"miner", "curnm"}, {"weight-decay", decay}}),
        small_network());
    training.run();
    double sum = 0;
    for (const Tensor& parameter : training.trainer.learner().model->parameters()) {
      sum += parameter.square().sum().item<double>();
    }
    return sum;
  };
  EXPECT_LT(norm("1"), 0.95 * norm("0"));
}

TEST(TrainerTest, TheHookSeesGradientsBeforeTheyAreUsed) {
  Training training(quick("tgn", {{"epochs", "1"}}), small_network());
  std::int64_t calls = 0;
  training.trainer.step().before_update = [&](Learner& learner) {
    ++calls;
    for (const Tensor& parameter : learner.model->parameters()) {
      if (parameter.grad().defined()) parameter.mutable_grad().zero_();
    }
    for (const Tensor& parameter : learner.decoder->parameters()) {
      parameter.mutable_grad().zero_();
    }
  };
  std::vector<Tensor> before;
  for (const Tensor& p : training.trainer.learner().model->parameters())
    before.push_back(p.clone());
  training.run();
  EXPECT_EQ(calls, std::ssize(batch_boundaries(training.task, training.spec.train, 0)) - 1);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::equal(before[i], training.trainer.learner().model->parameters()[i]))
        << "zeroed gradients move nothing";
  }
}

TEST(TrainerTest, ACheckpointIsComparedWithTheRun) {
  Training training(quick("tgn"), small_network());
  TensorFile checkpoint = training.checkpoint();
  auto& options = checkpoint.document["options"];
  EXPECT_FALSE(options["miner"].contains("plateau")) << "random has none";
  options["model"]["width"] = 7;
  EXPECT_TRUE(fails([&] { training.resume(checkpoint); }, {"written with width 7, and not"}));
  options["model"]["width"] = 16;
  options["miner"].erase("corrupt");  // as of a program that did not have it
  EXPECT_TRUE(fails<UnusableRun>([&] { training.resume(checkpoint); },
                                 {"older program without --corrupt"}));
}

TEST(TrainerTest, ALossThatIsNotANumberStopsTheRunWithAdvice) {
  Dataset network = small_network();
  std::vector<float> values(static_cast<std::size_t>(network.events.size()), 1);
  values[700] = std::numeric_limits<float>::quiet_NaN();
  network.edge_features = {std::move(values), 1};
  for (const char* path : {"fast", "plain"}) {
    for (const char* miner : {"random", "curnm"}) {
      TrainingSession session =
          session_of(quick("tgn", {{"path", path}, {"miner", miner}}), network);
      EXPECT_TRUE(fails([&] { train(session); }, {"the loss became", "--learning-rate"}))
          << path << miner;
    }
  }
}

TEST(TrainerTest, AScoreThatIsNotANumberStopsTheRun) {
  Dataset network = small_network();
  std::vector<float> values(static_cast<std::size_t>(network.events.size()), 1);
  // A message of a validation event, which later ones see.
  values[static_cast<std::size_t>(0.8 * static_cast<double>(values.size()))] =
      std::numeric_limits<float>::quiet_NaN();
  network.edge_features = {std::move(values), 1};
  for (const char* miner : {"random", "curnm"}) {
    TrainingSession session = session_of(quick("tgn", {{"miner", miner}}), network);
    EXPECT_TRUE(fails([&] { train(session); }, {"the score of a link", "is nan"})) << miner;
  }
}

// The paths round differently, so their trainings drift apart, but not far.
TEST_P(EveryModel, BothPathsLearnTheSame) {
  std::map<std::string, double> ap;
  for (const char* path : {"fast", "plain"}) {
    ap[path] = trained_and_tested(
        quick(GetParam(),
              {{"epochs", "5"}, {"path", path}, {"miner", "curnm"}, {"learning-rate", "1e-4"}}),
        small_network())["test"]["trans"]["ap"];
  }
  EXPECT_NEAR(ap["fast"], ap["plain"], 1e-3);
}

// More threads than cores, a width that is no multiple of any vector, batches of a single event.
TEST_P(EveryModel, ThreadsDoNotMatterToTheBitAtOddSizes) {
  const Dataset network = generate({.nodes = 40, .events = 300, .communities = 4}, "tiny");
  GivenOptions given = quick(GetParam(), {{"epochs", "1"},
                                          {"batch", "1"},
                                          {"miner", "curnm"},
                                          {"learning-rate", "1e-4"},
                                          {"width", "13"}});
  if (given.contains("time-width")) given["time-width"] = "7";
  testing::give_where_known(given, "heads", "1");
  const auto run = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    TrainingSession session = session_of(given, network);
    train(session);
    const EpochRecord& record = session.records().front();
    return std::tuple(record.validation_ap, record.losses, record.mining);
  };
  EXPECT_EQ(run(1), run(5));
}

TEST(CheckpointTest, DamageIsFound) {
  const Training training(quick("jodie", {{"epochs", "1"}}), small_network());
  const TemporaryFolder folder;
  save_checkpoint(training.checkpoint(), folder / "checkpoint");
  std::ifstream in(folder / "checkpoint", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  for (std::size_t at : {std::size_t{0}, std::size_t{30}, bytes.size() / 2, bytes.size() - 1}) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_TRUE(fails([&] { load_checkpoint(folder.write("flipped", flipped)); }, {"flipped"}))
        << at;
    EXPECT_TRUE(fails([&] { load_checkpoint(folder.write("cut", bytes.substr(0, at))); }, {"cut"}))
        << at;
  }
  std::string older = bytes;
  older.replace(older.find(" 4\n"), 3, " 3\n");
  EXPECT_TRUE(fails<UnusableRun>([&] { load_checkpoint(folder.write("older", older)); },
                                 {"another version of curnm"}));
}

TEST(CheckpointTest, OfAnotherDataSetIsRefused) {
  const GivenOptions given = quick("jodie", {{"epochs", "1"}});
  const Training training(given, small_network(0));
  Training stranger(given, small_network(1));
  EXPECT_TRUE(fails([&] { stranger.resume(training.checkpoint()); }, {"another data set"}));
}

TEST(CheckpointTest, WithOtherOptionsIsRefused) {
  const Training training(quick("jodie", {{"epochs", "1"}}), small_network());
  Training wider(quick("jodie", {{"epochs", "1"}, {"width", "20"}}), small_network());
  EXPECT_TRUE(
      fails([&] { wider.resume(training.checkpoint()); }, {"written with width 16, and not 20"}));
  Training longer(quick("jodie", {{"epochs", "2"}}), small_network());
  EXPECT_NO_THROW(longer.resume(training.checkpoint())) << "a run may be extended";
  EXPECT_TRUE(fails(
      [&] {
        Training(quick("jodie", {{"epochs", "1"}}), small_network()).resume(longer.checkpoint());
      },
      {"epochs 2, and not 1"}));
}

TEST(CheckpointTest, OfAnotherShapeIsRefused) {
  const auto narrow = make_decoder("additive", decoders().at("additive").defaults, {.width = 4});
  const auto wide = make_decoder("additive", decoders().at("additive").defaults, {.width = 5});
  TensorFile checkpoint;
  checkpoint.put("decoder", *narrow);
  EXPECT_TRUE(fails([&] { checkpoint.restore("decoder", *wide); }, {"do not fit the model"}));
}

/// Checkpoints whose contents are impossible, although nobody can tell by the digest.
class ForgedCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(ForgedCheckpoint, IsRefused) {
  GivenOptions given = quick("jodie", {{"miner", GetParam()}, {"epochs", "2"}});
  if (given["miner"] == "curnm") given.insert({{"pi", "0.5"}, {"tau", "0.9"}});
  Training training(given, small_network());
  training.run();
  const TensorFile good = training.checkpoint();
  Training(given, small_network()).resume(good);
  const auto refuses = [&](const std::string& what, const auto& change) {
    TensorFile forged = good;
    for (auto& [name, tensor] : forged.tensors) tensor = tensor.clone();
    change(forged);
    Training fresh(given, small_network());
    EXPECT_TRUE(fails<UnusableRun>([&] { fresh.resume(forged); }, {})) << what;
  };
  const auto refuses_value = [&](const char* key, const ordered_json& value) {
    refuses(fmt::format("{} {}", key, value.dump()),
            [&](TensorFile& forged) { forged.document[key] = value; });
  };
  refuses_value("epoch", -1e9);
  refuses_value("epoch", -1'000'000'000);
  refuses_value("epoch", 3);
  refuses_value("epoch", 1);  // with two records
  refuses_value("batch", -1);
  refuses_value("batch", std::int64_t{1} << 62);
  refuses_value("best_epoch", 2);
  refuses_value("best_epoch", -2);
  refuses_value("best_metric", nullptr);
  refuses_value("records", 7);
  refuses_value("lists", {{"state", 1'000'000'000}});
  refuses_value("losses", {{"a", {0.5, 0}}});
  refuses_value("best", ordered_json::object());
  for (const auto& [name, tensor] : good.tensors) {
    refuses("without " + name, [&](TensorFile& forged) { forged.tensors.erase(name); });
    refuses("another shape of " + name, [&](TensorFile& forged) {
      forged.tensors[name] = at::zeros({7, 3, 2});
    });
  }
  refuses("events out of range",
          [](TensorFile& forged) { forged.tensors.at("state/2").fill_(-2); });
  if (given["miner"] == "curnm") {
    ASSERT_TRUE(good.tensors.contains("miner_state/2"));
    refuses("nodes out of range",
            [](TensorFile& forged) { forged.tensors.at("miner_state/2").fill_(1'000'000); });
    refuses("pi", [](TensorFile& forged) { forged.tensors.at("miner_state/0").fill_(7); });
    refuses("counters", [](TensorFile& forged) { forged.tensors.at("miner_state/1").fill_(-1); });
  }
}
INSTANTIATE_TEST_SUITE_P(Miners, ForgedCheckpoint, ::testing::Values("random", "curnm", "taser"));

}  // namespace
}  // namespace curnm
