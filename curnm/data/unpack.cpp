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

/// Writes the current entry's data. Also throws if writing fails.
void unpack_file(archive* zip, const fs::path& archive_file, const fs::path& target) {
  std::unique_ptr<std::FILE, Closed> out(std::fopen(target.c_str(), "wb"));
  if (!out) fail_os("cannot create " + target.string(), errno);
  std::vector<char> block(1 << 18);
  la_ssize_t got = 0;
  while ((got = archive_read_data(zip, block.data(), block.size())) > 0) {
    const auto count = static_cast<std::size_t>(got);
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
  const auto mapped = MappedFile::open(file);
  // The second is that of an archive without entries.
  return mapped->text().starts_with("PK\x03\x04") || mapped->text().starts_with("PK\x05\x06");
}

void unpack_zip(const fs::path& file, const fs::path& folder) {
  const std::unique_ptr<archive, Closed> zip(archive_read_new());
  archive_read_support_format_zip(zip.get());
  if (archive_read_open_filename(zip.get(), file.c_str(), 1 << 18) != ARCHIVE_OK) {
    fail_unpacking(zip.get(), file);
  }
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(zip.get(), &entry)) != ARCHIVE_EOF) {
    if (code < ARCHIVE_WARN) fail_unpacking(zip.get(), file);
    const fs::path target = place_below(folder, entry);
    const bool is_folder = archive_entry_filetype(entry) == AE_IFDIR;
    make_folder(is_folder ? target : target.parent_path());
    if (!is_folder) unpack_file(zip.get(), file, target);
  }
}

}  // namespace curnm
