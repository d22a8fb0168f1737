#include <gtest/gtest.h>

#include "support/decoders.h"
#include "support/errors.h"
#include "support/mining.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

// What every registered miner promises together with every registered model and decoder; a new line
// in any of the registries is tested here without an edit. One decoder is registered from outside,
// and has no `split` of its own.

namespace curnm {
namespace {

using testing::fails;
using testing::MiningNetwork;
using testing::MiningRun;
using testing::naive_occurs;
using testing::options_of;
using testing::random_log;
using testing::same_candidates;
using testing::ScopedThreads;
using testing::with_other_future;

struct Case {
  std::string miner;
  std::string model;
  std::string decoder;

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.miner << " with " << c.model << " and " << c.decoder;
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
  return all;
}

/// All parts act from the first epoch on: half of the pool is selected, hard negatives are kept,
/// and scores of earlier epochs count.
Options everything_on(std::string_view miner) {
  return options_of(miners(), miner,
                    {{"negatives", "3"},
                     {"pi-strategy", "constant"},
                     {"pi", "0.5"},
                     {"alpha-max", "5"},
                     {"alpha-epochs", "1"}});
}

constexpr std::int64_t kTrained = 2;  // epochs before a miner is looked at

class MinerContract : public ::testing::TestWithParam<Case> {
 protected:
  const ScopedThreads single_{1};  // such small steps are slower with more

