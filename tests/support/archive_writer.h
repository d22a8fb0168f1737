#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace curnm::testing {

/// Writes a text as a bzip2 (`.bz2`) or Zstandard (`.zst`) file.
inline std::filesystem::path write_packed(const std::filesystem::path& path,
                                          std::string_view text) {
  archive* file = archive_write_new();
  if (path.extension() == ".bz2") {
    archive_write_add_filter_bzip2(file);
  } else {
    archive_write_add_filter_zstd(file);
  }
  archive_write_set_format_raw(file);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  const bool written =
      archive_write_open_filename(file, path.c_str()) == ARCHIVE_OK &&
      archive_write_header(file, entry) == ARCHIVE_OK &&
      archive_write_data(file, text.data(), text.size()) == static_cast<la_ssize_t>(text.size()) &&
      archive_write_close(file) == ARCHIVE_OK;
  archive_entry_free(entry);
  archive_write_free(file);
  if (!written) throw std::runtime_error("cannot write " + path.string());
  return path;
}

}  // namespace curnm::testing
