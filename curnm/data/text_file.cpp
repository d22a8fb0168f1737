#include "curnm/data/text_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/data/foreign.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 1 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// gzip, by zlib: libarchive does not check the checksums of gzip.
class GzipUnpacker final : public Unpacker {
 public:
  explicit GzipUnpacker(const fs::path& path)
      : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (!file_) fail("cannot open {}", path.string());
    gzbuffer(file_.get(), 1 << 18);
  }

  std::size_t read(char* block, std::size_t size) override {
    const int got = gzread(file_.get(), block, static_cast<unsigned>(size));
    int code = Z_OK;
    const char* reason = gzerror(file_.get(), &code);
    if (got < 0 || (got == 0 && code != Z_OK)) {
      fail("{} is not a complete gzip file: {}", path_.string(), reason);
    }
    return static_cast<std::size_t>(got);
  }

 private:
  fs::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

/// bzip2 and Zstandard, by libarchive.
class ArchiveUnpacker final : public Unpacker {
 public:
  ArchiveUnpacker(const fs::path& path, std::string_view kind)
      : path_(path), kind_(kind), file_(archive_read_new(), archive_read_free) {
    archive_read_support_filter_bzip2(file_.get());
    archive_read_support_filter_zstd(file_.get());
    archive_read_support_format_raw(file_.get());
    archive_read_support_format_empty(file_.get());
    archive_entry* entry = nullptr;
    if (archive_read_open_filename(file_.get(), path.c_str(), 1 << 18) != ARCHIVE_OK)
      fail_reading();
    const int code = archive_read_next_header(file_.get(), &entry);
    empty_ = code == ARCHIVE_EOF;
    if (code != ARCHIVE_OK && !empty_) fail_reading();
  }

  std::size_t read(char* block, std::size_t size) override {
    if (empty_) return 0;
    const la_ssize_t got = archive_read_data(file_.get(), block, size);
    if (got < 0) fail_reading();
    return static_cast<std::size_t>(got);
  }

 private:
  [[noreturn]] void fail_reading() const {
    const char* reason = archive_error_string(file_.get());
    fail("{} is not a complete {} file: {}", path_.string(), kind_,
         reason == nullptr ? "it ends early" : reason);
  }

  fs::path path_;
  std::string kind_;
  std::unique_ptr<archive, int (*)(archive*)> file_;
  bool empty_ = false;
};

/// Null for a file that is not compressed.
std::unique_ptr<Unpacker> make_unpacker(std::string_view bytes, const fs::path& path) {
  if (bytes.starts_with("\x1f\x8b")) return std::make_unique<GzipUnpacker>(path);
  // Behind a digit; the second is a file without content.
  const std::string_view block = bytes.substr(std::min<std::size_t>(4, bytes.size()));
  if (bytes.starts_with("BZh") &&
      (block.starts_with("1AY&SY") || block.starts_with("\x17\x72\x45\x38\x50\x90"))) {
    return std::make_unique<ArchiveUnpacker>(path, "bzip2");
  }
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) {
    return std::make_unique<ArchiveUnpacker>(path, "Zstandard");
  }
  return nullptr;
}

/// Throws for what is no text, and for text that would be misread: UTF-16, or lines that end with
/// CR alone.
void refuse_other_text(std::string_view text, const fs::path& path) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    fail("{} is UTF-16: convert it, for example with `iconv -f utf-16 -t utf-8`", path.string());
  }
  if (const std::size_t zero = text.substr(0, 4096).find('\0'); zero != text.npos) {
    fail("{} is no text: its byte {} is 0", path.string(), zero + 1);
  }
  const std::string_view start = text.substr(0, 1 << 16);
  if (start.find('\r') != start.npos && start.find('\n') == start.npos) {
    fail("the lines of {} end with CR alone: convert them, for example with `tr '\\r' '\\n'`",
         path.string());
  }
}

}  // namespace

TextFile::TextFile(const fs::path& path, UnpackLimit limit)
    : path_(path),
      mapped_(MappedFile::open(path)),
      unpacker_(make_unpacker(mapped_->text(), path)) {
  refuse_foreign(mapped_->text(), path);
  if (!unpacker_) return;
  constexpr std::int64_t kMega = 1'000'000;
  constexpr std::int64_t kRatio = 100;  // tables shrink to a fifth or a twentieth
  constexpr std::int64_t kAnyFile = 100 * kMega;
  constexpr std::int64_t kMostMemory = 16'000 * kMega;
  const auto size = static_cast<std::int64_t>(mapped_->text().size());
  mapped_.reset();
  limited_by_ratio_ = limit.megabytes == 0;
  most_ = limited_by_ratio_ ? std::clamp(kRatio * size, kAnyFile, kMostMemory)
                            : limit.megabytes * kMega;
}

std::string_view TextFile::next_block() {
  std::string_view text;
  if (!unpacker_) {
    if (!started_) text = mapped_->text();
  } else {
    block_.resize(kBlock);
    block_.resize(unpacker_->read(block_.data(), block_.size()));
    text = block_;
    unpacked_ += std::ssize(text);
  }
  if (unpacked_ > most_) {
    fail("{} unpacks to more than {} MB{}: if that is right, --unpack-limit MB allows more",
         path_.string(), most_ / 1'000'000,
         limited_by_ratio_ ? ", far more than a table of its size" : "");
  }
  if (!std::exchange(started_, true)) {
    if (unpacker_) refuse_foreign(text, path_);
    refuse_other_text(text, path_);
  }
  return text;
}

std::string TextFile::first_line(const fs::path& path) {
  const auto mapped = MappedFile::open(path);
  std::string text;
  if (const auto unpacker = make_unpacker(mapped->text(), path)) {
    text.resize(kBlock);
    text.resize(unpacker->read(text.data(), text.size()));
  } else {
    text = mapped->text().substr(0, 1 << 16);
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text.substr(0, text.find_first_of("\r\n"));
}

LineReader::LineReader(const fs::path& path, UnpackLimit limit)
    : path_(path.string()), file_(std::make_unique<TextFile>(path, limit)) {
  rest_ = file_->next_block();
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

LineReader::LineReader(std::string_view text, const fs::path& path)
    : path_(path.string()), rest_(text) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool LineReader::refill() {
  if (!rest_.empty() || !file_) return !rest_.empty();
  rest_ = file_->next_block();
  return !rest_.empty();
}

bool LineReader::next() {
  if (!refill()) return false;
  ++number_;
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(std::min(line_.size() + 1, rest_.size()));
  if (end == std::string_view::npos && file_) {  // it goes on in the next block
    held_ = line_;
    while (end == std::string_view::npos && held_.size() <= kMost && refill()) {
      end = rest_.find('\n');
      const std::string_view more = rest_.substr(0, end);
      held_ += more;
      rest_.remove_prefix(std::min(more.size() + 1, rest_.size()));
    }
    line_ = held_;
  }
  if (line_.size() > kMost) {
    fail("{}:{}: the line is longer than {} MB: this is no table", path_, number_, kMost >> 20);
  }
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  return true;
}

std::string table_name(const fs::path& path) {
  std::string name = path.filename().string();
  for (std::string_view extension :
       {".gz", ".bz2", ".zst", ".csv", ".tsv", ".txt", ".jsonl", ".ndjson"}) {
    if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  }
  return name;
}

}  // namespace curnm
