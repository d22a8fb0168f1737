#include "curnm/training/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include "curnm/data/synthetic.h"
#include "curnm/evaluation/baselines.h"
#include "curnm/nn/tensors.h"
#include "curnm/training/run.h"
#include "support/errors.h"
#include "support/scoped_threads.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::fails;
using testing::TemporaryFolder;

Dataset small_network(std::uint64_t seed = 0) {
  return generate({.nodes = 60, .events = 1500, .communities = 4, .seed = seed}, "small");
}

FeatureMatrix features(std::int64_t rows, std::int64_t width) {
  std::vector<float> values(static_cast<std::size_t>(rows * width));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  return {Column<float>(std::move(values)), width};
}

constexpr ModelOptions kSmall{.width = 16, .time_width = 8, .neighbors = 4};

TrainOptions quick(std::string_view model, std::int64_t epochs = 3) {
  return {.model = std::string(model), .epochs = epochs, .batch = 50, .learning_rate = 1e-3};
}

/// Asks to stop after a number of batches.
class StopAfter final : public TrainObserver {
 public:
  explicit StopAfter(std::int64_t batches) : left_(batches) {}
  void on_batch(std::int64_t, std::int64_t, std::int64_t) override { --left_; }
  bool stop_requested() override { return left_ <= 0; }

 private:
  std::int64_t left_;
};

// Hidden nodes are hidden from training, not from who asks afterwards.
TEST(TrainerTest, WhoAsksLaterKnowsTheEventsOfHiddenNodes) {
  const LinkTask task(small_network());
  const EventLog& log = task.log();
  const EventId end = task.split().first_validation;
  std::vector<EventId> last(static_cast<std::size_t>(log.num_nodes), kNoEvent);
  for (EventId e = 0; e < end; ++e) {
    for (NodeId node : {log.src[static_cast<std::size_t>(e)], log.dst[static_cast<std::size_t>(e)]})
      last[static_cast<std::size_t>(node)] = e;
  }
  Trainer trainer(task, quick("jodie", /*epochs=*/1), kSmall);
  TrainObserver nobody;
  trainer.run(nobody);
  const auto pending_mail = [&] {
    std::vector<EventId> events(last.size());
    copy_to(trainer.model().state()[2], std::span(events));
    return events;
  };
  trainer.restore_best();
  EXPECT_NE(pending_mail(), last) << "no node is hidden in this network: the test shows nothing";
  trainer.start_over();
  trainer.advance_to(end);
  EXPECT_EQ(pending_mail(), last);
}

class EveryModel : public ::testing::TestWithParam<std::string_view> {};

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : models()) names.push_back(entry.name);
  return names;
}

// Stopped at any batch, saved, loaded and continued: the same test figures to the bit.
TEST_P(EveryModel, ResumesToTheSameBits) {
  const LinkTask task(small_network());
  TrainObserver nobody;
  Trainer whole(task, quick(GetParam()), kSmall);
  ASSERT_EQ(whole.run(nobody), TrainOutcome::kFinished);
  const auto expected = test_run(whole, {.mrr_negatives = 5});

  const TemporaryFolder folder;
  for (const std::int64_t batches : {1, 13, 30, 50}) {
    Trainer first(task, quick(GetParam()), kSmall);
    StopAfter stop(batches);
    ASSERT_EQ(first.run(stop), TrainOutcome::kInterrupted) << batches;
    save_checkpoint(first.checkpoint(), folder / "checkpoint");

    Trainer second(task, quick(GetParam()), kSmall);
    second.resume(load_checkpoint(folder / "checkpoint"));
    ASSERT_EQ(second.run(nobody), TrainOutcome::kFinished);
    EXPECT_EQ(test_run(second, {.mrr_negatives = 5}), expected)
        << "stopped after " << batches << " batches";
    ASSERT_EQ(second.records().size(), whole.records().size());
    for (std::size_t e = 0; e < whole.records().size(); ++e) {
      EXPECT_EQ(second.records()[e].losses, whole.records()[e].losses) << e;
    }
  }
}

