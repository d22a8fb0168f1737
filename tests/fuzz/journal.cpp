#include "curnm/data/journal.h"

#include <cmath>

#include "curnm/base/files.h"
#include "fuzz/target.h"

// A segment of the log of events. A first byte '!' takes the rest as records after a good header,
// so that the search need not find the checksum of the header.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kWidth = 1;
  const JournalIdentity identity{.data_digest = std::string(32, 'a'), .feature_width = kWidth};
  const auto folder = workspace().path() / "journal";
  std::filesystem::remove_all(folder);
  std::string text(text_of(data, size));
  if (text.starts_with('!')) {
    {
      Journal journal(folder, identity);
      journal.recover(0, [](JournalRecord&&) {});
    }
    text = read_file(folder / "events-00000000000000000000.log") + text.substr(1);
  }
  std::filesystem::create_directories(folder);
  workspace().write("journal/events-00000000000000000000.log", text);
  value_or_error([&] {
    std::int64_t events = 0;
    Journal journal(folder, identity);
    journal.recover(0, [&](JournalRecord&& record) {
      require(record.sequence == events, "records out of order");
      require(std::ssize(record.events.features) == record.events.size() * kWidth, "features");
      for (const Timestamp t : record.events.time) require(std::isfinite(t), "a time");
      events += record.events.size();
      // What was read is what would be written.
      std::size_t length = 0;
      require(decode_record(encode_record(record, kWidth), kWidth, length).has_value(), "a record");
    });
    require(journal.sequence() == events, "the sequence");
    return 0;
  });
  return 0;
}

}  // namespace curnm::fuzz
