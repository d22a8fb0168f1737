#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "curnm/data/cells.h"
#include "support/errors.h"
#include "support/gzip_writer.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::fails;
using testing::gzipped;
using testing::TemporaryFolder;
using RowList = std::vector<std::vector<std::string>>;

std::string text_of(const std::filesystem::path& path, UnpackLimit limit = {}) {
  TextFile file(path, limit);
  std::string text;
  for (std::string_view block = file.next_block(); !block.empty(); block = file.next_block()) {
    text += block;
  }
  return text;
}

RowList rows_of(std::string_view text) {
  RowReader reader(text, "edges.csv");
  RowList rows;
  while (reader.next()) rows.emplace_back(reader.fields().begin(), reader.fields().end());
  return rows;
}

class TextFileTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(TextFileTest, PlainTextIsReadAsItIs) {
  const std::string text("a,b\r\n\x01\xff", 7);
  EXPECT_EQ(text_of(folder_.write("x.csv", text)), text);
}

TEST_F(TextFileTest, EmptyFilesAreEmpty) {
  EXPECT_EQ(text_of(folder_.write("x.csv", "")), "");
  EXPECT_EQ(text_of(folder_.write("x.csv.gz", gzipped(""))), "");
}

TEST_F(TextFileTest, GzipIsToldByContentNotByName) {
  EXPECT_EQ(text_of(folder_.write("x.csv", gzipped("1,2,3\n"))), "1,2,3\n");
  EXPECT_EQ(text_of(folder_.write("x.csv.gz", "1,2,3\n")), "1,2,3\n");
}

TEST_F(TextFileTest, GzipMembersAreConcatenated) {
  EXPECT_EQ(text_of(folder_.write("x.gz", gzipped("1,2,") + gzipped("3\n"))), "1,2,3\n");
}

TEST_F(TextFileTest, GzipLargerThanAnyBufferIsReadWhole) {
  std::string text;
  while (text.size() < 3'000'000) text += std::to_string(text.size()) + ",b,1\n";
  EXPECT_EQ(text_of(folder_.write("x.gz", gzipped(text))), text);
}

TEST_F(TextFileTest, EveryTruncationOfAGzipFileIsRefused) {
  const std::string whole = gzipped("src,dst,time\na,b,1\nb,c,2\n");
  for (std::size_t size = 2; size < whole.size(); ++size) {  // below 2 it is not a gzip file at all
    const auto path = folder_.write("x.csv.gz", whole.substr(0, size));
    EXPECT_TRUE(fails([&] { text_of(path); }, {path.string(), "not a complete gzip file"}))
        << size << " bytes";
  }
}

TEST_F(TextFileTest, TruncationFarBehindTheFirstBlockIsRefused) {
  std::string text;
  for (std::uint64_t i = 0; text.size() < 3'000'000; ++i) {
    text += std::to_string(i * 2654435761 % 1000003) + ",b,1\n";
  }
  const std::string whole = gzipped(text);
  const auto path = folder_.write("x.csv.gz", whole.substr(0, whole.size() * 9 / 10));
  EXPECT_TRUE(fails([&] { text_of(path); }, {path.string(), "not a complete gzip file"}));
}

TEST_F(TextFileTest, WrongChecksumOfAGzipFileIsRefused) {
  std::string bytes = gzipped("a,b,1\n");
  bytes[bytes.size() - 8] ^= 1;  // the checksum; the last four bytes are the length
  const auto path = folder_.write("x.csv.gz", bytes);
  EXPECT_TRUE(fails([&] { text_of(path); }, {path.string(), "not a complete gzip file"}));
}

TEST_F(TextFileTest, MissingFilesAndFoldersAreNamed) {
  const auto missing = folder_ / "missing.csv";
  EXPECT_TRUE(fails([&] { text_of(missing); }, {missing.string(), "No such file"}));
  EXPECT_TRUE(fails([&] { text_of(folder_.path()); }, {folder_.path().string(), "regular file"}));
}

TEST_F(TextFileTest, FirstLineEndsAtAnyLineEnd) {
  const auto first_line = [&](std::string_view bytes) {
    return TextFile::first_line(folder_.write("x.csv", bytes));
  };
  EXPECT_EQ(first_line("a,b\nc,d\n"), "a,b");
  EXPECT_EQ(first_line("a,b\r\nc,d\r\n"), "a,b");
  EXPECT_EQ(first_line("a,b"), "a,b");
  EXPECT_EQ(first_line(""), "");
  EXPECT_EQ(first_line(gzipped("a,b\nc,d\n")), "a,b");
}

