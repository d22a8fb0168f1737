#include <gtest/gtest.h>

#include <cmath>

#include "curnm/miners/losses.h"
#include "support/decoders.h"
#include "support/errors.h"
#include "support/mining.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::fails;
using testing::kMiningWidth;
using testing::MiningNetwork;
using testing::random_log;

/// Logits that are given, whatever the embeddings.
class GivenLogits final : public Decoder {
 public:
  explicit GivenLogits(Tensor logits)
      : Decoder({.outputs = logits.size(1)}), logits_(std::move(logits)) {}
  Tensor logits(const Links&, const Tensor&) const override { return logits_; }

 private:
  Tensor logits_;
};

double pos(double x) { return std::log1p(std::exp(-x)); }
double neg(double x) { return std::log1p(std::exp(x)); }

struct TwoPositives {
  std::vector<NodeId> src = {0, 1};
  std::vector<NodeId> dst = {2, 3};
  std::vector<Timestamp> time = {5, 6};
  std::vector<EventId> events = {0, 1};
  // One random destination, two former partners, no pair.
  Candidates candidates{.extra = {.rows = {0, 0, 1},
                                  .src = {0, 0, 1},
                                  .dst = {3, 4, 4},
                                  .kinds = {CandidateKind::kRandom, CandidateKind::kHistorical,
                                            CandidateKind::kHistorical}}};
  EventBatch batch() const { return {src, dst, time, events}; }
};

TEST(LearnByQuestionTest, EachOutputLearnsFromItsOwnNegatives) {
  const TwoPositives scene;
  const Links links(scene.batch(), scene.candidates);
  // Rows: two positives, three negatives; columns: destination, partner, pair, new pair.
  const Tensor logits = at::tensor({1.0F, 2.0F, 9.0F, 9.0F, -1.0F, 0.5F, 9.0F, 9.0F,  0.3F, 9.0F,
                                    9.0F, 9.0F, 9.0F, 0.7F, 9.0F,  9.0F, 9.0F, -0.4F, 9.0F, 9.0F})
                            .view({5, 4})
                            .requires_grad_(true);
  const GivenLogits decoder(logits);
  const Mined mined = learn_by_question({links, at::zeros({links.roots().size(), 1})},
                                        scene.candidates.extra, decoder);
  const double destination = (pos(1) + pos(-1)) / 2 + neg(0.3);
  const double partner = (pos(2) + pos(0.5)) / 2 + (neg(0.7) + neg(-0.4)) / 2;
  EXPECT_NEAR(mined.loss.item<double>(), destination + partner, 1e-6)
      << "nothing teaches the outputs of pairs, not even the positives";
  mined.loss.backward();
  for (const auto& [row, column] :
       {std::pair(0, 2), std::pair(1, 3), std::pair(2, 1), std::pair(3, 0), std::pair(4, 2)}) {
    EXPECT_EQ(logits.grad()[row][column].item<double>(), 0) << row << " " << column;
  }
}

TEST(LearnByQuestionTest, OneOutputLearnsFromAll) {
  const TwoPositives scene;
  const Links links(scene.batch(), scene.candidates);
  const GivenLogits decoder(at::tensor({1.0F, -1.0F, 0.3F, 0.7F, -0.4F}).view({5, 1}));
  const Mined mined = learn_by_question({links, at::zeros({links.roots().size(), 1})},
                                        scene.candidates.extra, decoder);
  EXPECT_NEAR(mined.loss.item<double>(),
              (pos(1) + pos(-1)) / 2 + (neg(0.3) + neg(0.7) + neg(-0.4)) / 3, 1e-6);
}

// Columns: destination, partner, pair, new pair.
TEST(LearnByQuestionTest, AllPairsTeachAboutNewOnes) {
  TwoPositives scene;
  scene.candidates.extra.kinds = {CandidateKind::kRandomPair, CandidateKind::kFormerPair,
                                  CandidateKind::kNewPair};
  const Links links(scene.batch(), scene.candidates);
  const GivenLogits decoder(at::zeros({5, 4}));
  const Tensor weights = question_weights(links, scene.candidates.extra, decoder);
  const float third = 1 / 3.0F;
  const Tensor expected =
      at::tensor({0.0F,  0.0F,   0.5F, 0.5F, 0.0F,  0.0F,   0.5F, 0.5F, 0.0F, 0.0F,
                  -0.5F, -third, 0.0F, 0.0F, -0.5F, -third, 0.0F, 0.0F, 0.0F, -third})
          .view({5, 4});
  EXPECT_TRUE(at::equal(weights, expected)) << weights;
}

// The two former partners of the scene have weights 1/3 and 2/3 where their logits are 0 and ln 4.
TEST(LearnByQuestionTest, TheHardestCountMost) {
  const TwoPositives scene;
  const Links links(scene.batch(), scene.candidates);
  const float hard = std::log(4.0F);
  const GivenLogits decoder(
      at::tensor({1.0F, 2.0F, 0.0F, 0.0F, -1.0F, 0.5F, 0.0F, 0.0F, 0.3F, 0.0F,
                  0.0F, 0.0F, 0.0F, 0.0F, 0.0F,  0.0F, 0.0F, hard, 0.0F, 0.0F})
          .view({5, 4}));
  const std::vector<double> pi = {0.5, 0.9, 1, 1};
  const Mined mined = learn_by_question({links, at::zeros({links.roots().size(), 1})},
                                        scene.candidates.extra, decoder, pi);
  const double destination = (pos(1) + pos(-1)) / 2 + neg(0.3);
  const double partner = (pos(2) + pos(0.5)) / 2 + neg(0) / 3 + 2 * neg(hard) / 3;
  EXPECT_NEAR(mined.loss.item<double>(), destination + partner, 1e-3);
}

