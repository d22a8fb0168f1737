#include "curnm/data/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using testing::fails;
using testing::TemporaryFolder;

const JournalIdentity kIdentity{.data_digest = "0123456789abcdef0123456789abcdef",
                                .feature_width = 2};

StreamEvents some_events(int count, int first = 0) {
  StreamEvents events;
  for (int i = 0; i < count; ++i) {
    events.src.push_back("user " + std::to_string(first + i));
    events.dst.push_back("x");
    events.time.push_back(first + i + 0.5);
    events.features.insert(events.features.end(), {1.5F, static_cast<float>(i)});
  }
  return events;
}

/// Commits `count` records of 1, 2, 3, ... events; returns how many events.
std::int64_t fill(Journal& journal, int count) {
  for (int i = 1; i <= count; ++i) {
    const JournalRecord record{.sequence = journal.sequence(), .events = some_events(i)};
    journal.commit({&record, 1});
  }
  return journal.sequence();
}

struct Read {
  std::vector<JournalRecord> records;
  Journal::Recovery recovery;
};
Read read(const fs::path& folder, std::int64_t from = 0) {
  Read all;
  Journal journal(folder, kIdentity);
  all.recovery =
      journal.recover(from, [&](JournalRecord&& one) { all.records.push_back(std::move(one)); });
  return all;
}

fs::path only_segment(const fs::path& folder) {
  fs::path found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".log") found = entry.path();
  }
  return found;
}

TEST(JournalTest, WhatWasCommittedIsThereAgain) {
  const TemporaryFolder folder;
  {
    Journal journal(folder.path() / "state", kIdentity);
    journal.recover(0, [](JournalRecord&&) { FAIL(); });
    fill(journal, 3);
    const std::vector<JournalRecord> group = {
        {.sequence = 6, .late = true, .events = some_events(2)},
        {.sequence = 8, .events = some_events(1, 40)}};
    journal.commit(group);
    EXPECT_EQ(journal.sequence(), 9);
  }
  const Read all = read(folder.path() / "state");
  ASSERT_EQ(all.records.size(), 5U);
  EXPECT_EQ(all.recovery.events, 9);
  EXPECT_EQ(all.recovery.cut_bytes, 0);
  EXPECT_TRUE(all.records[3].late);
  EXPECT_EQ(all.records[4].events.src.front(), "user 40");
  EXPECT_EQ(all.records[2].events.features, some_events(3).features);
}

// A kill at any byte of the last write: earlier records stay, and the journal goes on.
TEST(JournalTest, AnIncompleteEndIsCutAtTheLastWholeRecord) {
  const TemporaryFolder folder;
  {
    Journal journal(folder.path() / "state", kIdentity);
    journal.recover(0, [](JournalRecord&&) {});
    fill(journal, 3);
  }
  const fs::path segment = only_segment(folder.path() / "state");
  const std::string whole = read_file(segment);
  const std::size_t last = encode_record({.sequence = 3, .events = some_events(3)}, 2).size();
  for (std::size_t lost = 1; lost < last; ++lost) {
    write_file(segment, std::string_view(whole).substr(0, whole.size() - lost));
    const Read all = read(folder.path() / "state");
    ASSERT_EQ(all.records.size(), 2U);
    EXPECT_EQ(all.recovery.cut_bytes, static_cast<std::int64_t>(last - lost));
    EXPECT_EQ(fs::file_size(segment), whole.size() - last);
  }
  Journal journal(folder.path() / "state", kIdentity);
  journal.recover(0, [](JournalRecord&&) {});
  EXPECT_EQ(journal.sequence(), 3);
  fill(journal, 1);
}