// At full width, where products are large enough for more than one thread.
TEST_P(EveryModel, ThreadsDoNotMatterToTheBit) {
  Dataset network = small_network();
  network.node_features = features(network.events.num_nodes, 20);
  const LinkTask task(std::move(network));
  TrainObserver nobody;
  TrainOptions options = quick(GetParam(), /*epochs=*/2);
  options.miner = "curnm";
  options.batch = 100;
  const auto run = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    Trainer trainer(task, options, {}, {.curnm = {.pi = 0.5}});
    trainer.run(nobody);
    std::vector<nlohmann::ordered_json> epochs;
    for (const EpochRecord& record : trainer.records()) {
      epochs.push_back({record.losses, record.mining, record.validation_ap});
    }
    return std::pair(epochs, test_run(trainer, {}));
  };
  const auto expected = run(1);
  EXPECT_EQ(run(2), expected);
  EXPECT_EQ(run(5), expected);
}

TEST_P(EveryModel, TestingTwiceGivesTheSameBits) {
  const LinkTask task(small_network());
  TrainObserver nobody;
  Trainer trainer(task, quick(GetParam(), 1), kSmall);
  trainer.run(nobody);
  const auto once = test_run(trainer, {.mrr_negatives = 5});
  EXPECT_EQ(test_run(trainer, {.mrr_negatives = 5}), once);
}

// A network whose destinations follow the preferences of their sources: popularity knows nothing of
// a source, a model must do better by a clear margin.
TEST_P(EveryModel, LearnsWhatPopularityCannotKnow) {
  SyntheticOptions drift = synthetic_presets().front().options;
  drift.nodes = 300;
  drift.events = 6000;
  const LinkTask task(generate(drift, "drift"));
  TrainObserver nobody;
  Trainer trainer(task, quick(GetParam(), 8), {.width = 32, .time_width = 16, .neighbors = 8});
  trainer.run(nobody);
  const double learned = test_run(trainer)["test"]["random"]["ap"];
  const double popular = test_baseline(task, "popularity")["test"]["random"]["ap"];
  EXPECT_GT(learned, popular + 0.05);
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
  const LinkTask task(std::move(network));
  TrainObserver nobody;
  Trainer trainer(task, quick(GetParam(), 4), kSmall);
  trainer.run(nobody);
  // 225 test events: the AP of noise has a standard deviation of about 0.03.
  EXPECT_NEAR(test_run(trainer)["test"]["random"]["ap"].get<double>(), 0.5, 0.1);
}

class EveryMiner : public ::testing::TestWithParam<std::string_view> {};

// Caches, histories of scores, curricula and drawn positives go on where they were.
TEST_P(EveryMiner, ResumesToTheSameBits) {
  const LinkTask task(small_network());
  TrainOptions options = quick("jodie", 5);
  options.miner = GetParam();
  MinerOptions mining;
  mining.curnm.tau = 0.95;  // caching begins after one improvement
  TrainObserver nobody;
  Trainer whole(task, options, kSmall, mining);
  ASSERT_EQ(whole.run(nobody), TrainOutcome::kFinished);
  if (GetParam() == "curnm") {
    ASSERT_EQ(whole.records().back().mining.at("caching"), 1);
  }
  const auto expected = test_run(whole);
  for (const std::int64_t batches : {13, 40, 61, 84}) {
    Trainer first(task, options, kSmall, mining);
    StopAfter stop(batches);
    ASSERT_EQ(first.run(stop), TrainOutcome::kInterrupted) << batches;
    Trainer second(task, options, kSmall, mining);
    second.resume(first.checkpoint());
    ASSERT_EQ(second.run(nobody), TrainOutcome::kFinished);
    EXPECT_EQ(test_run(second), expected) << "stopped after " << batches << " batches";
    for (std::size_t e = 0; e < whole.records().size(); ++e) {
      EXPECT_EQ(second.records()[e].losses, whole.records()[e].losses) << e;
      EXPECT_EQ(second.records()[e].mining, whole.records()[e].mining) << e;
    }
  }
}

TEST_P(EveryMiner, LearnsWhatPopularityCannotKnow) {
  const LinkTask task(generate({.nodes = 200, .events = 4000, .communities = 4, .edge_features = 8},
                               "communities"));
  TrainOptions options = quick("jodie", 12);
  options.miner = GetParam();
  TrainObserver nobody;
  Trainer trainer(task, options, kSmall);
  trainer.run(nobody);
  const double learned = test_run(trainer)["test"]["random"]["ap"];
  const double popular = test_baseline(task, "popularity")["test"]["random"]["ap"];
  if (GetParam() == "recent") {
    // All its negatives are former partners: it learns to avoid the community that a source likes.
    EXPECT_LT(learned, popular);
  } else {
    EXPECT_GT(learned, popular + 0.05);
  }
}

