#include "curnm/data/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "curnm/base/digest.h"
#include "curnm/base/error.h"
#include "curnm/base/files.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "curnmlog";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderSize = 64;  // magic, version, width, sequence, digest, checksum
constexpr std::uint32_t kRecordMagic = 0x31524e43;  // CNR1
constexpr std::size_t kRecordHead = 16;             // magic, length, checksum
constexpr std::uint32_t kMostPayload = 1U << 30;

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Reads values one after the other; `ok` turns false where there are too few bytes.
struct Reading {
  std::string_view rest;
  bool ok = true;

  std::string_view take(std::size_t count) {
    if (count > rest.size()) ok = false;
    if (!ok) return {};
    const std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }
  template <class T>
  T value() {
    T result{};
    if (const std::string_view bytes = take(sizeof result); ok) {
      std::memcpy(&result, bytes.data(), sizeof result);
    }
    return result;
  }
};

std::string segment_name(std::int64_t sequence) {
  return fmt::format("events-{:020}.log", sequence);
}

std::string header_of(const JournalIdentity& identity, std::int64_t first) {
  std::string header(kMagic);
  put(header, kVersion);
  put(header, static_cast<std::uint32_t>(identity.feature_width));
  put(header, first);
  header += fmt::format("{:<32.32}", identity.data_digest);
  put(header, hash64(header));
  return header;
}

/// Throws UnusableRun unless the header is that of a segment of this journal.
void check_header(std::string_view bytes, const JournalIdentity& identity, std::int64_t first,
                  const fs::path& path) {
  const std::string expected = header_of(identity, first);
  if (bytes.starts_with(expected)) return;
  Reading reading{bytes};
  const std::string_view magic = reading.take(kMagic.size());
  const auto version = reading.value<std::uint32_t>();
  if (magic == kMagic && version > kVersion) {
    fail<UnusableRun>("{}: its format has version {}, this program knows {}", path.string(),
                      version, kVersion);
  }
  const std::string_view until_checksum = bytes.substr(0, std::min<std::size_t>(bytes.size(), 56));
  Reading checksum{bytes.substr(until_checksum.size())};
  if (magic != kMagic || until_checksum.size() < 56 ||
      checksum.value<std::uint64_t>() != hash64(until_checksum)) {
    fail<UnusableRun>("{}: damaged at byte 0: its header is not that of a log of events",
                      path.string());
  }
  fail<UnusableRun>(
      "{} continues another network, or another version of it: serve it with the data that it was "
      "begun with, or give another --state",
      path.string());
}

/// Is there a whole record anywhere in these bytes?
bool has_record(std::string_view bytes, std::int64_t width) {
  std::string magic;
  put(magic, kRecordMagic);
  for (std::size_t at = bytes.find(magic); at != std::string_view::npos;
       at = bytes.find(magic, at + 1)) {
    std::size_t size = 0;
    if (decode_record(bytes.substr(at), width, size)) return true;
  }
  return false;
}