TEST(JournalTest, DamageBeforeWholeRecordsIsRefusedWithItsOffset) {
  const TemporaryFolder folder;
  {
    Journal journal(folder.path() / "state", kIdentity);
    journal.recover(0, [](JournalRecord&&) {});
    fill(journal, 3);
  }
  const fs::path segment = only_segment(folder.path() / "state");
  const std::string whole = read_file(segment);
  const std::size_t first = encode_record({.sequence = 0, .events = some_events(1)}, 2).size();
  for (std::size_t at = 64 + first; at < 64 + first + 40; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write_file(segment, damaged);
    EXPECT_TRUE(fails<UnusableRun>([&] { read(folder.path() / "state"); },
                                   {"damaged at byte " + std::to_string(64 + first)}));
    EXPECT_EQ(read_file(segment), damaged) << "nothing is changed";
  }
}

TEST(JournalTest, EveryDamagedHeaderIsRefused) {
  const TemporaryFolder folder;
  {
    Journal journal(folder.path() / "state", kIdentity);
    journal.recover(0, [](JournalRecord&&) {});
    fill(journal, 1);
  }
  const fs::path segment = only_segment(folder.path() / "state");
  const std::string whole = read_file(segment);
  for (std::size_t at = 0; at < 64; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write_file(segment, damaged);
    EXPECT_TRUE(fails<UnusableRun>([&] { read(folder.path() / "state"); }, {}));
  }
}

TEST(JournalTest, ContinuesOnlyItsOwnNetwork) {
  const TemporaryFolder folder;
  {
    Journal journal(folder.path() / "state", kIdentity);
    journal.recover(0, [](JournalRecord&&) {});
  }
  Journal other(folder.path() / "state", {.data_digest = std::string(32, 'f'), .feature_width = 2});
  EXPECT_TRUE(fails<UnusableRun>([&] { other.recover(0, [](JournalRecord&&) {}); },
                                 {"continues another network"}));
}

TEST(JournalTest, OneProcessAtATime) {
  const TemporaryFolder folder;
  const Journal first(folder.path() / "state", kIdentity);
  EXPECT_TRUE(fails<Error>([&] { const Journal second(folder.path() / "state", kIdentity); },
                           {"another process is serving with the state in"}));
}

// A kill may come between any two steps of a snapshot: after the rotation, and while old segments
// are removed.
TEST(JournalTest, SegmentsBeforeASnapshotMayBeThereOrGone) {
  const TemporaryFolder folder;
  const fs::path state = folder.path() / "state";
  std::int64_t snapshot = 0;
  {
    Journal journal(state, kIdentity);
    journal.recover(0, [](JournalRecord&&) {});
    snapshot = fill(journal, 3);
    journal.rotate();
    journal.rotate();  // an empty segment is enough
    fill(journal, 2);
  }
  EXPECT_EQ(read(state).recovery.events, 9) << "without the snapshot, everything is read";
  EXPECT_EQ(read(state, snapshot).recovery.events, 3);
  {
    Journal journal(state, kIdentity);
    journal.recover(snapshot, [](JournalRecord&&) {});
    const std::int64_t before = journal.size();
    journal.drop_before(snapshot);
    EXPECT_LT(journal.size(), before);
    fill(journal, 1);
  }
  EXPECT_EQ(read(state, snapshot).recovery.events, 4);
  EXPECT_TRUE(fails<UnusableRun>([&] { read(state, 0); }, {"are missing"}));
}

TEST(JournalTest, ADiskThatIsFullLosesNothing) {
  const TemporaryFolder folder;
  const fs::path state = folder.path() / "state";
  Journal journal(state, kIdentity);
  journal.recover(0, [](JournalRecord&&) {});
  fill(journal, 2);
  const auto limit = [&](rlim_t bytes) {
    rlimit sizes{};
    ::getrlimit(RLIMIT_FSIZE, &sizes);
    sizes.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &sizes);
  };
  std::signal(SIGXFSZ, SIG_IGN);
  limit(static_cast<rlim_t>(journal.size()) + 50);  // a part of the next record fits
  const JournalRecord record{.sequence = journal.sequence(), .events = some_events(20)};
  EXPECT_THROW(journal.commit({&record, 1}), Error);
  limit(RLIM_INFINITY);
  EXPECT_EQ(journal.sequence(), 3);
  fill(journal, 1);
  EXPECT_EQ(journal.sequence(), 4);
}

}  // namespace
}  // namespace curnm
