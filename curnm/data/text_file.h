#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "curnm/base/files.h"

namespace curnm {

/// How much text a compressed file may become. A small file can unpack to any size, by mistake or
/// by malice; what is read from it is kept in memory.
struct UnpackLimit {
  std::int64_t megabytes = 0;  // 0: 100 times the file, at least 100 MB and at most 16 GB
};

/// Hands out the bytes of a compressed file, block by block.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  /// Fills the block from its start; the number of bytes, 0 at the end. Throws Error for a file
  /// that is damaged or ends early.
  virtual std::size_t read(char* block, std::size_t size) = 0;
};

/// The text of a file from its beginning to its end: mapped, or decompressed block by block if it
/// is gzip, bzip2 or Zstandard (told by content, not by name).
class TextFile {
 public:
  /// Throws Error for a file that is no text, with what to do about it.
  explicit TextFile(const std::filesystem::path& path, UnpackLimit limit = {});

  /// The next piece of the text, empty at its end. It is valid until the next call.
  std::string_view next_block();

  /// The first line of a file, without the line end: what the recognisers of formats look at.
  static std::string first_line(const std::filesystem::path& path);

 private:
  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> mapped_;
  std::unique_ptr<Unpacker> unpacker_;
  std::string block_;
  std::int64_t most_ = 0;  // bytes that may come out
  std::int64_t unpacked_ = 0;
  bool limited_by_ratio_ = false;
  bool started_ = false;
};

/// The lines of a text, without their ends (LF or CRLF) and without a leading byte-order mark.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path, UnpackLimit limit = {});
  /// Lines of a text that outlives the reader; `path` is for messages.
  LineReader(std::string_view text, const std::filesystem::path& path);

  /// Moves to the next line; false at the end. Throws as TextFile, and for lines beyond any table.
  bool next();
  /// Valid until next().
  std::string_view line() const { return line_; }
  std::int64_t number() const { return number_; }
  const std::string& path() const { return path_; }

 private:
  bool refill();

  std::string path_;
  std::unique_ptr<TextFile> file_;  // null where the text was given
  std::string_view rest_;           // of the current block, or of held_
  std::string held_;                // a line that began in one block and ends in another
  std::string_view line_;
  std::int64_t number_ = 0;
};

/// The name of a table: its file without .gz, .csv and the like.
std::string table_name(const std::filesystem::path& path);

}  // namespace curnm
