#include "curnm/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/file_lock.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using testing::fails;
using testing::names_in;
using testing::read_bytes;
using testing::TemporaryFolder;

using Names = std::vector<std::string>;

class FilesTest : public ::testing::Test {
 protected:
  /// A folder `name` in the way, with the file `old`.
  fs::path existing_folder(const std::string& name) const {
    fs::create_directory(here_ / name);
    write_file(here_ / name / "old", "old content");
    return here_ / name;
  }

  TemporaryFolder here_;
};

using WriteFileTest = FilesTest;
using MappedFileTest = FilesTest;
using AtomicFolderTest = FilesTest;

/// Expects body(i) to end without an exception in each of some processes at once.
template <class Body>
void expect_success_in_processes(int count, const Body& body) {
  std::vector<pid_t> writers;
  for (int writer = 0; writer < count; ++writer) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      int failed = 0;
      try {
        body(writer);
      } catch (const std::exception&) {
        failed = 1;
      }
      ::_exit(failed);
    }
    writers.push_back(pid);
  }
  for (const pid_t pid : writers) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(WriteFileTest, WritesEveryByte) {
  std::string bytes;
  for (int i = 0; i < 300000; ++i) bytes.push_back(static_cast<char>(i * 7 % 256));
  write_file(here_ / "bytes", bytes);
  EXPECT_EQ(read_bytes(here_ / "bytes"), bytes);
  write_file(here_ / "raw", std::as_bytes(std::span(bytes)));
  EXPECT_EQ(read_bytes(here_ / "raw"), bytes);
}

TEST_F(WriteFileTest, ReplacesALongerFile) {
  write_file(here_ / "file", "a long first content");
  write_file(here_ / "file", "short");
  EXPECT_EQ(read_bytes(here_ / "file"), "short");
  write_file(here_ / "file", "");
  EXPECT_EQ(fs::file_size(here_ / "file"), 0u);
}

TEST_F(WriteFileTest, FullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_TRUE(fails<DiskFull>([] { write_file("/dev/full", "content"); },
                              {"/dev/full", "No space left on device"}));
}

TEST_F(WriteFileTest, ImpossiblePlacesAreErrors) {
  const fs::path missing = here_ / "missing" / "file";
  EXPECT_TRUE(fails([&] { write_file(missing, "content"); },
                    {missing.string(), "No such file or directory"}));
  EXPECT_THROW(write_file(here_.path(), "content"), Error) << "a folder";
  EXPECT_THROW(write_file("", "content"), Error);
}

TEST_F(MappedFileTest, ShowsTheBytes) {
  std::string bytes("first\0second\n\xff", 14);
  bytes.append(100000, 'x');
  write_file(here_ / "file", bytes);
  const auto mapped = MappedFile::open(here_ / "file");
  EXPECT_EQ(mapped->text(), bytes);
  ASSERT_EQ(mapped->bytes().size(), bytes.size());
  EXPECT_EQ(mapped->bytes()[13], std::byte{0xff});
}

TEST_F(MappedFileTest, OutlivesTheName) {
  write_file(here_ / "file", "content");
  const auto mapped = MappedFile::open(here_ / "file");
  fs::remove(here_ / "file");
  EXPECT_EQ(mapped->text(), "content");
}

TEST_F(MappedFileTest, EmptyFileIsEmpty) {
  write_file(here_ / "empty", "");
  const auto mapped = MappedFile::open(here_ / "empty");
  EXPECT_TRUE(mapped->bytes().empty());
  EXPECT_EQ(mapped->text(), "");
}

TEST_F(MappedFileTest, MissingFileIsAnError) {
  const fs::path missing = here_ / "missing";
  EXPECT_TRUE(
      fails([&] { MappedFile::open(missing); }, {missing.string(), "No such file or directory"}));
}

TEST_F(MappedFileTest, WhatIsNoFileIsAnError) {
  EXPECT_TRUE(fails([&] { MappedFile::open(here_.path()); }, {here_.path().string()}));
  EXPECT_THROW(MappedFile::open("/dev/null"), Error);
  EXPECT_THROW(MappedFile::open(""), Error);
}

