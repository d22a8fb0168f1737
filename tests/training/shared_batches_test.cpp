#include "curnm/training/shared_batches.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "curnm/data/synthetic.h"
#include "curnm/training/ranks.h"
#include "support/decoders.h"
#include "support/mining.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"
#include "support/temporary_folder.h"
#include "support/thread_group.h"
#include "support/training.h"

// Ranks that share batches learn what one rank would from the whole batch.

namespace curnm {
namespace {

using nlohmann::ordered_json;
using testing::MiningNetwork;
using testing::MiningRun;
using testing::on_ranks;
using testing::options_of;
using testing::random_log;
using testing::ScopedThreads;

TEST(SharedBatchesTest, PartsMakeUpTheBatchInItsOrder) {
  const MiningNetwork network(random_log(1));
  on_ranks(3, [&](Group& group) {
    const SharedBatches shared(group);
    const EventBatch batch = network.batch(10, 21);
    std::int64_t next = 0;
    for (int rank = 0; rank < 3; ++rank) {
      const EventBatch part = shared.part_of(batch, rank);
      EXPECT_TRUE(part.is_part());
      EXPECT_EQ(part.offset, next);
      EXPECT_EQ(part.first, batch.first + next);
      EXPECT_EQ(part.whole_size(), 11);
      EXPECT_EQ(part.whole_time().data(), batch.time.data());
      next += part.size();
    }
    EXPECT_EQ(next, batch.size());
    EXPECT_FALSE(shared.part_of(network.batch(10, 12)).is_part()) << "too small to be shared";
  });
}

TEST(SharedBatchesTest, JoinsListsInTheOrderOfRanks) {
  on_ranks(3, [](Group& group) {
    const auto rank = static_cast<float>(group.rank());
    // Rank 1 has nothing in the second list.
    std::vector<float> second(group.rank() == 1 ? 0U : 2U, 10 + rank);
    const auto joined = SharedBatches(group).join({{rank, rank + 0.5F}, second});
    EXPECT_EQ(joined[0].values, (std::vector<float>{0, 0.5F, 1, 1.5F, 2, 2.5F}));
    EXPECT_EQ(joined[0].begin, 2U * static_cast<std::size_t>(group.rank()));
    EXPECT_EQ(joined[1].values, (std::vector<float>{10, 10, 12, 12}));
    EXPECT_EQ(joined[1].begin, group.rank() == 0 ? 0U : 2U);
  });
}

struct Case {
  std::string miner;
  std::string model;
  std::string decoder;
  GivenOptions given = {};  // to the miner

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    out << c.miner << " with " << c.model << " and " << c.decoder;
    for (const auto& [name, value] : c.given) out << " --" << name << " " << value;
    return out;
  }
};

std::vector<Case> cases() {
  testing::bilinear();
  std::vector<Case> all;
  for (const MinerEntry& miner : miners()) {
    for (const ModelEntry& model : models()) {
      for (const DecoderEntry& decoder : decoders()) {
        all.push_back({miner.name, model.name, decoder.name});
      }
    }
  }
  const auto add = [&](const char* miner, const GivenOptions& given) {
    all.push_back({miner, "tgn", "additive", given});
    all.push_back({miner, "light", "pair", given});
  };
  add("random", {{"corrupt", "half"}});
  add("ens", {{"ens-pairing", "batch"}});
  add("mixture", {{"outputs", "questions"}});
  add("curnm", {{"outputs", "questions"}});
  add("curnm", {{"outputs", "questions"}, {"budget", "0.3"}});
  // Fewer are selected than there are ranks in some batches.
  add("curnm", {{"pi", "0.01"}, {"pi-min", "0.001"}});
  add("curnm", {{"pi", "1"}});
  add("curnm", {{"select", "row"}});
  add("curnm", {{"contrast-gradient", "gates"}, {"contrast", "raw"}});
  add("curnm", {{"closeness", "probabilities"}});
  for (const char* part : {"random", "cache", "disentangle", "temporal"}) {
    add("curnm", {{"ablate", part}});
  }
  return all;
}

/// All parts of a miner act from the first epoch on.
Options everything_on(const Case& chosen) {
  GivenOptions given = chosen.given;
  given.insert({{"negatives", "3"}, {"pi-strategy", "constant"}, {"pi", "0.5"}, {"tau", "0.99"}});
  given.insert({{"alpha-max", "5"}, {"alpha-epochs", "1"}, {"outputs", "single"}});
  return options_of(miners(), chosen.miner, given);
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.defined() ? tensor.clone() : tensor);
  return all;
}

/// What a step of one rank computes.
struct Step {
  std::vector<Tensor> gradients;
  std::map<std::string, double> losses;
  std::map<std::string, double> measures;
};

struct Training {
  std::vector<std::vector<Step>> epochs;
  std::vector<Tensor> memory;  // of the miner, then the state of the stream
};

constexpr std::int64_t kEpochs = 2;