void write_all(int descriptor, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_os(fmt::format("cannot write to {}", path.string()), errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::string encode_record(const JournalRecord& record, std::int64_t feature_width) {
  const StreamEvents& events = record.events;
  CURNM_ASSERT(std::ssize(events.features) == events.size() * feature_width);
  std::string payload;
  put(payload, record.sequence);
  put(payload, static_cast<std::uint32_t>(record.late ? 1 : 0));
  put(payload, static_cast<std::uint32_t>(events.size()));
  for (std::size_t i = 0; i < events.time.size(); ++i) {
    put(payload, events.time[i]);
    put(payload, static_cast<std::uint32_t>(events.src[i].size()));
    put(payload, static_cast<std::uint32_t>(events.dst[i].size()));
    payload += events.src[i];
    payload += events.dst[i];
  }
  payload.append(reinterpret_cast<const char*>(events.features.data()),
                 events.features.size() * sizeof(float));
  CURNM_ASSERT(payload.size() <= kMostPayload);
  std::string bytes;
  bytes.reserve(kRecordHead + payload.size());
  put(bytes, kRecordMagic);
  put(bytes, static_cast<std::uint32_t>(payload.size()));
  put(bytes, hash64(payload));
  bytes += payload;
  return bytes;
}

std::optional<JournalRecord> decode_record(std::string_view bytes, std::int64_t feature_width,
                                           std::size_t& size) {
  Reading head{bytes};
  const bool begins = head.value<std::uint32_t>() == kRecordMagic;
  const auto length = head.value<std::uint32_t>();
  const auto checksum = head.value<std::uint64_t>();
  const std::string_view payload = head.take(length);
  if (!head.ok || !begins || hash64(payload) != checksum) return std::nullopt;
  Reading reading{payload};
  JournalRecord record{.sequence = reading.value<std::int64_t>()};
  const auto kind = reading.value<std::uint32_t>();
  record.late = kind == 1;
  const auto count = reading.value<std::uint32_t>();
  constexpr std::size_t kLeastPerEvent = 16;
  if (kind > 1 || record.sequence < 0 || count > reading.rest.size() / kLeastPerEvent) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < count && reading.ok; ++i) {
    record.events.time.push_back(reading.value<double>());
    const auto of_src = reading.value<std::uint32_t>();
    const auto of_dst = reading.value<std::uint32_t>();
    record.events.src.emplace_back(reading.take(of_src));
    record.events.dst.emplace_back(reading.take(of_dst));
    if (!std::isfinite(record.events.time.back())) return std::nullopt;
  }
  const std::size_t floats = std::size_t{count} * index(feature_width);
  if (!reading.ok || reading.rest.size() != floats * sizeof(float)) return std::nullopt;
  record.events.features.resize(floats);
  if (floats > 0) std::memcpy(record.events.features.data(), reading.rest.data(), floats * 4);
  size = kRecordHead + payload.size();
  return record;
}

Journal::Journal(fs::path folder, JournalIdentity identity)
    : folder_(std::move(folder)), identity_(std::move(identity)) {
  create_folders(folder_);
  const fs::path lock = folder_ / "lock";
  const int made = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (made < 0) fail_os(fmt::format("cannot make {}", lock.string()), errno);
  ::close(made);
  lock_ = std::make_unique<FileLock>(lock,
                                     fmt::format("serving with the state in {}", folder_.string()));
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<Journal::Segment> Journal::segments() const {
  std::vector<Segment> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    std::int64_t first = 0;
    const std::string_view digits =
        name.size() == segment_name(0).size() ? std::string_view(name).substr(7, 20) : "";
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), first);
    if (wrong != std::errc() || segment_name(first) != name) continue;
    found.push_back({entry.path(), first, static_cast<std::int64_t>(entry.file_size())});
  }
  std::ranges::sort(found, {}, &Segment::first);
  return found;
}

std::int64_t Journal::read_segment(const Segment& segment, bool is_last, std::int64_t from,
                                   const std::function<void(JournalRecord&&)>& apply,
                                   Recovery& recovery) {
  const std::string bytes = read_file(segment.path);
  // A kill while the segment was made: it holds nothing yet.
  if (is_last && bytes.size() < kHeaderSize) {
    recovery.cut_bytes += std::ssize(bytes);
    recovery.cut_file = segment.path;
    return 0;
  }
  check_header(bytes, identity_, segment.first, segment.path);
  std::size_t at = kHeaderSize;
  while (at < bytes.size()) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    std::size_t size = 0;
    std::optional<JournalRecord> record = decode_record(rest, identity_.feature_width, size);
    if (!record) {
      if (!is_last || has_record(rest.substr(1), identity_.feature_width)) {
        fail<UnusableRun>(
            "{}: damaged at byte {}, and whole records follow it: put the file back from a copy, "
            "or move the folder away to begin anew",
            segment.path.string(), at);
      }
      recovery.cut_bytes += std::ssize(rest);
      recovery.cut_file = segment.path;
      break;
    }
    if (record->sequence > sequence_ || (record->sequence < sequence_ && sequence_ > from)) {
      fail<UnusableRun>("{}: byte {}: events {} .. {} are missing before it", segment.path.string(),
                        at, sequence_, record->sequence - 1);
    }
    at += size;
    const std::int64_t count = record->events.size();
    if (record->sequence < sequence_) continue;  // already in the snapshot
    sequence_ += count;
    ++recovery.records;
    recovery.events += count;
    apply(std::move(*record));
  }
  return static_cast<std::int64_t>(at);
}

