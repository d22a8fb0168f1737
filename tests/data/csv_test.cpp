#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "curnm/data/reader.h"
#include "support/datasets.h"
#include "support/errors.h"
#include "support/gzip_writer.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using testing::fails;
using testing::gzipped;
using testing::has_note;
using testing::inconsistency;
using testing::named_events;
using testing::to_vector;
using Events = std::vector<testing::NamedEvent>;
using Values = std::vector<float>;

class CsvTest : public ::testing::Test {
 protected:
  Dataset read(std::string_view text, const ReadOptions& options = {}) const {
    Dataset dataset = read_network(folder_.write("edges.csv", text), "csv", options);
    EXPECT_EQ(inconsistency(dataset), "");
    return dataset;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(CsvTest, EveryDelimiterWithAndWithoutHeader) {
  const Events expected = {{"a", "b", 1}, {"b", "c", 2.5}};
  for (const std::string d : {",", "\t", ";", " "}) {
    for (const std::string end : {"\n", "\r\n"}) {
      const std::string rows = "a" + d + "b" + d + "1" + end + "b" + d + "c" + d + "2.5" + end;
      EXPECT_EQ(named_events(read(rows)), expected) << d;
      EXPECT_EQ(named_events(read("src" + d + "dst" + d + "time" + end + rows)), expected) << d;
    }
  }
}

TEST_F(CsvTest, NodesAreNumberedInOrderOfAppearance) {
  const Dataset d = read("src,dst,time\nc,a,1\na,b,2\nc,b,3\n");
  EXPECT_EQ(d.events.num_nodes, 3);
  EXPECT_EQ(to_vector(d.events.src), (std::vector<NodeId>{0, 1, 0}));
  EXPECT_EQ(to_vector(d.events.dst), (std::vector<NodeId>{1, 2, 2}));
  EXPECT_EQ(d.ids.name(0), "c");
}

TEST_F(CsvTest, WithoutNamesTheColumnsAreSrcDstTimeLabelFeatures) {
  const Dataset three = read("a,b,1\n");
  EXPECT_TRUE(three.labels.empty());
  const Dataset four = read("a,b,1,0.5\nb,c,2,1\n");
  EXPECT_EQ(to_vector(four.labels), (Values{0.5F, 1}));
  EXPECT_EQ(four.edge_features.width, 0);
  const Dataset six = read("a,b,1,0,7,8\nb,c,2,1,9,-1\n");
  EXPECT_EQ(to_vector(six.labels), (Values{0, 1}));
  EXPECT_EQ(six.edge_features.width, 2);
  EXPECT_EQ(to_vector(six.edge_features.values), (Values{7, 8, 9, -1}));
}

TEST_F(CsvTest, NamedColumnsMayComeInAnyOrder) {
  const Dataset d = read("f2,time,label,dst,ext_roll,src,f1\n8,1,0,b,0,a,7\n10,2,1,c,2,b,9\n");
  EXPECT_EQ(named_events(d), (Events{{"a", "b", 1}, {"b", "c", 2}}));
  EXPECT_EQ(to_vector(d.labels), (Values{0, 1}));
  EXPECT_EQ(to_vector(d.roll), (std::vector<std::uint8_t>{0, 2}));
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{8, 7, 10, 9})) << "in the order of the file";
}

TEST_F(CsvTest, UsualNamesAreKnownInAnyCase) {
  for (const char* src : {"src", "source", "u", "user", "user_id", "from", "sender", "Source"}) {
    EXPECT_EQ(named_events(read(std::string("time,dst,") + src + "\n1,b,a\n")),
              (Events{{"a", "b", 1}}))
        << src;
  }
  for (const char* dst : {"dst", "destination", "dest", "target", "i", "v", "item", "item_id", "to",
                          "receiver", "TARGET"}) {
    EXPECT_EQ(named_events(read(std::string("time,src,") + dst + "\n1,a,b\n")),
              (Events{{"a", "b", 1}}))
        << dst;
  }
  for (const char* time : {"time", "timestamp", "ts", "t", "unixtime", "unix_time", "Timestamp"}) {
    EXPECT_EQ(named_events(read(std::string("src,dst,") + time + "\na,b,1\n")),
              (Events{{"a", "b", 1}}))
        << time;
  }
}