/// Calls `learn(epoch, index)` for each batch of a training, and `share()` after each epoch.
template <class Learn, class Share>
void train(MiningRun& run, const Learn& learn, const Share& share) {
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    run.begin_epoch(epoch);
    for (std::int64_t index = 0; index < run.batches(); ++index) learn(epoch, index);
    share();
    run.miner().end_epoch({.metric = 0.5});
  }
}

std::vector<Tensor> memory_of(MiningRun& run, std::int64_t events) {
  std::vector<Tensor> memory = run.miner().memory_of(0, events);
  const std::vector<Tensor> state = run.learner().state();
  memory.insert(memory.end(), state.begin(), state.end());
  return memory;
}

std::vector<Tensor> gradients_of(const Learner& learner) {
  std::vector<Tensor> all;
  for (const Tensor& parameter : parameters_of(learner)) all.push_back(parameter.grad());
  return copies(all);
}

class SharedTraining : public ::testing::TestWithParam<Case> {
 protected:
  const MiningNetwork network_{random_log(1, {.nodes = 30, .events = 122, .distinct_times = 50})};

  MiningRun run() const {
    return {network_, GetParam().model, GetParam().miner, everything_on(GetParam()),
            GetParam().decoder};
  }

  /// What one rank learns from whole batches.
  Training alone() const {
    const ScopedThreads single(1);
    MiningRun run = this->run();
    Training training;
    training.epochs.resize(kEpochs);
    train(
        run,
        [&](std::int64_t epoch, std::int64_t index) {
          Step step;
          run.training_step().before_update = [&](Learner& learner) {
            step.gradients = gradients_of(learner);
          };
          const Mined mined = run.step(epoch, index);
          step.losses = mined.losses;
          step.measures = mined.measures;
          training.epochs[static_cast<std::size_t>(epoch)].push_back(std::move(step));
        },
        [] {});
    training.memory = memory_of(run, network_.log.size());
    return training;
  }

  /// The same on one of several ranks, which takes each step with the gradients that one rank had:
  /// so differences of rounding do not grow.
  void compare(Group& group, const Training& expected) const {
    const ScopedThreads single(1);
    MiningRun run = this->run();
    const SharedBatches shared(group);
    GradientExchange exchange(group, parameters_of(run.learner()), group.size());
    run.training_step().shared = &shared;
    run.training_step().exchange = &exchange;
    const auto learn = [&](std::int64_t epoch, std::int64_t index) {
      const Step& one =
          expected.epochs[static_cast<std::size_t>(epoch)][static_cast<std::size_t>(index)];
      run.training_step().before_update = [&](Learner& learner) {
        expect_gradients(gradients_of(learner), one.gradients);
        std::vector<Tensor> parameters = parameters_of(learner);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          parameters[i].mutable_grad() = one.gradients[i];
        }
      };
      const Mined mined = run.step(epoch, index);
      expect_values(mined.losses, one.losses);
      expect_values(mined.measures, one.measures);
    };
    train(run, learn, [&] {
      Ranks(&group, group.size()).share(run.miner(), [&](int rank) {
        std::vector<Stretch> learned;
        for (std::int64_t index = 0; index < run.batches(); ++index) {
          const EventBatch part = shared.part_of(run.batch(index), rank);
          learned.push_back({part.first, part.first + part.size()});
        }
        return learned;
      });
    });
    const std::vector<Tensor> memory = memory_of(run, network_.log.size());
    ASSERT_EQ(memory.size(), expected.memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
      EXPECT_TRUE(at::allclose(memory[i].to(at::kDouble), expected.memory[i].to(at::kDouble),
                               /*rtol=*/1e-4, /*atol=*/1e-5, /*equal_nan=*/true))
          << "memory " << i;
    }
  }

 private:
  /// Each entry to 1e-5 of the largest of the step, or to 2e-6: the terms of a loss have gradients
  /// that add up to about 1 in size, and cancel in biases.
  static void expect_gradients(const std::vector<Tensor>& found,
                               const std::vector<Tensor>& expected) {
    double largest = 0;
    for (const Tensor& gradient : expected) {
      if (gradient.defined()) largest = std::max(largest, gradient.abs().max().item<double>());
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Tensor of_one = expected[i].defined() ? expected[i] : at::zeros_like(found[i]);
      EXPECT_LE((found[i] - of_one).abs().max().item<double>(), std::max(1e-5 * largest, 2e-6))
          << "parameter " << i;
    }
  }
  static void expect_values(const std::map<std::string, double>& found,
                            const std::map<std::string, double>& expected) {
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [name, value] : expected) {
      EXPECT_NEAR(found.at(name), value, 1e-5 * std::max(1.0, std::abs(value))) << name;
    }
  }
};

