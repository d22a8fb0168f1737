#include "curnm/runs/tensorboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>

#include "curnm/base/error.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

// The few kinds of fields of protobuf's wire format that an event needs.
enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, int field, WireType type) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | type);
}

/// Little-endian, as protobuf and the frames of records want it.
template <class Unsigned>
void put_fixed(std::string& out, Unsigned value) {
  for (std::size_t byte = 0; byte < sizeof value; ++byte) {
    out += static_cast<char>(value >> (8 * byte));
  }
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

/// The beginning of an event: when, and at which epoch.
std::string event_at(std::int64_t epoch) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  put_key(event, 1, kFixed64);  // wall_time
  put_fixed(event, std::bit_cast<std::uint64_t>(now.count()));
  put_key(event, 2, kVarint);  // step
  put_varint(event, static_cast<std::uint64_t>(epoch));
  return event;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78U : 0U);
    table[byte] = value;
  }
  return table;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes)
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8U;
}

std::map<std::string, double> scalars_of(const EpochRecord& record) {
  std::map<std::string, double> scalars = {{"validation/ap", record.validation_ap},
                                           {"seconds/epoch", record.seconds}};
  if (record.validation_mrr) scalars["validation/mrr"] = *record.validation_mrr;
  for (const auto& [name, value] : record.validation) scalars["validation/" + name] = value;
  for (const auto& [name, value] : record.losses) scalars["loss/" + name] = value;
  for (const auto& [name, value] : record.mining) scalars["mining/" + name] = value;
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    scalars[fmt::format("seconds/{}", kStageNames[i])] = record.stages[i];
  }
  return scalars;
}

TensorBoardLog::TensorBoardLog(const fs::path& folder, std::int64_t first_epoch) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) fail("cannot create {}: {}", folder.string(), failed.message());
  // TensorBoard reads the files of a folder in the order of their names, by the time in them.
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  path_ = folder / fmt::format("events.out.tfevents.{:010}.{}.{}.curnm", seconds.count(),
                               host_name(), ::getpid());
  file_.open(path_, std::ios::binary | std::ios::app);
  std::string version = event_at(0);
  put_bytes(version, 3, "brain.Event:2");  // file_version
  write(version);
  std::string start = event_at(first_epoch);
  std::string session;
  put_key(session, 1, kVarint);  // status
  put_varint(session, 1);        // START
  put_bytes(start, 7, session);  // session_log
  write(start);
}

void TensorBoardLog::add(const EpochRecord& record) { add(record.epoch, scalars_of(record)); }

void TensorBoardLog::add(std::int64_t epoch, const std::map<std::string, double>& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    put_bytes(value, 1, tag);
    put_key(value, 2, kFixed32);  // simple_value
    put_fixed(value, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    put_bytes(summary, 1, value);
  }
  std::string event = event_at(epoch);
  put_bytes(event, 5, summary);
  write(event);
}

void TensorBoardLog::write(std::string_view event) {
  std::string length;
  put_fixed(length, std::uint64_t{event.size()});
  std::string record = length;
  put_fixed(record, masked_crc32c(length));
  record += event;
  put_fixed(record, masked_crc32c(event));
  file_.write(record.data(), static_cast<std::streamsize>(record.size()));
  file_.flush();  // an epoch is there to be looked at once it is over
  if (!file_) fail("cannot write {}", path_.string());
}

}  // namespace curnm