TEST_F(CsvTest, ColumnsCanBeNamedAndDropped) {
  const ReadOptions options{.src_column = "who",
                            .dst_column = "Whom",
                            .time_column = "when",
                            .drop_columns = "comment,time"};
  const Dataset d =
      read("time,comment,when,who,whom,weight\nx,hello,1,a,b,3\ny,,2,b,c,4\n", options);
  EXPECT_EQ(named_events(d), (Events{{"a", "b", 1}, {"b", "c", 2}}));
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{3, 4}));
}

TEST_F(CsvTest, UnknownColumnsAreUsageErrors) {
  const char* table = "src,dst,time,weight\na,b,1,2\n";
  EXPECT_TRUE(fails<UsageError>([&] { read(table, {.time_column = "tiem"}); },
                                {"'tiem'", "src, dst, time, weight"}));
  EXPECT_TRUE(fails<UsageError>([&] { read(table, {.drop_columns = "weigth2"}); },
                                {"'weigth2'", "src, dst, time, weight"}));
  EXPECT_TRUE(fails<UsageError>([&] { read(table, {.src_column = "scr_"}); }, {"'scr_'"}));
  EXPECT_TRUE(fails<UsageError>([&] { read(table, {.drop_columns = "wieght"}); }, {"'wieght'"}));
  EXPECT_TRUE(fails<UsageError>([&] { read(table, {.drop_columns = "weigh"}); },
                                {"did you mean 'weight'?"}));
}

TEST_F(CsvTest, NamingOneColumnTwiceIsExplained) {
  const ReadOptions options{.src_column = "dst", .dst_column = "dst"};
  const auto twice = [&] { read("src,dst,time\na,b,1\n", options); };
  EXPECT_TRUE(fails<UsageError>(twice, {"'dst'"}));
  EXPECT_FALSE(fails<UsageError>(twice, {"did you mean 'dst'?"}));
}

TEST_F(CsvTest, WhatTheUserNamesMayHaveAnothersUsualName) {
  EXPECT_EQ(named_events(
                read("index,item,when\na,b,1\n", {.src_column = "index", .time_column = "when"})),
            (Events{{"a", "b", 1}}));
  EXPECT_EQ(named_events(read("source,target,time\na,b,1\n",
                              {.src_column = "target", .dst_column = "source"})),
            (Events{{"b", "a", 1}}));
}

TEST_F(CsvTest, WithoutAHeaderColumnsHaveNumbers) {
  const Dataset konect = read("a b 1 50\nb c 1 60\n", {.time_column = "4"});
  EXPECT_EQ(named_events(konect), (Events{{"a", "b", 50}, {"b", "c", 60}}));
  EXPECT_EQ(to_vector(konect.edge_features.values), (Values{1, 1}));
  const Dataset swapped =
      read("7,b,1,9\n8,c,2,9\n", {.src_column = "3", .time_column = "1", .drop_columns = "4"});
  EXPECT_EQ(named_events(swapped), (Events{{"1", "b", 7}, {"2", "c", 8}}));
  EXPECT_TRUE(swapped.edge_features.values.empty());
  const Dataset fewer = read("a,b,1,7,8,9\nb,c,2,7,8,9\n", {.drop_columns = "6"});
  EXPECT_EQ(to_vector(fewer.labels), (Values{7, 7})) << "still the label";
  EXPECT_EQ(to_vector(fewer.edge_features.values), (Values{8, 8}));
  EXPECT_THROW(read("a,b,1\n", {.time_column = "ts"}), UsageError);
  EXPECT_THROW(read("a,b,1\n", {.time_column = "4"}), UsageError);
}

TEST_F(CsvTest, RowNumbersAreNotFeatures) {
  for (const char* header :
       {",src,dst,time", "idx,src,dst,time", "index,src,dst,time", "Unnamed: 0,src,dst,time"}) {
    const Dataset d = read(std::string(header) + "\n0,a,b,1\n1,b,c,2\n");
    EXPECT_EQ(named_events(d), (Events{{"a", "b", 1}, {"b", "c", 2}})) << header;
    EXPECT_EQ(d.edge_features.width, 0) << header;
  }
  const Dataset both = read(",u,i,ts,label,idx\n0,a,b,1,0,1\n1,b,c,2,0,2\n");
  EXPECT_EQ(both.edge_features.width, 0) << "an index and DyGLib's idx: the number of the event";
}