TEST_P(SharedTraining, HasTheGradientsOfOneRank) {
  const Training expected = alone();
  for (const int ranks : {2, 3}) {
    on_ranks(ranks, [&](Group& group) { compare(group, expected); });
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharedTraining, ::testing::ValuesIn(cases()));

/// Ranks whose shared batches diverge stop together.
TEST(SharedBatchesTest, ALossThatDivergesOnOneRankStopsAll) {
  const MiningNetwork network(random_log(1, {.nodes = 30, .events = 80, .distinct_times = 50}));
  on_ranks(2, [&](Group& group) {
    const ScopedThreads single(1);
    MiningRun run(network, "tgn", "curnm", miners().at("curnm").defaults);
    const SharedBatches shared(group);
    GradientExchange exchange(group, parameters_of(run.learner()), 2);
    run.training_step().shared = &shared;
    run.training_step().exchange = &exchange;
    run.begin_epoch(0);
    if (group.rank() == 1) {
      const NoGradGuard no_grad;
      for (Tensor& weight : run.decoder().parameters()) weight.fill_(NAN);
    }
    try {
      run.step(0, 0);
      ADD_FAILURE() << "rank " << group.rank() << " goes on";
    } catch (const DivergedLoss& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("the loss on rank 1 became"))
          << error.what();
      EXPECT_EQ(std::isnan(error.loss()), true);
    }
  });
}

Dataset small_network() {
  return generate({.nodes = 60, .events = 1500, .communities = 4, .seed = 0}, "small");
}

/// Trains on ranks that share batches by `batch_ranks`; `each` sees the session of each at its end.
void on_sessions(int ranks, int batch_ranks, const GivenOptions& given, const Dataset& dataset,
                 const std::function<void(TrainingSession&)>& each) {
  on_ranks(ranks, [&](Group& group) {
    const ScopedThreads single(1);
    RunSpec spec = resolve_run(given);
    spec.batch_ranks = batch_ranks;
    TrainingSession session(std::move(spec), dataset, nobody(), &group);
    testing::train(session);
    each(session);
  });
}

TEST(DividedEvaluationTest, HasTheBitsOfOneRank) {
  const Dataset dataset = small_network();
  const TestRequest request{.rank_among = 10};
  struct Setting {
    const char* model;
    const char* decoder;
    int batch_ranks;
  };
  // Without a state of the stream, and with one that all ranks have.
  for (const auto& [model, decoder, batch_ranks] :
       {Setting{"light", "pair", 1}, Setting{"tgn", "additive", 3}}) {
    const testing::TemporaryFolder folder;
    const RunFolder run(folder.path());
    const GivenOptions given =
        testing::quick(model, {{"decoder", decoder}, {"epochs", "2"}, {"select-on", "mrr"}});
    std::vector<ordered_json> found(3);
    std::atomic<std::size_t> next = 0;
    std::vector<EpochRecord> records;
    on_sessions(3, batch_ranks, given, dataset, [&](TrainingSession& session) {
      session.save_checkpoint(run);
      ASSERT_TRUE(session.test_together(true));
      found[next++] = session.test(request);
      if (session.is_first()) records = session.records();
    });
    TrainingSession one(resolve_run(given), dataset);
    one.resume(run);
    const ordered_json expected = one.test(request);
    for (const ordered_json& of_rank : found) EXPECT_EQ(of_rank, expected) << model;
    EXPECT_GT(records.at(1).validation_mrr.value(), 0);
  }
}

TEST(DividedEvaluationTest, IsNotForRanksWhoseMemoriesDiffer) {
  on_sessions(2, /*batch_ranks=*/1, testing::quick("tgn", {{"epochs", "1"}}), small_network(),
              [](TrainingSession& session) { EXPECT_FALSE(session.test_together(true)); });
}

TEST(DividedEvaluationTest, IsForAllRanksOrNone) {
  std::atomic<int> asked = 0;
  on_sessions(2, /*batch_ranks=*/2, testing::quick("light", {{"epochs", "1"}}), small_network(),
              [&](TrainingSession& session) {
                EXPECT_FALSE(session.test_together(/*mine=*/asked++ == 0));
              });
}

TEST(SharedBatchesTest, TeamsOfRanksLearnWhatSoManyRanksWould) {
  const Dataset dataset = small_network();
  const GivenOptions half = testing::quick("tgn", {{"epochs", "2"}, {"batch", "20"}});
  const GivenOptions whole = testing::quick("tgn", {{"epochs", "2"}, {"batch", "40"}});
  const auto records_of = [&](int ranks, int batch_ranks, const GivenOptions& given) {
    std::vector<EpochRecord> records;
    on_sessions(ranks, batch_ranks, given, dataset, [&](TrainingSession& session) {
      if (session.is_first()) records = session.records();
    });
    return records;
  };
  const std::vector<EpochRecord> teams = records_of(4, 2, half);
  const std::vector<EpochRecord> ranks = records_of(2, 1, whole);
  ASSERT_EQ(teams.size(), 2U);
  for (std::size_t epoch = 0; epoch < teams.size(); ++epoch) {
    for (const auto& [name, loss] : ranks[epoch].losses) {
      EXPECT_NEAR(teams[epoch].losses.at(name), loss, 1e-3) << name;
    }
    EXPECT_NEAR(teams[epoch].validation_ap, ranks[epoch].validation_ap, 5e-3);
  }
}

}  // namespace
}  // namespace curnm