std::vector<std::string_view> miner_names() {
  std::vector<std::string_view> names;
  for (const MinerEntry& entry : miners()) names.push_back(entry.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, EveryMiner, ::testing::ValuesIn(miner_names()),
                         [](const auto& test) { return std::string(test.param); });

INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::ValuesIn(model_names()),
                         [](const auto& test) { return std::string(test.param); });

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
  const LinkTask task(small_network());
  TrainOptions options = quick("jodie", 100);
  options.patience = 2;
  options.tolerance = 1;  // nothing ever doubles: the first epoch stays the best
  TrainObserver nobody;
  Trainer trainer(task, options, kSmall);
  EXPECT_EQ(trainer.run(nobody), TrainOutcome::kStoppedEarly);
  EXPECT_EQ(trainer.best_epoch(), 0);
  EXPECT_EQ(trainer.records().size(), 3U);
}

// mu |Theta|² is no part of the graph: the optimiser must be told of it.
TEST(TrainerTest, TheNormOfTheParametersIsHeldDown) {
  const LinkTask task(small_network());
  const auto norm = [&](double mu) {
    MinerOptions miner;
    miner.curnm.mu = mu;
    TrainOptions options = quick("jodie", /*epochs=*/1);
    options.miner = "curnm";
    Trainer trainer(task, options, kSmall, miner);
    TrainObserver nobody;
    trainer.run(nobody);
    double sum = 0;
    for (const torch::Tensor& parameter : trainer.model().parameters()) {
      sum += parameter.square().sum().item<double>();
    }
    return sum;
  };
  EXPECT_LT(norm(1), 0.95 * norm(0));
}

TEST(TrainerTest, SkippedBatchesAreSeenAndNotLearnedFrom) {
  const LinkTask task(small_network());
  Trainer trainer(task, quick("tgn"), kSmall);
  const std::vector<torch::Tensor> before = trainer.model().state();
  std::vector<torch::Tensor> parameters;
  for (const torch::Tensor& p : trainer.model().parameters()) parameters.push_back(p.clone());
  trainer.skip(trainer.batches() - 2);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(torch::equal(parameters[i], trainer.model().parameters()[i]));
  }
  bool changed = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    changed = changed || !torch::equal(before[i], trainer.model().state()[i]);
  }
  EXPECT_TRUE(changed) << "memory";
  StopAfter stop(2);
  EXPECT_EQ(trainer.run(stop), TrainOutcome::kInterrupted);
  EXPECT_EQ(trainer.records().size(), 1U) << "two batches were left of the first epoch";
}

TEST(TrainerTest, OptionsOfACheckpointAreComparedWhereTheyMatter) {
  const LinkTask task(small_network());
  Trainer trainer(task, quick("tgn"), kSmall);
  Checkpoint checkpoint = trainer.checkpoint();
  auto& options = checkpoint.document["options"];
  EXPECT_FALSE(options["miner"].contains("plateau")) << "random has none";
  options["miner"]["plateau"] = "raise";  // as of an older program, which named all
  options["miner"].erase("corrupt");      // and did not have this one
  trainer.resume(checkpoint);
  options["model"]["width"] = 7;
  EXPECT_TRUE(fails([&] { trainer.resume(checkpoint); }, {"written with width 7, and not"}));
}

TEST(TrainerTest, ALossThatIsNoNumberStopsTheRunWithAdvice) {
  Dataset network = small_network();
  std::vector<float> features(static_cast<std::size_t>(network.events.size()), 1);
  features[700] = std::numeric_limits<float>::quiet_NaN();
  network.edge_features = {std::move(features), 1};
  const LinkTask task(std::move(network));
  TrainObserver nobody;
  for (const char* path : {"fast", "plain"}) {
    for (const char* miner : {"random", "curnm"}) {
      TrainOptions options = quick("tgn");
      options.path = path;
      options.miner = miner;
      Trainer trainer(task, options, kSmall);
      EXPECT_TRUE(fails([&] { trainer.run(nobody); }, {"the loss became", "--learning-rate"}))
          << path << miner;
    }
  }
}

