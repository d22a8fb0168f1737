#include "curnm/base/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "curnm/base/error.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

/// The message of the Error that `action` throws; "" without one.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

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

TEST_F(WriteFileTest, WritesEveryByte) {
  std::string bytes;
  for (int i = 0; i < 300000; ++i) bytes.push_back(static_cast<char>(i * 7 % 256));
  write_file(here_ / "bytes", bytes);
  EXPECT_EQ(content_of(here_ / "bytes"), bytes);
  write_file(here_ / "raw", std::as_bytes(std::span(bytes)));
  EXPECT_EQ(content_of(here_ / "raw"), bytes);
}

TEST_F(WriteFileTest, ReplacesALongerFile) {
  write_file(here_ / "file", "a long first content");
  write_file(here_ / "file", "short");
  EXPECT_EQ(content_of(here_ / "file"), "short");
  write_file(here_ / "file", "");
  EXPECT_EQ(fs::file_size(here_ / "file"), 0u);
}

TEST_F(WriteFileTest, FullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string message = error_of([] { write_file("/dev/full", "content"); });
  EXPECT_TRUE(contains(message, "/dev/full")) << message;
  EXPECT_TRUE(contains(message, "No space left on device")) << message;
}

TEST_F(WriteFileTest, ImpossiblePlacesAreErrors) {
  const fs::path missing = here_ / "missing" / "file";
  const std::string message = error_of([&] { write_file(missing, "content"); });
  EXPECT_TRUE(contains(message, missing.string())) << message;
  EXPECT_TRUE(contains(message, "No such file or directory")) << message;
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
  const std::string message = error_of([&] { MappedFile::open(missing); });
  EXPECT_TRUE(contains(message, missing.string())) << message;
  EXPECT_TRUE(contains(message, "No such file or directory")) << message;
}

TEST_F(MappedFileTest, WhatIsNoFileIsAnError) {
  const std::string message = error_of([&] { MappedFile::open(here_.path()); });
  EXPECT_TRUE(contains(message, here_.path().string())) << message;
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
  EXPECT_EQ(content_of(target / "inner" / "b"), "B");
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
  const std::string message = error_of([&] { AtomicFolder(target, /*replace=*/false); });
  EXPECT_TRUE(contains(message, target.string())) << message;
  EXPECT_TRUE(contains(message, "--force")) << message;
  write_file(here_ / "file", "content");
  EXPECT_THROW(AtomicFolder(here_ / "file", /*replace=*/false), Error);
  EXPECT_EQ(names_in(here_.path()), (Names{"data", "file"}));
  EXPECT_EQ(content_of(target / "old"), "old content");
}

TEST_F(AtomicFolderTest, ReplacesAtTheCommitOnly) {
  const fs::path target = existing_folder("data");
  AtomicFolder folder(target, /*replace=*/true);
  write_file(folder.staging() / "new", "new content");
  EXPECT_EQ(names_in(target), Names{"old"});
  EXPECT_EQ(content_of(target / "old"), "old content");
  folder.commit();
  EXPECT_EQ(names_in(target), Names{"new"});
  EXPECT_EQ(content_of(target / "new"), "new content");
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

TEST_F(AtomicFolderTest, ImpossiblePlacesAreErrors) {
  write_file(here_ / "file", "content");
  EXPECT_THROW(AtomicFolder(here_ / "file" / "data", /*replace=*/false), Error);
  EXPECT_THROW(AtomicFolder("/proc/curnm-test", /*replace=*/false), Error);
  EXPECT_EQ(names_in(here_.path()), Names{"file"});
}

TEST_F(AtomicFolderTest, EmptyNameIsAnError) {
  EXPECT_THROW(AtomicFolder("", /*replace=*/false), Error);
}

}  // namespace
}  // namespace curnm
