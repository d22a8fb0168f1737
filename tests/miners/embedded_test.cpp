#include "curnm/miners/embedded.h"

#include <gtest/gtest.h>

#include <set>

#include "support/curnm_scene.h"

namespace curnm {
namespace {

using testing::half_selected;
using testing::kPool;
using testing::MiningNetwork;
using testing::random_log;

TEST(BatchRootsTest, EveryQuestionIsAskedOnceAndFoundAgain) {
  const MiningNetwork network(random_log(9, {.nodes = 14, .events = 120, .distinct_times = 20}));
  const auto miner =
      network.miner("curnm", half_selected([](CurnmOptions&) {}, /*corrupt=*/"both"));
  miner->begin_epoch(0);
  const EventBatch batch = network.batch(40, 80);
  const Candidates candidates = miner->propose(batch, Rng(1, Stream::kTest));
  const BatchRoots asked(batch, candidates);
  const Roots roots = asked.roots();
  const Embedded z(torch::zeros({roots.size(), 1}), asked);
  std::set<std::pair<NodeId, Timestamp>> distinct;
  for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
    EXPECT_TRUE(distinct.insert({roots.nodes[r], roots.times[r]}).second) << "asked twice";
  }
  const auto expect_row = [&](const torch::Tensor& rows, std::size_t n, NodeId node, Timestamp t) {
    const auto r =
        static_cast<std::size_t>(rows[static_cast<std::int64_t>(n)].item<std::int64_t>());
    EXPECT_EQ(roots.nodes[r], node);
    EXPECT_EQ(roots.times[r], t);
  };
  for (std::size_t i = 0; i < batch.src.size(); ++i) {
    expect_row(z.sources.index_select(0, z.source), i, batch.src[i], batch.time[i]);
    expect_row(z.dst, i, batch.dst[i], batch.time[i]);
    for (std::size_t j = 0; j < kPool; ++j) {
      const std::size_t slot = i * kPool + j;
      expect_row(z.candidates, slot, candidates.nodes[slot], batch.time[i]);
    }
  }
  EXPECT_EQ(std::get<0>(torch::_unique(z.sources)).numel(), z.sources.numel()) << "mapped twice";
  ASSERT_GT(candidates.extra.size(), 0);
  for (std::size_t x = 0; x < candidates.extra.rows.size(); ++x) {
    const Timestamp t = batch.time[static_cast<std::size_t>(candidates.extra.rows[x])];
    expect_row(z.sources.index_select(0, z.extra_source), x, candidates.extra.src[x], t);
    expect_row(z.extra_dst, x, candidates.extra.dst[x], t);
  }
}

}  // namespace
}  // namespace curnm
