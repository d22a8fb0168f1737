#include "curnm/training/ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "curnm/training/gradient_exchange.h"
#include "curnm/training/same_run.h"
#include "curnm/training/step.h"
#include "support/thread_group.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;
using testing::on_ranks;

TEST(RanksTest, EveryEpochLearnsFromEveryEventOnceAndMemoriesGoAround) {
  static constexpr std::int64_t kEvents = 103;
  on_ranks(4, [](Group& group) {
    const Ranks ranks(&group);
    for (std::int64_t epoch = 0; epoch < 9; ++epoch) {
      std::set<std::int64_t> begins;
      std::int64_t events = 0;
      for (int rank = 0; rank < ranks.size(); ++rank) {
        const Stretch stretch = ranks.stretch(kEvents, epoch, rank);
        begins.insert(stretch.begin);
        events += stretch.end - stretch.begin;
        const Stretch next = ranks.stretch(kEvents, epoch + 1, rank);
        EXPECT_EQ(next.begin, stretch.end % kEvents) << "the memory goes on where it is";
        EXPECT_EQ(stretch.end == kEvents, rank == ranks.last_of_stream(epoch));
      }
      EXPECT_EQ(begins.size(), 4U);
      EXPECT_EQ(events, kEvents);
    }
  });
}

TEST(RanksTest, OneRankHasEverything) {
  const Ranks ranks;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(ranks.stretch(7, epoch).begin, 0);
    EXPECT_EQ(ranks.stretch(7, epoch).end, 7);
    EXPECT_EQ(ranks.last_of_stream(epoch), 0);
  }
}

TEST(GradientExchangeTest, TakesTheMeanOfThoseWithABatchAndCountsMissingGradientsAsZeros) {
  on_ranks(3, [](Group& group) {
    Tensor a = at::zeros({2}).requires_grad_();
    Tensor b = at::zeros({2, 2}).requires_grad_();
    const auto value = static_cast<float>(group.rank() + 1);
    a.mutable_grad() = at::full({2}, value);
    if (group.rank() == 1) b.mutable_grad() = at::full({2, 2}, 8.0F);
    GradientExchange exchange(group, {a, b});
    exchange.run(/*has_batch=*/group.rank() != 2);
    EXPECT_TRUE(at::equal(a.grad(), at::full({2}, 1.5F)));
    EXPECT_TRUE(at::equal(b.grad(), at::full({2, 2}, 4.0F)));
  });
}

TEST(GradientExchangeTest, AWishToStopReachesAllWithTheSameStep) {
  on_ranks(2, [](Group& group) {
    Tensor a = at::zeros({1}).requires_grad_();
    GradientExchange exchange(group, {a});
    exchange.run(true);
    EXPECT_FALSE(exchange.stop_wished(group.rank() == 1)) << "it has not travelled yet";
    exchange.run(true);
    EXPECT_TRUE(exchange.stop_wished(false));
  });
}

TEST(GradientExchangeTest, ALossThatDivergesStopsAllAndNamesItsRank) {
  on_ranks(3, [](Group& group) {
    Tensor a = at::zeros({1}).requires_grad_();
    GradientExchange exchange(group, {a});
    try {
      if (group.rank() == 1) exchange.report_divergence(std::numeric_limits<double>::quiet_NaN());
      exchange.run(true);
      ADD_FAILURE() << "rank " << group.rank() << " goes on";
    } catch (const DivergedLoss& error) {
      EXPECT_STREQ(error.what(), "the loss on rank 1 became nan");
    }
  });
}

TEST(StragglerTest, IsTheRankThatWaitedLeastIfOthersLostAGoodPartToIt) {
  const std::optional<Straggler> found = find_straggler({7, 1, 6.5}, /*seconds=*/10);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->seconds, 6);
  EXPECT_FALSE(find_straggler({4, 5, 6}, 10)) << "a slow link costs all of them the same";
  EXPECT_TRUE(find_straggler({4, 5, 6.5}, 10));
  EXPECT_FALSE(find_straggler({0.1, 0.9}, 1)) << "too short to care about";
}

TEST(SameRunTest, NamesTheFirstDifference) {
  const ordered_json a = {{"version", "1"}, {"options", {{"train", {{"seed", 0}, {"batch", 5}}}}}};
  ordered_json b = a;
  EXPECT_EQ(first_difference(a, b), "");
  b["options"]["train"]["batch"] = 6;
  EXPECT_EQ(first_difference(a, b), "train, batch: 5 and 6");
  b["version"] = "2";
  EXPECT_EQ(first_difference(a, b), "version: \"1\" and \"2\"");
}

}  // namespace
}  // namespace curnm
