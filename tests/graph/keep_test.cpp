#include "curnm/graph/keep.h"

#include <gtest/gtest.h>

#include "curnm/base/error.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::random_log;

TEST(KeepTest, KeepsAtLeastAsManyEventsAndAQuarterMore) {
  const EventLog log = random_log(1, {.nodes = 12, .events = 300, .distinct_times = 90});
  for (const std::int64_t events : {1, 3, 10, 57, 200, 1000}) {
    const Keep keep{.events = events};
    EventId before = 0;
    for (EventId known = 0; known <= log.size(); ++known) {
      const EventId first = keep.first(known, log.time.span());
      EXPECT_GE(first, before);
      EXPECT_GE(known - first, std::min(known, events));
      EXPECT_LE(known - first, events + std::max<std::int64_t>(0, events / 4 - 1));
      before = first;
    }
  }
}

TEST(KeepTest, KeepsAtLeastSoMuchTimeAndAQuarterMore) {
  const EventLog log = random_log(1, {.nodes = 12, .events = 300, .distinct_times = 90});
  for (const double age : {0.5, 7.0, 31.0, 1e6}) {
    const Keep keep{.age = age};
    EventId before = 0;
    for (EventId known = 1; known <= log.size(); ++known) {
      const EventId first = keep.first(known, log.time.span());
      const Timestamp newest = log.time[known - 1];
      EXPECT_GE(first, before);
      EXPECT_LT(first, known);
      if (first > 0) {
        EXPECT_LT(log.time[first - 1], newest - age);
      }
      EXPECT_GE(log.time[first], newest - 1.25 * age - 1e-9);
      before = first;
    }
  }
}

// A server knows the end of the log alone.
TEST(KeepTest, TheEndOfALogSaysTheSame) {
  const EventLog log = random_log(2, {.nodes = 12, .events = 300, .distinct_times = 90});
  for (const Keep& keep : {Keep{.events = 40}, Keep{.age = 9}}) {
    for (EventId known = 1; known <= log.size(); ++known) {
      const EventId first = keep.first(known, log.time.span());
      for (const EventId begin : {first, first / 2}) {
        const auto end = log.time.span().subspan(index(begin));
        EXPECT_EQ(keep.first(known, log.time[known - 1], end, begin), first);
      }
    }
  }
}

TEST(KeepTest, IsReadFromText) {
  EXPECT_TRUE(parse_keep("").everything());
  EXPECT_EQ(parse_keep("100000").events, 100000);
  EXPECT_EQ(parse_keep("30d").age, 30 * 86400.0);
  EXPECT_EQ(parse_keep("1.5h").age, 5400);
  EXPECT_EQ(parse_keep("500s").age, 500);
  for (const char* text : {"0", "-5", "1.5", "d", "0d", "-1h", "10y", "ten", "1e999d", "5 d"}) {
    EXPECT_THROW(parse_keep(text), OptionError) << text;
  }
}

}  // namespace
}  // namespace curnm