TEST(RowReaderTest, FindsTheDelimiter) {
  const RowList expected = {{"a", "b", "1"}, {"c", "d", "2"}};
  EXPECT_EQ(rows_of("a,b,1\nc,d,2\n"), expected);
  EXPECT_EQ(rows_of("a\tb\t1\nc\td\t2\n"), expected);
  EXPECT_EQ(rows_of("a;b;1\nc;d;2\n"), expected);
  EXPECT_EQ(rows_of("a b 1\nc d 2\n"), expected);
  EXPECT_EQ(rows_of("  a   b  1  \n c\td \t 2\n"), expected) << "any run of blanks";
}

TEST(RowReaderTest, DelimitersInsideQuotesDoNotCount) {
  EXPECT_EQ(rows_of("\"Doe, Jane\";b;1\n"), (RowList{{"Doe, Jane", "b", "1"}}));
  EXPECT_EQ(rows_of("\"Doe, Jane\" b 1\n"), (RowList{{"Doe, Jane", "b", "1"}}));
  EXPECT_EQ(rows_of("\"a\tb\",c,1\n"), (RowList{{"a\tb", "c", "1"}}));
  EXPECT_EQ(rows_of("1;\"x,y\";5\n"), (RowList{{"1", "x,y", "5"}}));
}

TEST(RowReaderTest, BlanksSeparateQuotedFieldsToo) {
  EXPECT_EQ(rows_of("a b 1\n\"c c\"  \"d\" 2\n"), (RowList{{"a", "b", "1"}, {"c c", "d", "2"}}));
  EXPECT_EQ(rows_of("a b 1\n\"c c\"\td\t2\n"), (RowList{{"a", "b", "1"}, {"c c", "d", "2"}}));
}

TEST(RowReaderTest, BlanksAroundFieldsAreNotPartOfThem) {
  EXPECT_EQ(rows_of(" a , b c ,1 \n"), (RowList{{"a", "b c", "1"}}));
}

TEST(RowReaderTest, EmptyFieldsAreFields) {
  EXPECT_EQ(rows_of(",b,\n,,\n"), (RowList{{"", "b", ""}, {"", "", ""}}));
  EXPECT_EQ(rows_of("\tb\t\n"), (RowList{{"", "b", ""}}));
}

TEST(RowReaderTest, QuotedFields) {
  EXPECT_EQ(rows_of("\"a, b\",\"say \"\"hi\"\"\",\"\"\n"), (RowList{{"a, b", "say \"hi\"", ""}}));
  EXPECT_EQ(rows_of("\"\"\"\",\"\"\"\"\"\",x\n"), (RowList{{"\"", "\"\"", "x"}}));
  EXPECT_EQ(rows_of("a\"b,c,d\n"), (RowList{{"a\"b", "c", "d"}}))
      << "a quote inside is a character";
}

TEST(RowReaderTest, SeveralUnescapedFieldsOfARowLiveTogether) {
  std::string row;
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    row += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\"\"\"";
    expected.push_back(std::to_string(i) + "\"");
  }
  EXPECT_EQ(rows_of(row), RowList{expected});
}

TEST(RowReaderTest, CommentsAndEmptyLinesArePassedOver) {
  EXPECT_EQ(rows_of("# a comment, with commas\n\n% another\n \t \na,b,1\n#\nc,d,2\n\n"),
            (RowList{{"a", "b", "1"}, {"c", "d", "2"}}));
}

TEST(RowReaderTest, LineEndsAndByteOrderMark) {
  const RowList expected = {{"a", "b", "1"}, {"c", "d", "2"}};
  EXPECT_EQ(rows_of("a,b,1\r\nc,d,2\r\n"), expected);
  EXPECT_EQ(rows_of("a,b,1\nc,d,2"), expected);
  EXPECT_EQ(rows_of("\xef\xbb\xbf"
                    "a,b,1\r\n\r\nc,d,2"),
            expected);
  EXPECT_EQ(rows_of("\"a\",\"b\",\"1\"\r\nc,d,2\r\n"), expected);
}

TEST(RowReaderTest, NothingToRead) {
  for (const char* text : {"", "\n", "\r\n\r\n", "# only\n", "\xef\xbb\xbf"}) {
    EXPECT_EQ(rows_of(text), RowList{}) << text;
  }
}

TEST(RowReaderTest, PutBackRepeatsTheRow) {
  RowReader reader("a,b\nc,d\n", "edges.csv");
  ASSERT_TRUE(reader.next());
  reader.put_back();
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.fields()[0], "a");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.fields()[0], "c");
  reader.put_back();
  ASSERT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
}

TEST(RowReaderTest, ErrorsSayFileAndLine) {
  RowReader reader("# one\n\na,b,1\n", "some/edges.csv");
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(fails([&] { reader.fail_here("value {}", 7); }, {"some/edges.csv:3: value 7"}));
}

