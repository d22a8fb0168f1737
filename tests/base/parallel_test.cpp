#include "curnm/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::ScopedThreads;

struct Piece {
  std::int64_t begin = -1;
  std::int64_t end = -1;
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// The pieces by chunk number; a chunk that was not called keeps -1.
std::vector<Piece> pieces_of(std::int64_t n, int chunks) {
  std::vector<Piece> pieces(static_cast<std::size_t>(std::max(chunks, 1)));
  parallel_chunks(n, chunks, [&](int chunk, std::int64_t begin, std::int64_t end) {
    pieces.at(static_cast<std::size_t>(chunk)) = {begin, end};
  });
  return pieces;
}

TEST(ParallelChunksTest, CutsIntoConsecutiveNearlyEqualPieces) {
  for (int chunks : {-3, 0, 1, 2, 3, 7, 16}) {
    for (std::int64_t n = 0; n <= 40; ++n) {
      const std::vector<Piece> pieces = pieces_of(n, chunks);
      std::int64_t covered = 0;
      std::int64_t shortest = n;
      std::int64_t longest = 0;
      for (const Piece& piece : pieces) {
        if (piece == Piece{}) continue;
        EXPECT_EQ(piece.begin, covered) << "n = " << n << ", chunks = " << chunks;
        EXPECT_LT(piece.begin, piece.end) << "an empty piece was called";
        covered = piece.end;
        shortest = std::min(shortest, piece.end - piece.begin);
        longest = std::max(longest, piece.end - piece.begin);
      }
      EXPECT_EQ(covered, n);
      EXPECT_LE(longest - shortest, n == 0 ? 0 : 1);
    }
  }
}

TEST(ParallelChunksTest, CallsEachIndexOnce) {
  constexpr std::int64_t kN = 10007;
  for (int chunks : {1, 2, 5, 64}) {
    std::vector<std::atomic<int>> calls(kN);
    parallel_chunks(kN, chunks, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++calls[static_cast<std::size_t>(i)];
    });
    for (const std::atomic<int>& count : calls) ASSERT_EQ(count, 1);
  }
}

TEST(ParallelChunksTest, CallsNothingForNothing) {
  for (std::int64_t n : {0, -1}) {
    for (int chunks : {0, 1, 4}) {
      parallel_chunks(n, chunks, [&](int, std::int64_t, std::int64_t) { FAIL() << "called"; });
    }
  }
}

TEST(ParallelChunksTest, CutDoesNotDependOnTheThreads) {
  std::vector<std::vector<Piece>> cuts;
  for (int threads : {1, 2, 5}) {
    const ScopedThreads scope(threads);
    cuts.push_back(pieces_of(1000, 7));
  }
  EXPECT_EQ(cuts[0], cuts[1]);
  EXPECT_EQ(cuts[0], cuts[2]);
}

TEST(ParallelChunksTest, PiecesRunAtTheSameTime) {
  if (omp_get_thread_limit() < 2) GTEST_SKIP() << "one thread only";
  std::atomic<int> started = 0;
  std::atomic<int> met = 0;
  parallel_chunks(2, 2, [&](int, std::int64_t, std::int64_t) {
    ++started;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (started < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    met += started == 2 ? 1 : 0;
  });
  EXPECT_EQ(met, 2);
}

TEST(ParallelChunksTest, RethrowsAfterEveryPieceHasEnded) {
  for (int chunks : {1, 2, 6}) {
    for (int bad = 0; bad < chunks; ++bad) {
      std::atomic<int> finished = 0;
      try {
        parallel_chunks(60, chunks, [&](int chunk, std::int64_t, std::int64_t) {
          if (chunk == bad) throw std::out_of_range("piece " + std::to_string(chunk));
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          ++finished;
        });
        FAIL() << "no exception";
      } catch (const std::out_of_range& error) {
        EXPECT_EQ(error.what(), "piece " + std::to_string(bad));
      }
      EXPECT_EQ(finished, chunks - 1);
    }
  }
}

TEST(ParallelChunksTest, ManyExceptionsGiveOne) {
  EXPECT_THROW(parallel_chunks(8, 8, [](int, std::int64_t, std::int64_t) { throw 1; }), int);
  // And nothing is left over for the next call.
  EXPECT_NO_THROW(parallel_chunks(8, 8, [](int, std::int64_t, std::int64_t) {}));
}

TEST(ParallelForTest, CoversEachRowOnceInBlocksOfAtLeastTheGrain) {
  for (int threads : {1, 2, 5}) {
    const ScopedThreads scope(threads);
    for (std::int64_t grain : {-1, 0, 1, 3, 10, 1000}) {
      for (std::int64_t n : {0, 1, 2, 9, 10, 11, 29, 100}) {
        std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
        std::atomic<int> blocks = 0;
        parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
          ++blocks;
          EXPECT_GE(end - begin, std::min(n, grain));
          for (std::int64_t i = begin; i < end; ++i) ++calls[static_cast<std::size_t>(i)];
        });
        for (const std::atomic<int>& count : calls) ASSERT_EQ(count, 1);
        EXPECT_LE(blocks, threads);
        EXPECT_EQ(blocks == 0, n == 0);
      }
    }
  }
}

TEST(ParallelForTest, Nests) {
  const ScopedThreads scope(3);
  std::vector<std::atomic<int>> calls(30 * 40);
  parallel_for(30, 1, [&](std::int64_t outer_begin, std::int64_t outer_end) {
    for (std::int64_t i = outer_begin; i < outer_end; ++i) {
      parallel_for(40, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t j = begin; j < end; ++j) ++calls[static_cast<std::size_t>(i * 40 + j)];
      });
    }
  });
  for (const std::atomic<int>& count : calls) ASSERT_EQ(count, 1);
}

TEST(ParallelForTest, PropagatesExceptions) {
  const ScopedThreads scope(4);
  EXPECT_THROW(parallel_for(1000, 1,
                            [](std::int64_t begin, std::int64_t) {
                              if (begin > 0) throw std::runtime_error("row");
                            }),
               std::runtime_error);
}

TEST(NumThreadsTest, IsWhatWasSet) {
  const int before = num_threads();
  EXPECT_GE(before, 1);
  {
    const ScopedThreads scope(3);
    EXPECT_EQ(num_threads(), 3);
  }
  EXPECT_EQ(num_threads(), before);
}

}  // namespace
}  // namespace curnm