TEST_F(AtomicFolderTest, AppearsAtTheCommit) {
  const fs::path target = here_ / "data";
  {
    AtomicFolder folder(target, /*replace=*/false);
    EXPECT_EQ(folder.staging().parent_path(), here_.path()) << "staging is not beside the target";
    write_file(folder.staging() / "a", "A");
    fs::create_directory(folder.staging() / "inner");
    write_file(folder.staging() / "inner" / "b", "B");
    EXPECT_FALSE(fs::exists(target));
    folder.commit();
    EXPECT_TRUE(fs::exists(target));
  }
  EXPECT_EQ(names_in(here_.path()), Names{"data"});
  EXPECT_EQ(names_in(target), (Names{"a", "inner"}));
  EXPECT_EQ(read_bytes(target / "inner" / "b"), "B");
  EXPECT_NE(fs::status(target).permissions() & fs::perms::others_read, fs::perms::none);
}

TEST_F(AtomicFolderTest, WithoutACommitNothingAppears) {
  {
    const AtomicFolder folder(here_ / "data", /*replace=*/false);
    write_file(folder.staging() / "a", "A");
  }
  EXPECT_EQ(names_in(here_.path()), Names{});
  try {
    const AtomicFolder folder(here_ / "data", /*replace=*/false);
    write_file(folder.staging() / "a", "A");
    throw std::runtime_error("in the middle");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(names_in(here_.path()), Names{});
}

TEST_F(AtomicFolderTest, RefusesAnExistingTarget) {
  const fs::path target = existing_folder("data");
  EXPECT_TRUE(
      fails([&] { AtomicFolder(target, /*replace=*/false); }, {target.string(), "exists already"}));
  write_file(here_ / "file", "content");
  EXPECT_THROW(AtomicFolder(here_ / "file", /*replace=*/false), Error);
  EXPECT_EQ(names_in(here_.path()), (Names{"data", "file"}));
  EXPECT_EQ(read_bytes(target / "old"), "old content");
}

TEST_F(AtomicFolderTest, ReplacesAtTheCommitOnly) {
  const fs::path target = existing_folder("data");
  AtomicFolder folder(target, /*replace=*/true);
  write_file(folder.staging() / "new", "new content");
  EXPECT_EQ(names_in(target), Names{"old"});
  EXPECT_EQ(read_bytes(target / "old"), "old content");
  folder.commit();
  EXPECT_EQ(names_in(target), Names{"new"});
  EXPECT_EQ(read_bytes(target / "new"), "new content");
  EXPECT_EQ(names_in(here_.path()), Names{"data"}) << "the old folder is still somewhere";
}

TEST_F(AtomicFolderTest, AbandonedReplacementLeavesTheOldFolder) {
  const fs::path target = existing_folder("data");
  {
    const AtomicFolder folder(target, /*replace=*/true);
    write_file(folder.staging() / "new", "new content");
  }
  EXPECT_EQ(names_in(target), Names{"old"});
  EXPECT_EQ(names_in(here_.path()), Names{"data"});
}

TEST_F(AtomicFolderTest, ReplaceNeedsNothingToReplace) {
  AtomicFolder folder(here_ / "data", /*replace=*/true);
  write_file(folder.staging() / "new", "new content");
  folder.commit();
  EXPECT_EQ(names_in(here_ / "data"), Names{"new"});
}

TEST_F(AtomicFolderTest, ReplacesAFileToo) {
  write_file(here_ / "data", "a file");
  AtomicFolder folder(here_ / "data", /*replace=*/true);
  folder.commit();
  EXPECT_TRUE(fs::is_directory(here_ / "data"));
  EXPECT_EQ(names_in(here_.path()), Names{"data"});
}

TEST_F(AtomicFolderTest, WhatAppearsMeanwhileStays) {
  {
    AtomicFolder folder(here_ / "data", /*replace=*/false);
    write_file(folder.staging() / "new", "new content");
    existing_folder("data");
    EXPECT_THROW(folder.commit(), Error);
  }
  EXPECT_EQ(names_in(here_ / "data"), Names{"old"});
  EXPECT_EQ(names_in(here_.path()), Names{"data"});
}

TEST_F(AtomicFolderTest, CreatesTheFoldersAbove) {
  AtomicFolder folder(here_ / "a" / "b" / "data", /*replace=*/false);
  folder.commit();
  EXPECT_TRUE(fs::is_directory(here_ / "a" / "b" / "data"));
}

TEST_F(AtomicFolderTest, TrailingSlashAndDotsMeanTheSameFolder) {
  AtomicFolder folder(here_.path().string() + "/x/../data//", /*replace=*/false);
  EXPECT_EQ(folder.staging().parent_path(), here_.path());
  folder.commit();
  EXPECT_EQ(names_in(here_.path()), Names{"data"});
  EXPECT_THROW(AtomicFolder(here_.path().string() + "/data/", /*replace=*/false), Error);
}

TEST_F(AtomicFolderTest, TwoWritersDoNotMeet) {
  AtomicFolder first(here_ / "data", /*replace=*/true);
  AtomicFolder second(here_ / "data", /*replace=*/true);
  ASSERT_NE(first.staging(), second.staging());
  write_file(first.staging() / "first", "1");
  write_file(second.staging() / "second", "2");
  first.commit();
  EXPECT_EQ(names_in(here_ / "data"), Names{"first"});
  second.commit();
  EXPECT_EQ(names_in(here_ / "data"), Names{"second"});
  EXPECT_EQ(names_in(here_.path()), Names{"data"});
}

TEST_F(AtomicFolderTest, ManyWritersSideBySideAllSucceed) {
  constexpr int kFolders = 100;
  expect_success_in_processes(4, [&](int writer) {
    for (int i = 0; i < kFolders; ++i) {
      AtomicFolder(here_ / fmt::format("{}-{}", writer, i), /*replace=*/false).commit();
    }
  });
  EXPECT_EQ(names_in(here_.path()).size(), 4U * kFolders);
}

TEST_F(AtomicFolderTest, ImpossiblePlacesAreErrors) {
  write_file(here_ / "file", "content");
  EXPECT_THROW(AtomicFolder(here_ / "file" / "data", /*replace=*/false), Error);
  EXPECT_THROW(AtomicFolder("/proc/curnm-test", /*replace=*/false), Error);
  EXPECT_EQ(names_in(here_.path()), Names{"file"});
}

TEST_F(AtomicFolderTest, EmptyNameIsAnError) {
  EXPECT_THROW(AtomicFolder("", /*replace=*/false), Error);
}

TEST_F(FilesTest, AFileThatIsReplacedIsAFile) {
  write_file(here_ / "file", "old");
  std::filesystem::create_symlink("file", here_ / "link");
  write_file_atomically(here_ / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(here_ / "link"));
  EXPECT_EQ(MappedFile::open(here_ / "file")->text(), "new");
  EXPECT_EQ(names_in(here_.path()), (Names{"file", "link"}));

  ASSERT_EQ(::mkfifo((here_ / "pipe").c_str(), 0600), 0);
  const int reader = ::open((here_ / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_file_atomically(here_ / "pipe", "through");
  char read[8] = {};
  EXPECT_EQ(::read(reader, read, sizeof(read)), 7);
  EXPECT_STREQ(read, "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(here_ / "pipe"));
  EXPECT_THROW(write_file_atomically(here_.path(), "a folder"), Error);
}

TEST(LastName, IgnoresASeparatorAtTheEnd) {
  EXPECT_EQ(last_name("data/uci"), "uci");
  EXPECT_EQ(last_name("data/uci/"), "uci");
  EXPECT_EQ(last_name("synthetic:drift"), "synthetic:drift");
}

using WriteAtomicallyTest = FilesTest;

TEST_F(WriteAtomicallyTest, LinksThatSomebodyPlantedAreNotFollowed) {
  write_file(here_ / "victim", "precious");
  fs::create_symlink(here_ / "victim", here_ / "report.html.partial");
  write_file_atomically(here_ / "report.html", "new");
  EXPECT_EQ(read_bytes(here_ / "victim"), "precious");
  EXPECT_EQ(read_bytes(here_ / "report.html"), "new");
}

TEST_F(WriteAtomicallyTest, ManyWritersOfOneFileAllSucceed) {
  expect_success_in_processes(8, [&](int writer) {
    for (int i = 0; i < 25; ++i) {
      write_file_atomically(here_ / "report", std::string(10'000, static_cast<char>('a' + writer)));
    }
  });
  const std::string content = read_bytes(here_ / "report");
  EXPECT_EQ(content, std::string(10'000, content.front())) << "a mixture";
  EXPECT_EQ(names_in(here_.path()), Names{"report"});
}

TEST_F(WriteAtomicallyTest, WhatKilledWritersLeftIsCollected) {
  write_file(here_ / "x.curnm-partial-abcdef", "half");
  fs::create_directory(here_ / "y.curnm-partial-123456");
  write_file(here_ / "y.curnm-partial-123456" / "file", "half");
  // Not ours: other lengths, other names, a link.
  write_file(here_ / "z.curnm-partial-1234567", "theirs");
  write_file(here_ / "z.partial-123456", "theirs");
  fs::create_symlink(here_ / "z.partial-123456", here_ / "z.curnm-partial-654321");
  write_file_atomically(here_ / "new", "content");
  EXPECT_EQ(names_in(here_.path()), (Names{"new", "z.curnm-partial-1234567",
                                           "z.curnm-partial-654321", "z.partial-123456"}));
  fs::create_directory(here_ / "y.curnm-partial-123456");
  { const AtomicFolder folder(here_ / "data", /*replace=*/false); }
  EXPECT_FALSE(fs::exists(here_ / "y.curnm-partial-123456"));
}

TEST_F(WriteAtomicallyTest, WhatLiveWritersWriteIsLeftAlone) {
  AtomicFolder folder(here_ / "data", /*replace=*/false);
  write_file(folder.staging() / "a", "A");
  write_file_atomically(here_ / "other", "content");
  { const AtomicFolder second(here_ / "second", /*replace=*/false); }
  EXPECT_EQ(read_bytes(folder.staging() / "a"), "A");
  folder.commit();
  EXPECT_EQ(read_bytes(here_ / "data" / "a"), "A");
}

TEST_F(FilesTest, FilesAreReadUpToALimit) {
  write_file(here_ / "file", "content");
  EXPECT_EQ(read_file(here_ / "file"), "content");
  EXPECT_EQ(read_file(here_ / "file", 7), "content");
  EXPECT_EQ(read_beginning(here_ / "file", 3), "con");
  EXPECT_EQ(read_beginning(here_ / "file", 30), "content");
  EXPECT_TRUE(fails([&] { read_file(here_ / "file", 6); }, {"file has more than 6 bytes"}));
  EXPECT_TRUE(fails([&] { read_file(here_ / "none"); }, {"none", "No such file"}));
  EXPECT_TRUE(fails([&] { read_file(here_.path()); }, {"is not a regular file"}));
  EXPECT_TRUE(fails([&] { sync_folder(here_ / "none"); }, {"cannot sync"}));
}

TEST_F(FilesTest, AFileThatIsNotWritableCanBeLocked) {
  write_file(here_ / "options.json", "{}");
  fs::permissions(here_ / "options.json",
                  fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(here_.path(), fs::perms::all);
  const uid_t user = ::geteuid();
  if (user == 0) {  // root may write everything
    ASSERT_EQ(::seteuid(65534), 0);
  }
  bool locked = false;
  std::string refused;
  try {
    const FileLock lock(here_ / "options.json", "training");
    locked = is_locked(here_ / "options.json");
    refused = testing::error_of([&] { FileLock(here_ / "options.json", "training run"); });
  } catch (const Error& error) {
    refused = error.what();
  }
  if (user == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_TRUE(locked);
  EXPECT_EQ(refused, "another process is training run");
  EXPECT_TRUE(
      fails([&] { FileLock(here_ / "none", "training"); }, {"cannot lock", "No such file"}));
}

}  // namespace
}  // namespace curnm
