#include "curnm/base/dates.h"

#include <gtest/gtest.h>

#include <string>

namespace curnm {
namespace {

double seconds(std::string_view text) {
  const auto date = parse_date(text);
  return date ? date->seconds : -1;
}

TEST(DatesTest, AllSpellingsOfAnInstant) {
  for (const char* text :
       {"2024-02-29T12:30:05Z", "2024-02-29 12:30:05Z", "2024-02-29t12:30:05z",
        "2024-02-29T12:30:05+00:00", "2024-02-29T14:30:05+02:00", "2024-02-29T14:30:05+0200",
        "2024-02-29T14:30:05+02", "2024-02-29T07:00:05-05:30", "2024-02-29 12:30:05 UTC",
        "2024-02-29T12:30:05", "2024-02-29T12:30:05.000Z", "2024-03-01T00:30:05+12:00"}) {
    EXPECT_EQ(seconds(text), 1709209805) << text;
  }
  EXPECT_EQ(seconds("2024-02-29T12:30"), 1709209800);
  EXPECT_EQ(seconds("2024-02-29"), 1709164800);
  EXPECT_EQ(seconds("1970-01-01"), 0);
  EXPECT_EQ(seconds("1969-12-31T23:59:58Z"), -2);
  EXPECT_EQ(seconds("2016-12-31T23:59:60Z"), 1483228800) << "a leap second";
}

TEST(DatesTest, Fractions) {
  EXPECT_EQ(seconds("1970-01-01T00:00:01.25"), 1.25);
  EXPECT_EQ(seconds("1970-01-01T00:00:01,5Z"), 1.5);
  EXPECT_EQ(seconds("2024-02-29 12:30:05.123456"), 1709209805.123456);
}

TEST(DatesTest, ZonesAreKnown) {
  EXPECT_FALSE(parse_date("2024-02-29")->has_zone);
  EXPECT_FALSE(parse_date("2024-02-29T12:30:05.5")->has_zone);
  EXPECT_TRUE(parse_date("2024-02-29T12:30:05.5Z")->has_zone);
  EXPECT_TRUE(parse_date("2024-02-29T12:30-01")->has_zone);
}

TEST(DatesTest, EverythingElseIsNone) {
  for (const char* text : {"",
                           "2024",
                           "20240229",
                           "2024-02-30",
                           "2023-02-29",
                           "2024-13-01",
                           "2024-00-10",
                           "2024-01-00",
                           "24-01-01",
                           "2024-1-1",
                           "2024-01-01T",
                           "2024-01-01 ",
                           "2024-01-01T24:00",
                           "2024-01-01T12",
                           "2024-01-01T12:60",
                           "2024-01-01T12:30:61",
                           "2024-01-01T12:30:05.",
                           "2024-01-01T12:30:05+",
                           "2024-01-01T12:30:05+1",
                           "2024-01-01T12:30:05+24:00",
                           "2024-01-01T12:30:05+01:",
                           "2024-01-01T12:30:05Zx",
                           "2024-01-01T12:30:05 ",
                           "2024-01-01x12:30",
                           "2024/01/01",
                           "01.02.2024",
                           "-2024-01-01",
                           "+024-01-01",
                           "now"}) {
    EXPECT_FALSE(parse_date(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace curnm
