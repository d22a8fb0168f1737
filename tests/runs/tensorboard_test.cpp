#include "curnm/runs/tensorboard.h"

#include <gtest/gtest.h>

#include <cstring>

#include "curnm/base/error.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using testing::fails;
using testing::names_in;
using testing::read_bytes;
using testing::TemporaryFolder;
using testing::write_bytes;

/// Bit by bit, as the polynomial is defined.
std::uint32_t naive_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool odd = ((crc ^ static_cast<unsigned char>(byte) >> bit) & 1) != 0;
      crc = (crc >> 1) ^ (odd ? 0x82f63b78 : 0);
    }
  }
  return ~crc;
}

template <class T>
T fixed(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Fields of a message by number: numbers as their bytes, the others as they are.
std::multimap<int, std::string> fields(std::string_view message) {
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  };
  std::multimap<int, std::string> found;
  while (at < message.size()) {
    const std::uint64_t key = varint();
    std::string value;
    std::size_t size = 0;
    switch (key & 7) {
      case 0:
        value = std::to_string(varint());
        break;
      case 1:
        size = 8;
        break;
      case 2:
        size = varint();
        break;
      case 5:
        size = 4;
        break;
      default:
        ADD_FAILURE() << "wire type " << (key & 7);
    }
    value += message.substr(at, size);
    at += size;
    found.emplace(static_cast<int>(key >> 3), value);
  }
  return found;
}

std::string only(const std::multimap<int, std::string>& found, int field) {
  EXPECT_EQ(found.count(field), 1U) << field;
  return found.contains(field) ? found.find(field)->second : "";
}

/// The messages of an event file, whose checksums have to be right.
std::vector<std::multimap<int, std::string>> events_of(std::string_view bytes) {
  std::vector<std::multimap<int, std::string>> events;
  while (!bytes.empty()) {
    const std::string_view length = bytes.substr(0, 8);
    const auto size = fixed<std::uint64_t>(length);
    const std::string_view event = bytes.substr(12, size);
    EXPECT_EQ(fixed<std::uint32_t>(bytes.substr(8)), masked_crc32c(length));
    EXPECT_EQ(fixed<std::uint32_t>(bytes.substr(12 + size)), masked_crc32c(event));
    events.push_back(fields(event));
    bytes.remove_prefix(16 + size);
  }
  return events;
}

std::map<std::string, float> scalars(const std::multimap<int, std::string>& event) {
  std::map<std::string, float> found;
  for (const auto& [field, value] : fields(only(event, 5))) {
    EXPECT_EQ(field, 1);
    const auto parts = fields(value);
    found[only(parts, 1)] = fixed<float>(only(parts, 2));
  }
  return found;
}

TEST(TensorBoard, ChecksumsAreThoseOfCastagnoli) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU) << "RFC 3720, appendix B.4";
  EXPECT_EQ(crc32c(""), 0U);
  std::string bytes;
  for (int byte = 0; byte < 700; ++byte) {
    bytes += static_cast<char>(byte * 37);
    ASSERT_EQ(crc32c(bytes), naive_crc32c(bytes));
  }
}

TEST(TensorBoard, AFileHasTheVersionTheStartAndEveryEpoch) {
  const TemporaryFolder folder;
  EpochRecord record{.epoch = 300,
                     .losses = {{"link", 0.5}},
                     .mining = {{"pi", -0.25}},
                     .validation_ap = 0.75,
                     .validation = {{"trans", 0.125}},
                     .seconds = 2};
  record.stages[3] = 1.5;
  TensorBoardLog log(folder.path() / "a" / "b", 300);
  log.add(record);
  log.add(300, {{"test/trans", 0.875}});

  ASSERT_EQ(names_in(folder.path() / "a" / "b").size(), 1U);
  const auto events = events_of(read_bytes(log.path()));
  ASSERT_EQ(events.size(), 4U);
  EXPECT_GT(fixed<double>(only(events[0], 1)), 1.7e9) << "seconds since 1970";
  EXPECT_EQ(only(events[0], 3), "brain.Event:2");
  EXPECT_EQ(only(events[1], 2), "300");
  EXPECT_EQ(only(fields(only(events[1], 7)), 1), "1") << "a session starts here";
  EXPECT_EQ(only(events[2], 2), "300");
  const auto epoch = scalars(events[2]);
  EXPECT_EQ(epoch.at("loss/link"), 0.5F);
  EXPECT_EQ(epoch.at("mining/pi"), -0.25F);
  EXPECT_EQ(epoch.at("validation/ap"), 0.75F);
  EXPECT_EQ(epoch.at("validation/trans"), 0.125F);
  EXPECT_EQ(epoch.at("seconds/epoch"), 2.0F);
  EXPECT_EQ(epoch.at("seconds/mine"), 1.5F);
  EXPECT_FALSE(epoch.contains("validation/mrr")) << "it was not measured";
  EXPECT_EQ(scalars(events[3]), (std::map<std::string, float>{{"test/trans", 0.875F}}));
}

TEST(TensorBoard, AFolderThatCannotBeIsSaid) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "file", "");
  EXPECT_TRUE(fails<Error>([&] { TensorBoardLog(folder.path() / "file", 0); }, {"cannot create"}));
}

}  // namespace
}  // namespace curnm