TEST(QuestionCurnmTest, TheBudgetIsDividedByTheSharesOfQuestions) {
  const MiningNetwork network(random_log(3, {.nodes = 30, .events = 2000, .distinct_times = 2000}));
  const auto miner = network.miner("curnm", {{"outputs", "questions"}, {"budget", "3"}});
  EXPECT_EQ(miner->outputs(), Outputs::kByQuestion);
  const auto counts = [&] {
    std::map<Question, double> found;
    const Candidates candidates = miner->propose(network.batch(500, 2000), Rng(1, Stream::kTest));
    for (const CandidateKind kind : candidates.extra.kinds) found[question_of(kind)] += 1 / 1500.0;
    return found;
  };
  for (const auto& [question, count] : counts())
    EXPECT_NEAR(count, 0.75, 0.06) << name_of(question);
  EXPECT_TRUE(
      miner->end_epoch({.ap = {{"random", 0.9}, {"source_historical", 0.7}, {"trans", 0.9}}})
          .empty())
      << "there is nothing to gain on";
  const auto after = counts();
  EXPECT_NEAR(after.at(Question::kDestination), 3 * (1 / 8.0 + 0.1), 0.06);
  EXPECT_NEAR(after.at(Question::kPartner), 3 * (1 / 8.0 + 0.3), 0.06);
  const auto facts = miner->telemetry();
  EXPECT_NEAR(facts.at("share_partner"), 1 / 8.0 + 0.3, 1e-12);
  EXPECT_EQ(facts.at("pi_pair"), 1);
  const auto gains = miner->end_epoch({.ap = {{"random", 0.8}, {"trans", 0.95}}});
  EXPECT_EQ(gains.size(), 2U) << "partners were not measured";
  EXPECT_NEAR(gains.at("gain_destination"), -0.1, 1e-12);
  EXPECT_NEAR(gains.at("gain_pair"), 0.05, 1e-12);
}

TEST(MixtureMinerTest, ProposesWhatWasAskedFor) {
  const MiningNetwork network(random_log(3, {.nodes = 30, .events = 200, .distinct_times = 200}));
  const auto miner = network.miner("mixture", {{"mix-random", "3"},
                                               {"mix-history", "0"},
                                               {"mix-popular", "1"},
                                               {"mix-random-pairs", "0"},
                                               {"mix-former-pairs", "2"},
                                               {"mix-new-pairs", "1"},
                                               {"outputs", "single"}});
  const EventBatch late = network.batch(150, 200);
  const Candidates found = miner->propose(late, Rng(1, Stream::kTest));
  std::map<CandidateKind, std::int64_t> counts;
  for (const CandidateKind kind : found.extra.kinds) ++counts[kind];
  EXPECT_EQ(counts, (std::map<CandidateKind, std::int64_t>{{CandidateKind::kRandom, 150},
                                                           {CandidateKind::kPopular, 50},
                                                           {CandidateKind::kFormerPair, 100},
                                                           {CandidateKind::kNewPair, 50}}));
  EXPECT_EQ(miner->outputs(), Outputs::kSingle);
  EXPECT_EQ(network.miner("mixture")->outputs(), Outputs::kByQuestion);
}

TEST(MixtureMinerTest, AnOutputThatNothingTeachesIsRefused) {
  const MiningNetwork network(random_log(3));
  const auto refused = [&](const GivenOptions& given, const std::string& flag) {
    return fails<OptionError>([&] { network.miner("mixture", given); },
                              {"without " + flag, "--outputs single"});
  };
  EXPECT_TRUE(refused({{"mix-random", "0"}}, "--mix-random"));
  EXPECT_TRUE(refused({{"mix-history", "0"}}, "--mix-history"));
  EXPECT_TRUE(
      refused({{"mix-random-pairs", "0"}, {"mix-former-pairs", "0"}}, "--mix-random-pairs"));
  EXPECT_NO_THROW(network.miner("mixture", {{"mix-random", "0"}, {"mix-popular", "1"}}));
  EXPECT_NO_THROW(network.miner("mixture", {{"mix-history", "0"}, {"outputs", "single"}}));
}

TEST(MixtureMinerTest, OfNothingIsRefused) {
  const MiningNetwork network(random_log(3));
  EXPECT_TRUE(fails<UsageError>(
      [&] {
        network.miner("mixture", {{"mix-random", "0"},
                                  {"mix-history", "0"},
                                  {"mix-random-pairs", "0"},
                                  {"mix-former-pairs", "0"},
                                  {"mix-new-pairs", "0"}});
      },
      {"mixture of nothing"}));
}

}  // namespace
}  // namespace curnm
