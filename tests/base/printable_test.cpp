#include "curnm/base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace curnm {
namespace {

TEST(PrintableTest, TextStaysAsItIs) {
  EXPECT_EQ(printable("caf\xc3\xa9, \xf0\x9f\x9a\x80 'x'"), "caf\xc3\xa9, \xf0\x9f\x9a\x80 'x'");
}

TEST(PrintableTest, ControlsAndOtherBytesAreEscaped) {
  EXPECT_EQ(printable("a\x1b[31mb\tc\n"), "a\\x1b[31mb\\x09c\\x0a");
  EXPECT_EQ(printable(std::string_view("\0\xff\xc3", 3)), "\\x00\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "the CSI of 8 bits, as UTF-8";
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("a\nb\x1b", 100, /*line_ends=*/true), "a\nb\\x1b");
}

TEST(PrintableTest, LongTextsAreCut) {
  EXPECT_EQ(printable(std::string(5000, 'x'), 10), "xxxxxxxxxx...");
}

TEST(PrintableTest, WhatCountsAsText) {
  EXPECT_TRUE(is_text("a\tb\x1b"));
  EXPECT_FALSE(is_printable("a\tb"));
  EXPECT_FALSE(is_printable("\xc2\x85"));
  EXPECT_TRUE(is_printable("Zo\xc3\xab"));
  for (const std::string bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3"}) {
    EXPECT_FALSE(is_text(bad));
    EXPECT_FALSE(is_printable(bad));
  }
}

}  // namespace
}  // namespace curnm