TEST_F(CsvTest, WhatIsGuessedWithoutAHeaderIsSaid) {
  EXPECT_TRUE(read("a b 1\nb c 2\n").notes.empty());
  const Dataset konect = read("a b 1 50\nb c 2 60\n");
  ASSERT_EQ(konect.notes.size(), 1U);
  EXPECT_NE(konect.notes[0].find("--time-column 4"), std::string::npos) << konect.notes[0];
  EXPECT_TRUE(read("src,dst,time,weight\na,b,1,50\nb,c,2,60\n").notes.empty());
}

TEST_F(CsvTest, SeparateIds) {
  const char* table = "src,dst,time\n5,5,1\n5,6,2\n";
  EXPECT_EQ(read(table).events.num_nodes, 2);
  const Dataset apart = read(table, {.separate_ids = SeparateIds::kOn});
  EXPECT_EQ(apart.events.num_nodes, 3);
  EXPECT_TRUE(is_bipartite(apart.events));
  EXPECT_EQ(named_events(apart), (Events{{"src:5", "dst:5", 1}, {"src:5", "dst:6", 2}}));
  EXPECT_EQ(read("5,5,1\n", {.separate_ids = SeparateIds::kOn}).events.num_nodes, 2)
      << "without a header too";
}

TEST_F(CsvTest, IdsAreText) {
  EXPECT_EQ(named_events(read("src,dst,time\n"
                              "\"Doe, Jane\",\"the \"\"boss\"\"\",1\n"
                              "01,1,2\n"
                              "1.0,99999999999999999999999,3\n"
                              " Zo\xc3\xab , new york ,4\n")),
            (Events{{"Doe, Jane", "the \"boss\"", 1},
                    {"01", "1", 2},
                    {"1.0", "99999999999999999999999", 3},
                    {"Zo\xc3\xab", "new york", 4}}));
}

TEST_F(CsvTest, IdsAreUtf8) {
  EXPECT_EQ(read("caf\xc3\xa9,\xf0\x9f\x9a\x80,1\n").ids.name(0), "caf\xc3\xa9");
  for (const std::string bad :
       {"caf\xe9", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_TRUE(fails([&] { read("a,b,1\n" + bad + ",b,2\n"); }, {"edges.csv:2", "not UTF-8"}))
        << bad;
  }
}

TEST_F(CsvTest, CommentsAndByteOrderMark) {
  EXPECT_EQ(named_events(read("\xef\xbb\xbf# from somewhere\n\n% sym\nsrc,dst,time\n#x\na,b,1\n")),
            (Events{{"a", "b", 1}}));
  EXPECT_EQ(named_events(read("\xef\xbb\xbfsrc,dst,time\r\na,b,1\r\n")), (Events{{"a", "b", 1}}));
}

TEST_F(CsvTest, GzipReadsTheSame) {
  const std::string text = "src,dst,time,label,f\na,b,1,0,2\nb,c,2,1,3\n";
  const Dataset plain = read_network(folder_.write("net.csv", text));
  const Dataset zipped = read_network(folder_.write("net.csv.gz", gzipped(text)));
  EXPECT_EQ(zipped.digest(), plain.digest());
  EXPECT_EQ(plain.name, "net");
  EXPECT_EQ(zipped.name, "net");
  EXPECT_EQ(zipped.format, "csv");
  EXPECT_EQ(zipped.source, (folder_ / "net.csv.gz").string());
}

TEST_F(CsvTest, TruncatedGzipIsRefused) {
  const std::string whole = gzipped("src,dst,time\na,b,1\nb,c,2\n");
  const auto path = folder_.write("net.csv.gz", whole.substr(0, whole.size() - 3));
  for (const char* format : {"auto", "csv"}) {
    EXPECT_TRUE(
        fails([&] { read_network(path, format); }, {path.string(), "not a complete gzip file"}))
        << format;
  }
}

TEST_F(CsvTest, UnsortedEventsAreSortedStablyAndNoted) {
  const Dataset d = read(
      "src,dst,time,label,ext_roll,f\n"
      "a,b,3,30,2,300\n"
      "c,d,1,10,0,100\n"
      "e,f,1,11,1,101\n"
      "g,h,2,20,2,200\n"
      "i,j,1,12,0,102\n");
  EXPECT_EQ(named_events(d),
            (Events{{"c", "d", 1}, {"e", "f", 1}, {"i", "j", 1}, {"g", "h", 2}, {"a", "b", 3}}));
  EXPECT_EQ(to_vector(d.labels), (Values{10, 11, 12, 20, 30}));
  EXPECT_EQ(to_vector(d.roll), (std::vector<std::uint8_t>{0, 1, 0, 2, 2}));
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{100, 101, 102, 200, 300}));
  EXPECT_TRUE(has_note(d, "not in time order (first at row 2)"));
  EXPECT_EQ(d.ids.name(0), "a") << "numbers follow the file";
}

