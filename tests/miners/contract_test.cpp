#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/mining.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

// What every registered miner promises together with every registered model; a new line in either
// registry is tested here without an edit.

namespace curnm {
namespace {

using testing::fails;
using testing::Learner;
using testing::MiningNetwork;
using testing::naive_occurs;
using testing::random_log;
using testing::same_candidates;
using testing::ScopedThreads;
using testing::with_other_future;

struct Case {
  std::string_view miner;
  std::string_view model;

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.miner << " with " << c.model;
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const MinerEntry& miner : miners()) {
    for (const ModelEntry& model : models()) all.push_back({miner.name, model.name});
  }
  return all;
}

/// All parts act from the first epoch on: half of the pool is selected, and hard negatives are
/// kept.
MinerOptions everything_on(std::string_view miner) {
  MinerOptions options;
  options.plain.negatives = 3;
  options.curnm.pi_strategy = "constant";
  options.curnm.pi = 0.5;
  if (miner == "curnm") options.corruption.corrupt = "half";
  options.curnm.alpha_max = 5;  // scores of earlier epochs count
  options.curnm.alpha_epochs = 1;
  return options;
}

constexpr std::int64_t kTrained = 2;  // epochs before a miner is looked at

class MinerContract : public ::testing::TestWithParam<Case> {
 protected:
  const ScopedThreads single_{1};  // such small steps are slower with more

  Learner learner(const MiningNetwork& network, std::uint64_t seed = 0) const {
    return {network, GetParam().model, GetParam().miner, everything_on(GetParam().miner), seed};
  }
  /// In the midst of a training: caches and confidences are there.
  Learner trained(const MiningNetwork& network) const {
    Learner learner = this->learner(network);
    for (std::int64_t epoch = 0; epoch < kTrained; ++epoch) learner.run_epoch(epoch);
    learner.begin_epoch(kTrained);
    return learner;
  }
};

EventLog small_log(std::uint64_t seed, bool bipartite = false) {
  return random_log(seed,
                    {.nodes = 30, .events = 160, .distinct_times = 50, .bipartite = bipartite});
}

TEST_P(MinerContract, ProposesDestinationsThatAreNoEventsOfTheSourceAtTheTime) {
  for (const bool bipartite : {false, true}) {
    const MiningNetwork network(small_log(1, bipartite));
    Learner learner = trained(network);
    const std::set<NodeId> destinations(network.destinations.begin(), network.destinations.end());
    for (std::int64_t index = 0; index < learner.batches(); ++index) {
      const EventBatch batch = learner.batch(index);
      const Candidates found = learner.propose(kTrained, index);
      ASSERT_GT(found.width, 0);
      ASSERT_EQ(std::ssize(found.nodes), batch.size() * found.width);
      ASSERT_TRUE(found.kinds.empty() || found.kinds.size() == found.nodes.size());
      const auto expect_negative = [&](std::size_t row, NodeId u, NodeId v) {
        EXPECT_TRUE(destinations.contains(v)) << v;
        EXPECT_FALSE(naive_occurs(network.log, u, v, batch.time[row], batch.time[row]))
            << u << " -> " << v << " at " << batch.time[row];
      };
      for (std::size_t slot = 0; slot < found.nodes.size(); ++slot) {
        const std::size_t row = slot / static_cast<std::size_t>(found.width);
        expect_negative(row, batch.src[row], found.nodes[slot]);
      }
      ASSERT_TRUE(std::is_sorted(found.extra.rows.begin(), found.extra.rows.end()));
      for (std::size_t x = 0; x < found.extra.rows.size(); ++x) {
        const auto row = static_cast<std::size_t>(found.extra.rows[x]);
        ASSERT_LT(row, batch.src.size());
        expect_negative(row, found.extra.src[x], found.extra.dst[x]);
      }
    }
  }
}

TEST_P(MinerContract, AProposalIsAFunctionOfItsKey) {
  const MiningNetwork network(small_log(2));
  Learner learner = trained(network);
  const auto proposed = [&](std::uint64_t key) {
    return learner.miner().propose(network.all(), Rng(key, Stream::kTest));
  };
  const Candidates found = proposed(1);
  EXPECT_TRUE(same_candidates(found, proposed(1)));
  EXPECT_NE(found.nodes, proposed(2).nodes);
}

TEST_P(MinerContract, ThreadCountChangesNoProposal) {
  const MiningNetwork network(small_log(3));
  Learner learner = trained(network);
  const auto proposed = [&](int threads) {
    const ScopedThreads scope(threads);
    return learner.miner().propose(network.all(), Rng(1, Stream::kTest));
  };
  EXPECT_TRUE(same_candidates(proposed(1), proposed(2)));
}

// What happens after the batch is replaced by something else, of the same nodes, whose sets are
// given; what was learned stays. No bit of the proposal changes.
TEST_P(MinerContract, AProposalNeverDependsOnTheFuture) {
  const MiningNetwork network(small_log(4));
  Learner original = trained(network);
  for (std::int64_t index = 0; index + 1 < original.batches(); ++index) {
    const Timestamp now = original.batch(index).time.back();
    const MiningNetwork other(with_other_future(network.log, now, 5));
    ASSERT_EQ(other.destinations, network.destinations);
    ASSERT_NE(testing::naive_pairs(other.log, 0, 1e9), testing::naive_pairs(network.log, 0, 1e9));
    Learner elsewhere = learner(other);
    elsewhere.copy(original);
    for (const std::int64_t epoch : {std::int64_t{0}, kTrained, std::int64_t{8}}) {
      original.miner().begin_epoch(epoch);
      elsewhere.miner().begin_epoch(epoch);
      const Rng key = original.key(epoch, index);
      EXPECT_TRUE(same_candidates(original.miner().propose(original.batch(index), key),
                                  elsewhere.miner().propose(original.batch(index), key)))
          << "batch " << index << ", epoch " << epoch;
    }
  }
}

TEST_P(MinerContract, LossAndGradientsAreFinite) {
  const MiningNetwork network(small_log(6));
  Learner learner = trained(network);
  for (std::int64_t index = 0; index < learner.batches(); ++index) {
    const Candidates candidates = learner.propose(kTrained, index);
    const Mined mined = learner.look(kTrained, index, candidates);
    ASSERT_TRUE(std::isfinite(mined.loss.item<double>()));
    for (const auto& [name, value] : mined.losses) EXPECT_TRUE(std::isfinite(value)) << name;
    for (const auto& [name, value] : mined.measures) EXPECT_TRUE(std::isfinite(value)) << name;
    EXPECT_EQ(mined.positive_logits.numel(), learner.batch(index).size());
    EXPECT_EQ(mined.candidate_logits.numel(), std::ssize(candidates.nodes));
    EXPECT_FALSE(mined.positive_logits.requires_grad());
    EXPECT_FALSE(mined.candidate_logits.requires_grad());
    const auto expect_gradients = [](const torch::nn::Module& module) {
      for (const auto& item : module.named_parameters()) {
        ASSERT_TRUE(item.value().grad().defined()) << item.key();
        EXPECT_TRUE(torch::isfinite(item.value().grad()).all().item<bool>()) << item.key();
        EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
      }
    };
    expect_gradients(learner.miner());
    expect_gradients(learner.decoder());
  }
}

void expect_same_state(const NegativeMiner& a, const NegativeMiner& b) {
  const auto one = a.state();
  const auto other = b.state();
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(torch::allclose(one[i], other[i], 0, 0, /*equal_nan=*/true)) << "tensor " << i;
  }
}

