#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace curnm::testing {

/// What a power cut takes back, of all that a command has written under the library of faults
/// (support/faults.cpp). A disk promises no more than this:
///   - a file has the bytes that were there when it was last synced; of what was written since, any
///     blocks may have arrived, and its length may be the old one or the new one;
///   - a new, changed or removed name is certain once its folder has been synced; of the others a
///     beginning has arrived, in their order.
class PowerCut {
 public:
  PowerCut(std::filesystem::path disk, unsigned seed) : disk_(std::move(disk)), random_(seed) {}

  /// Leaves in the folder what is there when the power is back.
  void apply(const std::filesystem::path& folder) {
    take_back_names();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && !entry.is_symlink()) take_back_content(entry.path());
    }
  }

 private:
  struct Change {
    std::string kind;
    std::string path;
    std::string other;  // the new name; the other of two that were exchanged
    std::string kept;   // what had that name before, or has lost it
    bool certain = false;
  };

  static std::string parent(const std::string& path) { return path.substr(0, path.rfind('/')); }

  std::vector<Change> read_journal() const {
    std::vector<Change> changes;
    std::ifstream journal(disk_ / "journal");
    for (std::string line; std::getline(journal, line);) {
      std::istringstream fields(line);
      Change change;
      std::getline(fields, change.kind, '\t');
      std::getline(fields, change.path, '\t');
      std::getline(fields, change.other, '\t');
      std::getline(fields, change.kept, '\t');
      if (change.kind != "sync") {
        changes.push_back(change);
        continue;
      }
      for (Change& earlier : changes) earlier.certain |= parent(earlier.path) == change.path;
    }
    return changes;
  }

  void take_back_names() {
    const std::vector<Change> changes = read_journal();
    const std::size_t arrived = one_in(3)   ? changes.size()
                                : one_in(2) ? 0
                                            : random_() % (changes.size() + 1);
    for (std::size_t i = changes.size(); i-- > arrived;) {
      if (!changes[i].certain) take_back(changes[i]);
    }
  }

  static void take_back(const Change& change) {
    namespace fs = std::filesystem;
    std::error_code none;  // what is gone with its folder needs no taking back
    if (change.kind == "create") fs::remove(change.path, none);
    if (change.kind == "mkdir") fs::remove_all(change.path, none);
    if (change.kind == "rmdir") fs::create_directory(change.path, none);
    if (change.kind == "unlink" && change.kept != "-") {
      fs::create_hard_link(change.kept, change.path, none);
    }
    if (change.kind == "rename") {
      fs::rename(change.other, change.path, none);
      if (change.kept != "-") fs::create_hard_link(change.kept, change.other, none);
    }
    if (change.kind == "exchange") {
      ::renameat2(AT_FDCWD, change.path.c_str(), AT_FDCWD, change.other.c_str(), RENAME_EXCHANGE);
    }
  }

  void take_back_content(const std::filesystem::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return;
    const std::filesystem::path kept = disk_ / std::to_string(status.st_ino);
    if (!std::filesystem::exists(kept)) return;  // not written
    const std::string synced = read_bytes(kept);
    const std::string written = read_bytes(file);
    std::string now = one_in(2) ? synced : mixed(synced, written);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << now;
  }

  std::string mixed(const std::string& synced, const std::string& written) {
    constexpr std::size_t kBlock = 4096;
    std::string now(one_in(2) ? synced.size() : written.size(), '\0');
    for (std::size_t at = 0; at < now.size(); at += kBlock) {
      const std::string& from = one_in(2) ? synced : written;
      const std::size_t end = std::min({at + kBlock, now.size(), from.size()});
      if (at < end) std::copy(from.data() + at, from.data() + end, now.data() + at);
    }
    return now;
  }

  bool one_in(unsigned times) { return random_() % times == 0; }

  std::filesystem::path disk_;
  std::mt19937 random_;
};

}  // namespace curnm::testing