TEST(RowReaderTest, BrokenQuotesAreErrors) {
  EXPECT_TRUE(fails([] { rows_of("a,b,1\n\"c,d,2\n"); },
                    {"edges.csv:2: ", "a quoted field does not end on its line"}));
  EXPECT_TRUE(fails([] { rows_of("a,b,\""); }, {"edges.csv:1: ", "does not end"}));
  EXPECT_TRUE(fails([] { rows_of("a,\"b\"\"\n"); }, {"edges.csv:1: ", "does not end"}));
  EXPECT_TRUE(fails([] { rows_of("a,b,1\n\"c\"x,d,2\n"); },
                    {"edges.csv:2: ", "text follows the closing quote of 'c'"}));
}

class Numbers : public ::testing::Test {
 protected:
  Numbers() : row_("a,b,1\n", "edges.csv") { row_.next(); }
  double time(std::string_view text) const { return TimeColumn().parse(row_, text); }
  float number(std::string_view text) const { return parse_float(row_, text, "label"); }

  RowReader row_;
};

TEST_F(Numbers, TimesAreTheNearestDouble) {
  EXPECT_EQ(time("0"), 0.0);
  EXPECT_EQ(time("1700000000"), 1700000000.0);
  EXPECT_EQ(time("0.1"), 0.1);
  EXPECT_EQ(time("1234567890.123456"), 1234567890.123456);
  EXPECT_EQ(time("1e3"), 1000.0);
  EXPECT_EQ(time("2.50E+2"), 250.0);
  EXPECT_EQ(time("1.7976931348623157e308"), 1.7976931348623157e308);
}

TEST_F(Numbers, NegativeZeroIsZero) {
  EXPECT_FALSE(std::signbit(time("-0")));
  EXPECT_FALSE(std::signbit(time("-0.0")));
}

TEST_F(Numbers, IntegerTimesStayDistinctOrAreRefused) {
  EXPECT_EQ(time("9007199254740991"), 0x1p53 - 1);
  EXPECT_EQ(time("9007199254740992"), 0x1p53);
  EXPECT_LT(time("9007199254740991"), time("9007199254740992"));
  EXPECT_EQ(time("9007199254740994"), 0x1p53 + 2) << "exact, hence accepted";
  for (const char* text : {
           "9007199254740993",        // 2^53 + 1
           "1700000000123456789",     // nanoseconds since 1970
           "18446744073709551615",    // 2^64 - 1
           "18446744073709551617",    // 2^64 + 1
           "1700000000123456789012",  // picoseconds since 1970
       }) {
    EXPECT_TRUE(fails([&] { time(text); }, {"edges.csv:1: ", std::string("time ") + text,
                                            "more digits than a double holds", "coarser unit"}))
        << text;
  }
}

TEST_F(Numbers, BadTimesAreRefused) {
  for (const char* text : {"", "abc", "5x", "1,5", "0x10", "--1", "1 2", "12:30", ".", "1e"}) {
    EXPECT_TRUE(fails([&] { time(text); },
                      {"edges.csv:1: ", std::string("time '") + text + "' is not a number"}));
  }
  for (const char* text : {"inf", "-inf", "nan", "Infinity", "NaN"}) {
    EXPECT_TRUE(fails([&] { time(text); },
                      {"edges.csv:1: ", std::string("time '") + text + "' is not finite"}));
  }
  EXPECT_TRUE(fails([&] { time("1e999"); }, {"edges.csv:1: ", "time '1e999'"}));
  EXPECT_TRUE(fails([&] { time("-1"); }, {"edges.csv:1: ", "time -1 is negative", "shift"}));
  EXPECT_TRUE(fails([&] { time("-1e-300"); }, {"edges.csv:1: ", "time -1e-300 is negative"}));
}

TEST_F(Numbers, FloatsAreTheNearestFloat) {
  EXPECT_EQ(number("0.1"), 0.1F);
  EXPECT_EQ(number("-3"), -3.0F);
  EXPECT_EQ(number("16777217"), 16777216.0F);
  EXPECT_EQ(number("3.4028234e38"), 3.4028234e38F);
}

TEST_F(Numbers, BadFloatsAreRefused) {
  for (const char* text : {"", "x", "1.2.3", "1e"}) {
    EXPECT_TRUE(fails([&] { number(text); },
                      {"edges.csv:1: ", std::string("label '") + text + "' is not a number"}));
  }
  for (const char* text : {"nan", "-inf"}) {
    EXPECT_TRUE(fails([&] { number(text); },
                      {"edges.csv:1: ", std::string("label '") + text + "' is not finite"}));
  }
  EXPECT_TRUE(fails([&] { number("1e39"); }, {"edges.csv:1: ", "label '1e39'"}));
}

TEST(IsNumber, TellsNumbersFromNames) {
  for (const char* text : {"0", "-1", "1.5", "1e9", "nan"}) EXPECT_TRUE(is_number(text)) << text;
  for (const char* text : {"", "time", "1s", " 1", "1 "}) EXPECT_FALSE(is_number(text)) << text;
}

}  // namespace
}  // namespace curnm