TEST(TrainerTest, AScoreThatIsNoNumberStopsTheRun) {
  Dataset network = small_network();
  std::vector<float> features(static_cast<std::size_t>(network.events.size()), 1);
  // A message of a validation event, which later ones see.
  features[static_cast<std::size_t>(0.8 * static_cast<double>(features.size()))] =
      std::numeric_limits<float>::quiet_NaN();
  network.edge_features = {std::move(features), 1};
  const LinkTask task(std::move(network));
  TrainObserver nobody;
  for (const char* miner : {"random", "curnm"}) {
    TrainOptions options = quick("tgn");
    options.miner = miner;
    Trainer trainer(task, options, kSmall);
    EXPECT_TRUE(fails([&] { trainer.run(nobody); }, {"the score of a link", "is nan"})) << miner;
  }
}

// The paths round differently, so their trainings drift apart, but not far.
TEST_P(EveryModel, BothPathsLearnTheSame) {
  const LinkTask task(small_network());
  TrainObserver nobody;
  std::map<std::string, double> ap;
  for (const char* path : {"fast", "plain"}) {
    TrainOptions options = quick(GetParam(), 5);
    options.path = path;
    options.miner = "curnm";
    options.learning_rate = 1e-4;
    Trainer trainer(task, options, kSmall);
    trainer.run(nobody);
    ap[path] = test_run(trainer)["test"]["trans"]["ap"];
  }
  EXPECT_NEAR(ap["fast"], ap["plain"], 1e-3);
}

// More threads than cores, a width that is no multiple of any vector, batches of a single event.
TEST_P(EveryModel, ThreadsDoNotMatterToTheBitAtOddSizes) {
  const LinkTask task(generate({.nodes = 40, .events = 300, .communities = 4}, "tiny"));
  TrainObserver nobody;
  const auto run = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    TrainOptions options = quick(GetParam(), 1);
    options.batch = 1;
    options.miner = "curnm";
    options.learning_rate = 1e-4;
    ModelOptions odd = kSmall;
    odd.width = 13;
    odd.heads = 1;
    odd.time_width = 7;
    Trainer trainer(task, options, odd);
    trainer.run(nobody);
    const EpochRecord& record = trainer.records().front();
    return std::tuple(record.validation_ap, record.losses, record.mining);
  };
  EXPECT_EQ(run(1), run(5));
}

TEST(CheckpointTest, DamageIsFound) {
  const LinkTask task(small_network());
  Trainer trainer(task, quick("jodie", 1), kSmall);
  const TemporaryFolder folder;
  save_checkpoint(trainer.checkpoint(), folder / "checkpoint");
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
}

TEST(CheckpointTest, OfAnotherDataSetIsRefused) {
  const LinkTask task(small_network(0));
  const LinkTask other(small_network(1));
  Trainer trainer(task, quick("jodie", 1), kSmall);
  Trainer stranger(other, quick("jodie", 1), kSmall);
  EXPECT_TRUE(fails([&] { stranger.resume(trainer.checkpoint()); }, {"another data set"}));
}

TEST(CheckpointTest, WithOtherOptionsIsRefused) {
  const LinkTask task(small_network());
  Trainer trainer(task, quick("jodie", 1), kSmall);
  Trainer wider(task, quick("jodie", 1), {.width = 20, .time_width = 8});
  EXPECT_TRUE(
      fails([&] { wider.resume(trainer.checkpoint()); }, {"written with width 16, and not 20"}));
  Trainer longer(task, quick("jodie", 2), kSmall);
  EXPECT_TRUE(fails([&] { longer.resume(trainer.checkpoint()); }, {"epochs 1, and not 2"}));
}

TEST(CheckpointTest, OfAnotherShapeIsRefused) {
  EdgeDecoder narrow(4);
  EdgeDecoder wide(5);
  Checkpoint checkpoint;
  checkpoint.put("decoder", narrow);
  EXPECT_TRUE(fails([&] { checkpoint.restore("decoder", wide); }, {"does not fit the model"}));
}

}  // namespace
}  // namespace curnm