TEST_F(CsvTest, ManyEqualTimesKeepTheOrderOfTheFile) {
  std::string table;
  for (int row = 0; row < 2000; ++row) {
    table += "a,b," + std::to_string(9 - row % 10) + "," + std::to_string(row) + "\n";
  }
  const Dataset d = read(table);
  for (EventId e = 1; e < d.events.size(); ++e) {
    ASSERT_TRUE(d.events.time[e] > d.events.time[e - 1] || d.labels[e] > d.labels[e - 1]) << e;
  }
}

TEST_F(CsvTest, SortedEventsAreNotNoted) {
  EXPECT_TRUE(read("a,b,1\nb,c,1\nc,d,2\n").notes.empty());
}

TEST_F(CsvTest, FeaturesThatAreAllZeroAreDroppedAndNoted) {
  const Dataset d = read("src,dst,time,label,f,g\na,b,1,0,0,-0\nb,c,2,0,0.0,0\n");
  EXPECT_EQ(d.edge_features.width, 0);
  EXPECT_TRUE(d.edge_features.values.empty());
  EXPECT_TRUE(has_note(d, "2 edge features are all zero"));
  EXPECT_EQ(to_vector(d.labels), (Values{0, 0})) << "labels stay";
}

TEST_F(CsvTest, TimesAreExact) {
  const Dataset d = read(
      "a,b,0.1\n"
      "a,b,1234567890.123456\n"
      "a,b,9007199254740991\n"
      "a,b,9007199254740992\n");
  EXPECT_EQ(to_vector(d.events.time),
            (std::vector<Timestamp>{0.1, 1234567890.123456, 0x1p53 - 1, 0x1p53}));
  EXPECT_TRUE(fails([&] { read("a,b,9007199254740992\na,b,9007199254740993\n"); },
                    {"edges.csv:2: ", "time 9007199254740993", "2^53", "microseconds"}));
}

TEST_F(CsvTest, SelfLoopsAndRepeatedEventsAreEvents) {
  EXPECT_EQ(named_events(read("a,a,1\na,b,1\na,b,1\n")),
            (Events{{"a", "a", 1}, {"a", "b", 1}, {"a", "b", 1}}));
}

struct BadTable {
  const char* name;
  std::string text;
  std::vector<std::string> parts;

  friend std::ostream& operator<<(std::ostream& out, const BadTable& bad) {
    return out << bad.name;
  }
};

class BadTables : public CsvTest, public ::testing::WithParamInterface<BadTable> {};

TEST_P(BadTables, AreRefusedWithAMessage) {
  std::vector<std::string> parts = GetParam().parts;
  parts.push_back(folder_.path().string());
  EXPECT_TRUE(fails([&] { read(GetParam().text); }, parts));
}

