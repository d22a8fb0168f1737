#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "curnm/base/file_lock.h"
#include "curnm/data/stream_events.h"

namespace curnm {

/// Which stream a journal continues: another network's would be misread.
struct JournalIdentity {
  std::string data_digest;         // of the network that the events continue
  std::int64_t feature_width = 0;  // per event
};

/// Events that were accepted together.
struct JournalRecord {
  std::int64_t sequence = 0;  // events of the journal before this record
  bool late = false;          // kept, but not part of the network
  StreamEvents events;
};

/// A record as bytes, and back: nothing for bytes that are none. `size` is set to its length.
std::string encode_record(const JournalRecord& record, std::int64_t feature_width);
std::optional<JournalRecord> decode_record(std::string_view bytes, std::int64_t feature_width,
                                           std::size_t& size);

/// A folder of accepted events that survives kill -9 and a power cut: what `commit` returned for is
/// there after any restart.
///
/// Segments (events-<sequence>.log) hold a header with format version, network and a checksum, then
/// records, each with length and checksum. Only the end of the last segment may be incomplete: it
/// is cut there, at the last whole record. Damage before that is an error that names the offset:
/// acknowledged events would be lost silently otherwise. One process at a time, by a lock.
///
/// Not thread-safe: one thread writes.
class Journal {
 public:
  /// Opens or creates the folder and locks it. Throws Error if another process has it, UnusableRun
  /// for a journal of another network or a newer version, DiskFull.
  Journal(std::filesystem::path folder, JournalIdentity identity);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  struct Recovery {
    std::int64_t records = 0;
    std::int64_t events = 0;
    std::int64_t cut_bytes = 0;           // of a damaged end
    std::filesystem::path cut_file = {};  // where that was
  };
  /// Passes each record from `sequence` on to `apply`, in order; the journal then continues after
  /// the last. Throws UnusableRun for damage and gaps, with file and offset. Call it once, first.
  Recovery recover(std::int64_t sequence, const std::function<void(JournalRecord&&)>& apply);

  /// The number of events so far, from the beginning of the stream.
  std::int64_t sequence() const { return sequence_; }
  /// Bytes in all segments.
  std::int64_t size() const { return size_; }

  /// Adds records to the journal and syncs once: durable when it returns. On failure nothing has
  /// been added; throws DiskFull or Error. After a failed sync every further commit fails, because
  /// the system may have dropped what was written.
  void commit(std::span<const JournalRecord> records);

  /// Begins a new segment. What is before `sequence()` can be dropped once it is saved elsewhere.
  void rotate();
  /// Removes segments that hold nothing at or after `sequence`.
  void drop_before(std::int64_t sequence);

 private:
  struct Segment {
    std::filesystem::path path;
    std::int64_t first = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Segment> segments() const;
  void open_segment(const std::filesystem::path& path);
  void begin_segment();
  void undo_write(std::int64_t good);
  std::int64_t read_segment(const Segment& segment, bool is_last, std::int64_t from,
                            const std::function<void(JournalRecord&&)>& apply, Recovery& recovery);

  std::filesystem::path folder_;
  JournalIdentity identity_;
  std::unique_ptr<FileLock> lock_;
  int descriptor_ = -1;
  std::filesystem::path current_;
  std::int64_t current_bytes_ = 0;
  std::int64_t sequence_ = 0;
  std::int64_t size_ = 0;
  bool failed_ = false;
};

}  // namespace curnm
