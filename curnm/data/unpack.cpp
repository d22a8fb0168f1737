#include "curnm/data/unpack.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "curnm/base/files.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

struct Closed {
  void operator()(std::FILE* file) const { std::fclose(file); }
  void operator()(archive* zip) const { archive_read_free(zip); }
};

/// Where an entry of an archive goes. Throws when that is not below the folder.
fs::path place_below(const fs::path& folder, archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  const fs::path path(name == nullptr ? "" : name);
  const bool climbs = std::find(path.begin(), path.end(), "..") != path.end();
  if (path.empty() || path.is_absolute() || climbs) {
    throw DamagedArchive(
        fmt::format("its entry '{}' points outside of the archive", path.string()));
  }
  const auto type = archive_entry_filetype(entry);
  if (type != AE_IFREG && type != AE_IFDIR) {
    throw DamagedArchive(fmt::format("its entry '{}' is neither file nor folder", path.string()));
  }
  return folder / path;
}

[[noreturn]] void fail_unpacking(archive* zip, const fs::path& file) {
  const char* text = archive_error_string(zip);
  const std::string_view reason = text == nullptr ? "unknown reason" : text;
  // An intact archive that libarchive cannot decompress: downloading it again would not help.
  if (reason.find("nsupported") != std::string_view::npos) {
    fail("{} cannot be unpacked here ({}); unpack it by hand and use `curnm import`", file.string(),
         reason);
  }
  throw DamagedArchive(fmt::format("the archive is damaged ({})", reason));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("cannot create {}: {}", folder.string(), error.message());
}

/// Writes the current entry's data, of which `left` bytes are allowed. Also throws if writing
/// fails.
void unpack_file(archive* zip, const fs::path& archive_file, const fs::path& target,
                 std::int64_t& left) {
  // Exclusively: an entry that is there twice is a trick.
  std::unique_ptr<std::FILE, Closed> out(std::fopen(target.c_str(), "wbx"));
  if (!out && errno == EEXIST) {
    throw DamagedArchive(fmt::format("its entry '{}' is there twice", target.filename().string()));
  }
  if (!out) fail_os("cannot create " + target.string(), errno);
  std::vector<char> block(1 << 18);
  la_ssize_t got = 0;
  while ((got = archive_read_data(zip, block.data(), block.size())) > 0) {
    const auto count = static_cast<std::size_t>(got);
    left -= got;
    if (left < 0) {
      fail(
          "{} unpacks to more than expected of {} bytes; if that is as it should be, "
          "`curnm fetch --unpack-limit BYTES` allows more",
          archive_file.string(), fs::file_size(archive_file));
    }
    if (std::fwrite(block.data(), 1, count, out.get()) != count) {
      fail_os("cannot write " + target.string(), errno);
    }
  }
  if (got < 0) fail_unpacking(zip, archive_file);
  if (std::fclose(out.release()) != 0) {
    fail_os("cannot write " + target.string(), errno);
  }
}

}  // namespace

bool is_zip(const fs::path& file) {
  const std::string magic = read_beginning(file, 4);
  // The second is that of an archive without entries.
  return magic == "PK\x03\x04" || magic == "PK\x05\x06";
}

std::int64_t UnpackLimits::bytes_of(std::int64_t archive_bytes) const {
  if (bytes > 0) return bytes;
  return std::clamp(archive_bytes > kMost / kRatio ? kMost : archive_bytes * kRatio, kAlways,
                    kMost);
}

void unpack_zip(const fs::path& file, const fs::path& folder, const UnpackLimits& limits) {
  std::int64_t left = limits.bytes_of(static_cast<std::int64_t>(fs::file_size(file)));
  std::int64_t entries = 0;
  const std::unique_ptr<archive, Closed> zip(archive_read_new());
  archive_read_support_format_zip(zip.get());
  if (archive_read_open_filename(zip.get(), file.c_str(), 1 << 18) != ARCHIVE_OK) {
    fail_unpacking(zip.get(), file);
  }
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(zip.get(), &entry)) != ARCHIVE_EOF) {
    if (code < ARCHIVE_WARN) fail_unpacking(zip.get(), file);
    if (++entries > limits.entries) {
      throw DamagedArchive(fmt::format("it has more than {} entries", limits.entries));
    }
    const fs::path target = place_below(folder, entry);
    const bool is_folder = archive_entry_filetype(entry) == AE_IFDIR;
    make_folder(is_folder ? target : target.parent_path());
    if (!is_folder) unpack_file(zip.get(), file, target, left);
  }
}

}  // namespace curnm