  MiningRun run(const MiningNetwork& network) const {
    return {network, GetParam().model, GetParam().miner, everything_on(GetParam().miner),
            GetParam().decoder};
  }
  /// In the midst of a training: caches and confidences are there.
  MiningRun trained(const MiningNetwork& network) const {
    MiningRun run = this->run(network);
    for (std::int64_t epoch = 0; epoch < kTrained; ++epoch) run.run_epoch(epoch);
    run.begin_epoch(kTrained);
    return run;
  }
};

EventLog contract_log(std::uint64_t seed, bool bipartite = false) {
  return random_log(seed,
                    {.nodes = 30, .events = 160, .distinct_times = 50, .bipartite = bipartite});
}

TEST_P(MinerContract, ProposesDestinationsThatAreNoEventsOfTheSourceAtTheTime) {
  for (const bool bipartite : {false, true}) {
    const MiningNetwork network(contract_log(1, bipartite));
    MiningRun run = trained(network);
    const std::set<NodeId> destinations(network.destinations.begin(), network.destinations.end());
    for (std::int64_t index = 0; index < run.batches(); ++index) {
      const EventBatch batch = run.batch(index);
      const Candidates found = run.propose(kTrained, index);
      ASSERT_GT(found.width + found.extra.size(), 0);
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
  const MiningNetwork network(contract_log(2));
  MiningRun run = trained(network);
  const auto proposed = [&](std::uint64_t key) {
    return run.miner().propose(network.all(), Rng(key, Stream::kTest));
  };
  const Candidates found = proposed(1);
  EXPECT_TRUE(same_candidates(found, proposed(1)));
  EXPECT_FALSE(same_candidates(found, proposed(2)));
}

/// What is proposed for row i, without the row's number.
Candidates of_row(const Candidates& all, std::int64_t i) {
  const auto part = [&](const auto& values) {
    using Values = std::decay_t<decltype(values)>;
    if (values.empty()) return Values();
    return Values(values.begin() + i * all.width, values.begin() + (i + 1) * all.width);
  };
  Candidates row{.width = all.width,
                 .nodes = part(all.nodes),
                 .kinds = part(all.kinds),
                 .met = part(all.met),
                 .seen = part(all.seen)};
  if (!all.late.empty()) row.late = {all.late[static_cast<std::size_t>(i)]};
  for (std::size_t x = 0; x < all.extra.rows.size(); ++x) {
    if (all.extra.rows[x] != i) continue;
    row.extra.rows.push_back(0);
    row.extra.src.push_back(all.extra.src[x]);
    row.extra.dst.push_back(all.extra.dst[x]);
    if (!all.extra.kinds.empty()) row.extra.kinds.push_back(all.extra.kinds[x]);
  }
  return row;
}

// Half of each pool of eight, and three negatives: every event has its whole share in any batch.
TEST_P(MinerContract, AProposalForAnEventDoesNotDependOnItsBatch) {
  const MiningNetwork network(contract_log(2));
  MiningRun run = trained(network);
  const Rng key(1, Stream::kTest);
  const Candidates whole = run.miner().propose(network.all(), key);
  for (const std::int64_t size : {7, 40}) {
    for (std::int64_t begin = 0; begin < network.log.size(); begin += size) {
      const std::int64_t end = std::min(begin + size, network.log.size());
      const Candidates part = run.miner().propose(network.batch(begin, end), key);
      for (std::int64_t i = begin; i < end; ++i) {
        ASSERT_TRUE(same_candidates(of_row(part, i - begin), of_row(whole, i)))
            << "event " << i << " in batches of " << size;
      }
    }
  }
}

TEST_P(MinerContract, ThreadCountChangesNoProposal) {
  const MiningNetwork network(contract_log(3));
  MiningRun run = trained(network);
  const auto proposed = [&](int threads) {
    const ScopedThreads scope(threads);
    return run.miner().propose(network.all(), Rng(1, Stream::kTest));
  };
  EXPECT_TRUE(same_candidates(proposed(1), proposed(2)));
}

// What happens after the batch is replaced by something else, of the same nodes, whose sets are
// given; what was learned stays. No bit of the proposal changes.
TEST_P(MinerContract, AProposalNeverDependsOnTheFuture) {
  const MiningNetwork network(contract_log(4));
  MiningRun original = trained(network);
  for (std::int64_t index = 0; index + 1 < original.batches(); ++index) {
    const Timestamp now = original.batch(index).time.back();
    const MiningNetwork other(with_other_future(network.log, now, 5));
    ASSERT_EQ(other.destinations, network.destinations);
    ASSERT_NE(testing::naive_pairs(other.log, 0, 1e9), testing::naive_pairs(network.log, 0, 1e9));
    MiningRun elsewhere = run(other);
    elsewhere.copy(original);
    for (const std::int64_t epoch : {std::int64_t{0}, kTrained, std::int64_t{8}}) {
      original.miner().begin_epoch(epoch);
      elsewhere.miner().begin_epoch(epoch);
      const Rng key(1, Stream::kTest, static_cast<std::uint64_t>(epoch));
      EXPECT_TRUE(same_candidates(original.miner().propose(original.batch(index), key),
                                  elsewhere.miner().propose(original.batch(index), key)))
          << "batch " << index << ", epoch " << epoch;
    }
  }
}

TEST_P(MinerContract, LossAndGradientsAreFinite) {
  const MiningNetwork network(contract_log(6));
  MiningRun run = trained(network);
  for (std::int64_t index = 0; index < run.batches(); ++index) {
    const Candidates candidates = run.propose(kTrained, index);
    const Mined mined = run.look(kTrained, index, candidates);
    ASSERT_TRUE(std::isfinite(mined.loss.item<double>()));
    for (const auto& [name, value] : mined.losses) EXPECT_TRUE(std::isfinite(value)) << name;
    for (const auto& [name, value] : mined.measures) EXPECT_TRUE(std::isfinite(value)) << name;
    EXPECT_EQ(mined.positive_logits.size(0), run.batch(index).size());
    EXPECT_EQ(mined.candidate_logits.numel(), std::ssize(candidates.nodes));
    EXPECT_FALSE(mined.positive_logits.requires_grad());
    EXPECT_FALSE(mined.candidate_logits.requires_grad());
    const auto expect_gradients = [](const Module& module) {
      for (const auto& item : module.named_parameters()) {
        ASSERT_TRUE(item.value().grad().defined()) << item.key();
        EXPECT_TRUE(at::isfinite(item.value().grad()).all().item<bool>()) << item.key();
        EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
      }
    };
    expect_gradients(run.miner());
    expect_gradients(run.decoder());
  }
}

void expect_same_state(const NegativeMiner& a, const NegativeMiner& b) {
  const auto one = a.state();
  const auto other = b.state();
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(at::allclose(one[i], other[i], 0, 0, /*equal_nan=*/true)) << "tensor " << i;
  }
}

TEST_P(MinerContract, StateContinuesToTheBit) {
  const MiningNetwork network(contract_log(7));
  for (const std::int64_t position : {0, 2}) {
    MiningRun original = trained(network);
    for (std::int64_t index = 0; index < position; ++index) original.step(kTrained, index);
    MiningRun restored = run(network);
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
      original.miner().end_epoch({.metric = 0.6});
      restored.miner().end_epoch({.metric = 0.6});
      original.begin_epoch(epoch + 1);
      restored.begin_epoch(epoch + 1);
    }
  }
}

std::vector<Tensor> values_of(const MiningRun& run) {
  std::vector<Tensor> values;
  for (const Module* module : run.modules()) {
    for (const Tensor& parameter : module->parameters()) values.push_back(parameter.clone());
  }
  return values;
}

bool all_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return at::equal(x, y); });
}