INSTANTIATE_TEST_SUITE_P(
    CsvTest, BadTables,
    ::testing::ValuesIn(std::vector<BadTable>{
        {"Empty", "", {"edges.csv is empty"}},
        {"OnlyComments", "# nothing\n\n%\n", {"edges.csv is empty"}},
        {"HeaderOnly", "src,dst,time\n", {"edges.csv has no events"}},
        {"TwoColumns", "a,b\n", {"edges.csv:1: 2 column(s)", "src, dst and time"}},
        {"TooFewColumns", "src,dst,time\na,b,1\nb,c\n", {"edges.csv:3: 2 columns instead of 3"}},
        {"TooManyColumns", "a,b,1\nb,c,2,3\n", {"edges.csv:2: 4 columns instead of 3"}},
        {"RaggedFeatures", "a,b,1,0,5,6\nb,c,2,0,5\n", {"edges.csv:2: 5 columns instead of 6"}},
        {"TimeIsText", "src,dst,time\na,b,noon\n", {"edges.csv:2: time 'noon' is not a number"}},
        {"TimeIsEmpty", "src,dst,time\na,b,\n", {"edges.csv:2: time is empty", "--empty drop"}},
        {"TimeHasUnit", "a,b,1\na,b,5s\n", {"edges.csv:2: time '5s' is not a number"}},
        {"TimeIsInfinite", "a,b,1\na,b,inf\n", {"edges.csv:2: time 'inf' is not finite"}},
        {"TimeIsNan", "a,b,1\na,b,NaN\n", {"edges.csv:2: time is empty"}},
        {"FirstTimeIsNan", "a,b,nan\n", {"edges.csv:1: time is empty"}},
        {"TimeOverflows", "a,b,1\na,b,1e999\n", {"edges.csv:2: time '1e999'"}},
        {"FirstTimeOverflows", "a,b,1e999\n", {"edges.csv:1: time '1e999'"}},
        {"TimeIsNegative", "a,b,-1\n", {"edges.csv:1: time -1 is negative", "shift all times"}},
        {"NoSource", "a,b,1\n,b,2\n", {"edges.csv:2: a node id is empty"}},
        {"NoDestination", "a,b,1\na, ,2\n", {"edges.csv:2: a node id is empty"}},
        {"QuotedNothing", "a,b,1\n\"\",b,2\n", {"edges.csv:2: a node id is empty"}},
        {"LabelIsText", "a,b,1,good\n", {"edges.csv:1: label 'good' is not a number"}},
        {"LabelIsEmpty", "a,b,1,0\na,b,1,\n", {"edges.csv:2: label is empty", "--empty fill"}},
        {"LabelIsNan", "a,b,1,nan\n", {"edges.csv:1: label is empty"}},
        {"FeatureIsText",
         "a,b,1,0,5\na,b,2,0,x\n",
         {"edges.csv:2: feature 'x' is not a number", "--category-columns 5", "--drop-columns 5"}},
        {"FeatureIsEmpty",
         "src,dst,time,amount\na,b,1,\n",
         {"edges.csv:2: the feature 'amount' is empty", "--empty fill", "--empty drop"}},
        {"FeatureIsNan", "a,b,1,0,nan\n", {"edges.csv:1: the feature '5' is empty (nan)"}},
        {"FeatureIsInfinite", "a,b,1,0,-inf\n", {"edges.csv:1: feature '-inf' is not finite"}},
        {"FeatureOverflows", "a,b,1,0,1e39\n", {"edges.csv:1: feature '1e39'"}},
        {"RollIsTooLarge",
         "src,dst,time,ext_roll\na,b,1,3\n",
         {"edges.csv:2: ext_roll 3 is too large (at most 2)"}},
        {"RollIsNegative",
         "src,dst,time,ext_roll\na,b,1,-1\n",
         {"edges.csv:2: ext_roll '-1' is not a non-negative integer"}},
        {"RollIsText",
         "src,dst,time,ext_roll\na,b,1,x\n",
         {"edges.csv:2: ext_roll 'x' is not a non-negative integer"}},
        {"RollIsHuge",
         "src,dst,time,ext_roll\na,b,1,99999999999999999999\n",
         {"edges.csv:2: ext_roll 99999999999999999999 is too large"}},
        {"QuoteNeverEnds", "a,b,1\n\"a,b,2\n", {"edges.csv:2: a quoted field does not end"}},
        {"TextBehindQuote", "a,b,1\n\"a\"a,b,2\n", {"edges.csv:2: text follows the closing quote"}},
        {"NoSrcColumn",
         "a,dst,time\nx,y,1\n",
         {"edges.csv:1: no column is named like a src (a, dst, time)", "--src-column"}},
        {"NoDstColumn",
         "src,b,time\nx,y,1\n",
         {"edges.csv:1: no column is named like a dst (src, b, time)", "--dst-column"}},
        {"NoTimeColumn",
         "src,dst,when\nx,y,1\n",
         {"edges.csv:1: no column is named like a time (src, dst, when)", "--time-column"}},
        {"TwoTimeColumns",
         "src,dst,time,Time\nx,y,1,1\n",
         {"edges.csv:1: two columns are named 'Time'"}},
        {"Utf16",
         std::string("\xff\xfe"
                     "s\0r\0c\0",
                     8),
         {"edges.csv is UTF-16", "iconv"}},
        {"LinesEndWithCr", "src,dst,time\ra,b,1\r", {"edges.csv end with CR alone"}},
    }),
    [](const auto& instance) { return std::string(instance.param.name); });

