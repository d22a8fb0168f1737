#include "curnm/distributed/shared_memory.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>

#include "curnm/base/pages.h"
#include "support/thread_group.h"

namespace curnm {
namespace {

using Values = Pages<std::int64_t>;

/// Whether this address is in a file that processes have in common.
bool is_shared(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    EXPECT_EQ(std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end), 2);
    if (begin <= at && at < end) return line.find("memfd:curnm") != std::string::npos;
  }
  return false;
}

/// What each of the ranks, which are threads, shares of its columns.
std::vector<std::size_t> share(std::vector<std::vector<Values>>& ranks) {
  const auto meeting =
      std::make_shared<testing::ThreadGroup::Meeting>(static_cast<int>(ranks.size()));
  std::vector<std::size_t> shared(ranks.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      testing::ThreadGroup group(meeting, static_cast<int>(rank));
      std::vector<std::span<const std::byte>> stretches;
      for (const Values& column : ranks[rank]) {
        visit_pages(column, [&](auto pages) { stretches.push_back(pages); });
      }
      shared[rank] = share_memory(group, stretches);
    });
  }
  threads.clear();
  return shared;
}

Values numbers(std::size_t count) {
  Values values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(SharedMemoryTest, EqualColumnsAreThereOnce) {
  constexpr std::size_t kCount = 100'000;
  std::vector<std::vector<Values>> ranks(3, {numbers(kCount), numbers(10), numbers(kCount / 4)});
  const std::size_t pages = (kCount * 8 / kPageSize + kCount / 4 * 8 / kPageSize) * kPageSize;
  EXPECT_EQ(share(ranks), std::vector<std::size_t>(3, pages));
  for (const std::vector<Values>& columns : ranks) {
    EXPECT_EQ(columns, (std::vector<Values>{numbers(kCount), numbers(10), numbers(kCount / 4)}));
    EXPECT_TRUE(is_shared(columns[0].data()));
    EXPECT_FALSE(is_shared(columns[1].data())) << "too small";
    EXPECT_TRUE(is_shared(columns[2].data()));
  }
  // Whoever writes has his own; columns may grow and go.
  ranks[0][0][5] = -1;
  ranks[1][0].push_back(7);
  ranks[1][2] = {};
  EXPECT_EQ(ranks[1][0][5], 5);
  EXPECT_EQ(ranks[2][0], numbers(kCount));
  EXPECT_EQ(ranks[0][0][5], -1);
}

TEST(SharedMemoryTest, ColumnsThatDifferStayAsTheyAre) {
  constexpr std::size_t kCount = 50'000;
  std::vector<std::vector<Values>> ranks(2, {numbers(kCount), numbers(kCount)});
  ranks[1][1][40'000] = 0;
  const std::size_t one = kCount * 8 / kPageSize * kPageSize;
  EXPECT_EQ(share(ranks), (std::vector<std::size_t>{2 * one, one}));
  EXPECT_EQ(ranks[0][1], numbers(kCount));
  EXPECT_EQ(ranks[1][1][40'000], 0);
  EXPECT_FALSE(is_shared(ranks[1][1].data()));
}

TEST(SharedMemoryTest, OneRankAloneSharesNothing) {
  std::vector<std::vector<Values>> ranks(1, {numbers(50'000)});
  EXPECT_EQ(share(ranks), std::vector<std::size_t>{0});
  EXPECT_FALSE(is_shared(ranks[0][0].data()));
}

}  // namespace
}  // namespace curnm
