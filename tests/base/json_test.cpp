#include "curnm/base/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;
using testing::fails;

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(JsonTest, ReadsDocuments) {
  EXPECT_EQ(parse_json(R"({"b": [1, 2.5], "a": null})").dump(), R"({"b":[1,2.5],"a":null})");
  EXPECT_EQ(parse_json(nested(32)).dump(), nested(32));
  const std::string filled = std::string(32, '[') + "1" + std::string(32, ']');
  EXPECT_EQ(parse_json(filled).dump(), filled);
}

TEST(JsonTest, DepthIsBounded) {
  EXPECT_TRUE(fails<BadJson>([] { parse_json(nested(33)); }, {"more than 32 levels deep"}));
  EXPECT_TRUE(fails<BadJson>([] { parse_json(std::string(5'000'000, '[')); }, {"levels deep"}));
  std::string maps;
  for (int i = 0; i < 100'000; ++i) maps += "{\"a\":";
  EXPECT_TRUE(fails<BadJson>([&] { parse_json(maps); }, {"levels deep"}));
}

TEST(JsonTest, WhatIsNoJsonIsNamedByItsPlace) {
  EXPECT_TRUE(fails<BadJson>([] { parse_json("{\"a\": x}"); }, {"byte 7 is not JSON"}));
  EXPECT_TRUE(fails<BadJson>([] { parse_json(""); }, {"is not JSON"}));
  EXPECT_TRUE(fails<BadJson>([] { parse_json("1 2"); }, {"is not JSON"}));
  EXPECT_TRUE(fails<BadJson>([] { parse_json("[1e999]"); }, {"overflow"}));
}

TEST(JsonTest, FilesAreReadWhole) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(read_json(folder.write("a.json", "[1]")).dump(), "[1]");
  EXPECT_TRUE(fails([&] { read_json(folder / "none"); }, {"none", "No such file"}));
}

TEST(JsonTest, ReasonsAreForPeople) {
  try {
    (void)ordered_json::parse("{}").at("epoch");
    FAIL();
  } catch (const nlohmann::json::exception& error) {
    EXPECT_EQ(json_reason(error), "key 'epoch' not found");
  }
}

TEST(JsonTest, WholeNumbersAreCheckedAgainstBounds) {
  const ordered_json json = parse_json(
      R"({"good": 7, "real": 4.5, "text": "7", "big": 18446744073709551615, "low": -1e9,
          "negative": -1})");
  EXPECT_EQ(json_integer(json, "good", 0, 7), 7);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto refused = [&](const char* key, const char* reason) {
    return fails<BadJson>([&] { json_integer(json, key, 0, kMost); }, {key, reason});
  };
  EXPECT_TRUE(refused("real", "4.5 instead of a whole number"));
  EXPECT_TRUE(refused("text", "instead of a whole number"));
  EXPECT_TRUE(refused("low", "instead of a whole number"));
  EXPECT_TRUE(refused("big", "18446744073709551615, which is not between 0 and"));
  EXPECT_TRUE(refused("negative", "-1, which is not between"));
  EXPECT_TRUE(refused("none", "is missing"));
  EXPECT_TRUE(fails<BadJson>([&] { json_integer(json, "good", 0, 6); }, {"between 0 and 6"}));
  EXPECT_TRUE(fails<BadJson>([&] { json_integer(ordered_json(3), "x", 0, 6); }, {"not an object"}));
}

TEST(JsonTest, NumbersAndTextsAreOfTheirKind) {
  const ordered_json json = parse_json(R"({"n": 0.5, "s": "x", "null": null})");
  EXPECT_EQ(json_number(json, "n"), 0.5);
  EXPECT_EQ(json_string(json, "s"), "x");
  EXPECT_TRUE(fails<BadJson>([&] { json_number(json, "null"); }, {"'null' is null instead"}));
  EXPECT_TRUE(fails<BadJson>([&] { json_string(json, "n"); }, {"0.5 instead of a text"}));
}

}  // namespace
}  // namespace curnm