TEST_P(MinerContract, StateContinuesToTheBit) {
  const MiningNetwork network(small_log(7));
  for (const std::int64_t position : {0, 2}) {
    Learner original = trained(network);
    for (std::int64_t index = 0; index < position; ++index) original.step(kTrained, index);
    Learner restored = learner(network);
    restored.run_epoch(0, 0.9);  // what it knew before must be gone
    restored.copy(original);
    restored.miner().begin_epoch(kTrained);
    for (std::int64_t epoch = kTrained; epoch < kTrained + 2; ++epoch) {
      for (std::int64_t index = epoch == kTrained ? position : 0; index < original.batches();
           ++index) {
        ASSERT_TRUE(same_candidates(original.propose(epoch, index), restored.propose(epoch, index)))
            << "epoch " << epoch << ", batch " << index;
        ASSERT_EQ(original.step(epoch, index).loss.item<double>(),
                  restored.step(epoch, index).loss.item<double>())
            << "epoch " << epoch << ", batch " << index;
      }
      EXPECT_EQ(original.miner().telemetry(), restored.miner().telemetry());
      expect_same_state(original.miner(), restored.miner());
      original.miner().end_epoch(0.6);
      restored.miner().end_epoch(0.6);
      original.begin_epoch(epoch + 1);
      restored.begin_epoch(epoch + 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MinerContract, ::testing::ValuesIn(cases()), [](const auto& test) {
  return std::string(test.param.miner) + "_" + std::string(test.param.model);
});

TEST(MakeMinerTest, UnknownNamesAndImpossibleOptionsAreUsageErrors) {
  const MiningNetwork network(small_log(1));
  EXPECT_TRUE(fails<UsageError>([&] { network.miner("randon"); }, {"randon", "random"}));
  MinerOptions options;
  options.plain.negatives = 0;
  EXPECT_TRUE(fails<UsageError>([&] { network.miner("random", options); }, {"--negatives 0"}));
  options = {};
  options.ens.ens_start = 0;
  EXPECT_TRUE(fails<UsageError>([&] { network.miner("ens", options); }, {"lambda_0"}));
  options = {};
  options.curnm.pool = 5;
  EXPECT_TRUE(fails<UsageError>([&] { network.miner("curnm", options); }, {"M must be even"}));
}

TEST(MakeMinerTest, WithOneDestinationNoNegativeExists) {
  const MiningNetwork network(testing::make_log({{0, 2, 1}, {1, 2, 2}}, 3));
  for (const MinerEntry& entry : miners()) {
    EXPECT_TRUE(fails([&] { network.miner(entry.name); }, {"no negative exists", "1 destination"}))
        << entry.name;
  }
}

TEST(MakeMinerTest, ParametersAreAFunctionOfTheSeed) {
  const MiningNetwork network(small_log(1));
  const auto weights = [&](std::uint64_t seed) {
    return make_miner("curnm", {}, network.context(10, seed))
        ->named_parameters()["factors.positive_gate.own.weight"];
  };
  EXPECT_TRUE(torch::equal(weights(3), weights(3)));
  EXPECT_FALSE(torch::equal(weights(3), weights(4)));
}

TEST(MinerRegistryTest, TheOptionsOfAMinerExist) {
  const OptionNames all = option_names<MinerOptions>();
  for (const MinerEntry& entry : miners()) {
    EXPECT_FALSE(entry.options().empty()) << entry.name;
    for (std::string_view name : entry.options()) {
      EXPECT_NE(std::find(all.begin(), all.end(), name), all.end()) << entry.name << " " << name;
    }
  }
}

}  // namespace
}  // namespace curnm