// Of parameters that are as they were; what it makes of the gradients is what the optimiser sees.
TEST_P(MinerContract, TheHookBeforeTheUpdateSeesTheGradientsOfTheStep) {
  const MiningNetwork network(contract_log(8));
  MiningRun hooked = run(network);
  MiningRun plain = run(network);
  for (MiningRun* each : {&hooked, &plain}) {
    each->begin_epoch(0);
    each->step(0, 0);  // without memory there may be nothing to learn from
  }
  const Candidates candidates = plain.propose(0, 1);
  const Mined expected = plain.look(0, 1, candidates);
  const std::vector<Tensor> before = values_of(hooked);
  int calls = 0;
  double steepest = 0;
  hooked.training_step().before_update = [&](Learner& learner) {
    ++calls;
    EXPECT_EQ(&learner, &hooked.learner());
    EXPECT_TRUE(all_equal(values_of(hooked), before)) << "before the update";
    const std::vector<Module*> of_plain = plain.modules();
    const std::vector<Module*> of_hooked = hooked.modules();
    for (std::size_t i = 0; i < of_hooked.size(); ++i) {
      const NamedTensors others = of_plain[i]->named_parameters();
      for (const auto& item : of_hooked[i]->named_parameters()) {
        const Tensor gradient = item.value().grad();
        ASSERT_EQ(gradient.defined(), others[item.key()].grad().defined()) << item.key();
        if (!gradient.defined()) continue;
        EXPECT_TRUE(at::equal(gradient, others[item.key()].grad())) << item.key();
        steepest = std::max(steepest, gradient.abs().max().item<double>());
        item.value().mutable_grad() = Tensor();
      }
    }
  };
  EXPECT_EQ(hooked.step(0, 1).loss.item<double>(), expected.loss.item<double>());
  EXPECT_EQ(calls, 1);
  EXPECT_GT(steepest, 0);
  EXPECT_TRUE(all_equal(values_of(hooked), before)) << "no gradient is left to follow";
  hooked.training_step().before_update = nullptr;
  hooked.step(0, 2);
  EXPECT_FALSE(all_equal(values_of(hooked), before));
}

INSTANTIATE_TEST_SUITE_P(All, MinerContract, ::testing::ValuesIn(cases()), [](const auto& test) {
  return test.param.miner + "_" + test.param.model + "_" + test.param.decoder;
});

TEST(MakeMinerTest, UnknownNamesAndImpossibleOptionsAreUsageErrors) {
  const MiningNetwork network(contract_log(1));
  EXPECT_TRUE(fails<UsageError>([&] { make_miner("randon", {}, network.context()); },
                                {"randon", "random"}));
  EXPECT_TRUE(fails<UsageError>(
      [&] {
        network.miner("random", {{"negatives", "0"}});
      },
      {"--negatives 0"}));
  EXPECT_TRUE(fails<UsageError>([&] { network.miner("ens", {{"ens-start", "0"}}); }, {"lambda_0"}));
  EXPECT_TRUE(fails<UsageError>([&] { network.curnm({.pool = 5}); }, {"M must be even"}));
}

TEST(MakeMinerTest, WithOneDestinationNoNegativeExists) {
  const MiningNetwork network(testing::make_log({{0, 2, 1}, {1, 2, 2}}, 3));
  for (const MinerEntry& entry : miners()) {
    EXPECT_TRUE(fails([&] { network.miner(entry.name); }, {"no negative exists", "1 destination"}))
        << entry.name;
  }
}

TEST(MakeMinerTest, ParametersAreAFunctionOfTheSeed) {
  const MiningNetwork network(contract_log(1));
  const auto weights = [&](std::uint64_t seed) {
    return make_miner("curnm", CurnmOptions{}, network.context(10, seed))
        ->named_parameters()["factors.positive_gate.own.weight"];
  };
  EXPECT_TRUE(at::equal(weights(3), weights(3)));
  EXPECT_FALSE(at::equal(weights(3), weights(4)));
}

TEST(MinerRegistryTest, EveryMinerHasOptionsWhoseDefaultsArePossible) {
  for (const MinerEntry& entry : miners()) {
    Options options = entry.defaults;
    const auto names = option_names(options);
    EXPECT_FALSE(names.empty()) << entry.name;
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size()) << entry.name;
    EXPECT_NO_THROW(options.check()) << entry.name;
  }
}

// Presets may also set what belongs to the training.
TEST(MinerRegistryTest, TheOptionsOfAPresetExistAndGoTogether) {
  TrainOptions training;
  const auto of_training = option_names(training);
  for (const MinerEntry& entry : miners()) {
    for (const Preset& preset : entry.presets) {
      Options options = options_of(miners(), entry.name, preset.options);
      EXPECT_NO_THROW(options.check()) << preset.name;
      std::vector<std::string_view> known = option_names(options);
      known.insert(known.end(), of_training.begin(), of_training.end());
      for (const auto& [name, value] : preset.options) {
        EXPECT_NE(std::find(known.begin(), known.end(), name), known.end()) << name;
      }
    }
  }
}

TEST(MinerRegistryTest, ANameThatIsTakenIsRefused) {
  for (const MinerEntry& entry : std::vector<MinerEntry>(miners().begin(), miners().end())) {
    EXPECT_TRUE(fails(
        [&] {
          miners().add({{.name = entry.name}, {}});
        },
        {"miner", entry.name, "another name"}));
  }
  for (const ModelEntry& entry : std::vector<ModelEntry>(models().begin(), models().end())) {
    EXPECT_TRUE(fails(
        [&] {
          models().add({{.name = entry.name}, {}});
        },
        {"model", entry.name, "another name"}));
  }
}

}  // namespace
}  // namespace curnm