Journal::Recovery Journal::recover(std::int64_t sequence,
                                   const std::function<void(JournalRecord&&)>& apply) {
  CURNM_ASSERT(descriptor_ < 0);
  sequence_ = sequence;
  Recovery recovery;
  const std::vector<Segment> all = segments();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_last = i + 1 == all.size();
    const std::int64_t good = read_segment(all[i], is_last, sequence, apply, recovery);
    if (!is_last) {
      size_ += all[i].bytes;
    } else if (good > 0) {
      open_segment(all[i].path);
      undo_write(good);
    } else {
      fs::remove(all[i].path);
    }
  }
  if (!all.empty() && all.back().first > sequence_) {
    fail<UnusableRun>("{}: the events before it, {} .. {}, are missing", all.back().path.string(),
                      sequence_, all.back().first - 1);
  }
  if (descriptor_ < 0) begin_segment();
  return recovery;
}

void Journal::open_segment(const fs::path& path) {
  const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (opened < 0) fail_os(fmt::format("cannot open {}", path.string()), errno);
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = opened;
  current_ = path;
  current_bytes_ = 0;
}

/// Cuts the current segment to what is known to be whole.
void Journal::undo_write(std::int64_t good) {
  if (::ftruncate(descriptor_, good) != 0 || ::lseek(descriptor_, good, SEEK_SET) < 0) {
    failed_ = true;
    fail_os(fmt::format("cannot cut {} to {} bytes", current_.string(), good), errno);
  }
  size_ += good - current_bytes_;
  current_bytes_ = good;
}

void Journal::begin_segment() {
  const fs::path path = folder_ / segment_name(sequence_);
  const std::string header = header_of(identity_, sequence_);
  write_file_atomically(path, header);
  open_segment(path);
  undo_write(static_cast<std::int64_t>(header.size()));
  sync_folder(folder_);
}

void Journal::commit(std::span<const JournalRecord> records) {
  if (failed_) {
    fail("{} failed to be written before: restart once the disk is well", current_.string());
  }
  std::string bytes;
  std::int64_t count = 0;
  for (const JournalRecord& record : records) {
    bytes += encode_record(record, identity_.feature_width);
    count += record.events.size();
  }
  try {
    write_all(descriptor_, bytes, current_);
  } catch (const Error&) {
    undo_write(current_bytes_);
    throw;
  }
  if (::fdatasync(descriptor_) != 0) {
    const int reason = errno;
    failed_ = true;
    // What was refused should not be there after a restart, if the disk still can do that.
    if (::ftruncate(descriptor_, current_bytes_) == 0) ::fdatasync(descriptor_);
    fail_os(fmt::format("cannot sync {}", current_.string()), reason);
  }
  current_bytes_ += std::ssize(bytes);
  size_ += std::ssize(bytes);
  sequence_ += count;
}

void Journal::rotate() {
  if (failed_) return;  // its end may be torn, which only the last segment may be
  if (current_bytes_ > static_cast<std::int64_t>(kHeaderSize)) begin_segment();
}

void Journal::drop_before(std::int64_t sequence) {
  const std::vector<Segment> all = segments();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (all[i + 1].first > sequence) break;
    fs::remove(all[i].path);
    size_ -= all[i].bytes;
  }
  sync_folder(folder_);
}

}  // namespace curnm