class FormatTest : public CsvTest {};

TEST_F(FormatTest, MissingFilesAreNamed) {
  for (const char* format : {"auto", "csv", "jsonl", "tgl", "dyglib", "jodie"}) {
    EXPECT_TRUE(fails([&] { read_network(folder_ / "missing.csv", format); },
                      {(folder_ / "missing.csv").string(), "does not exist"}))
        << format;
  }
}

TEST_F(FormatTest, FoldersWithoutANetworkAreRefused) {
  folder_.write("empty/readme.txt", "nothing here\n");
  EXPECT_TRUE(
      fails([&] { read_network(folder_ / "empty"); },
            {(folder_ / "empty").string(), "no known kind of network", "edges.csv", "ml_*.csv"}));
  for (const char* format : {"csv", "tgl", "dyglib", "jodie"}) {
    EXPECT_TRUE(
        fails([&] { read_network(folder_ / "empty", format); }, {(folder_ / "empty").string()}))
        << format;
  }
}

TEST_F(FormatTest, PathsThatCannotBeFollowedAreErrors) {
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_TRUE(fails([&] { read_network(folder_ / "loop"); }, {"loop"}));
  EXPECT_TRUE(fails([&] { read_network(folder_ / std::string(5000, 'x')); }, {"xxx"}));
}

TEST_F(FormatTest, UnknownFormatsAreUsageErrorsThatSuggestTheNearest) {
  const auto path = folder_.write("edges.csv", "a,b,1\n");
  const auto unknown = [&](const char* name, const char* suggestion) {
    return fails<UsageError>([&] { read_network(path, name); },
                             {std::string("unknown format '") + name + "'", suggestion,
                              "dyglib, tgl, jodie, jsonl, csv"});
  };
  EXPECT_TRUE(unknown("cvs", "did you mean 'csv'?"));
  EXPECT_TRUE(unknown("CSV", "did you mean 'csv'?"));
  EXPECT_TRUE(unknown("dyglb", "did you mean 'dyglib'?"));
  EXPECT_TRUE(unknown("jodi", "did you mean 'jodie'?"));
  EXPECT_TRUE(unknown("spreadsheet", ""));
}

TEST_F(FormatTest, ColumnOptionsAreForPlainTables) {
  folder_.write("tgl/edges.csv", "src,dst,time\n1,2,3\n");
  folder_.write("dyglib/ml_x.csv", ",u,i,ts,label,idx\n0,1,2,0,0,1\n");
  folder_.write("x.csv", "user_id,item_id,timestamp,state_label\n0,0,0,0\n");
  struct Other {
    const char* path;
    const char* format;
  };
  const std::vector<ReadOptions> all_options = {{.src_column = "src"},
                                                {.dst_column = "dst"},
                                                {.time_column = "time"},
                                                {.drop_columns = "label"},
                                                {.separate_ids = SeparateIds::kOn}};
  for (const Other& other : {Other{"tgl", "tgl"}, {"dyglib", "dyglib"}, {"x.csv", "jodie"}}) {
    const fs::path path = folder_ / other.path;
    for (const ReadOptions& options : all_options) {
      EXPECT_TRUE(fails<UsageError>(
          [&] { read_network(path, "auto", options); },
          {path.string(), std::string("'") + other.format + "'", "--format csv"}));
      EXPECT_TRUE(
          fails<UsageError>([&] { read_network(path, other.format, options); }, {"options"}));
    }
  }
  EXPECT_EQ(
      read_network(folder_ / "x.csv", "csv", {.separate_ids = SeparateIds::kOn}).events.num_nodes,
      2);
}

TEST_F(FormatTest, EveryFormatHasAName) {
  for (const Reader& reader : readers()) {
    EXPECT_FALSE(reader.name.empty());
    EXPECT_FALSE(reader.summary.empty());
  }
}

}  // namespace
}  // namespace curnm
