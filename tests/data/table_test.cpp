#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "curnm/data/column_names.h"
#include "curnm/data/reader.h"
#include "support/archive_writer.h"
#include "support/datasets.h"
#include "support/errors.h"
#include "support/gzip_writer.h"
#include "support/temporary_folder.h"

// People's own tables: read as they mean them without a flag, or refused with what to do.

namespace curnm {
namespace {

using testing::fails;
using testing::gzipped;
using testing::has_note;
using testing::inconsistency;
using testing::named_events;
using testing::to_vector;
using testing::write_packed;
using Events = std::vector<testing::NamedEvent>;
using Values = std::vector<float>;

class TableTest : public ::testing::Test {
 protected:
  Dataset read(std::string_view text, const ReadOptions& options = {}) const {
    Dataset dataset = read_network(folder_.write("table.csv", text), "auto", options);
    EXPECT_EQ(inconsistency(dataset), "");
    return dataset;
  }
  Dataset read_json(std::string_view text, const ReadOptions& options = {}) const {
    Dataset dataset = read_network(folder_.write("table.jsonl", text), "auto", options);
    EXPECT_EQ(inconsistency(dataset), "");
    EXPECT_EQ(dataset.format, "jsonl");
    return dataset;
  }

  testing::TemporaryFolder folder_;
};

// The three tables that have to be read without a flag, and what is meant by them.

TEST_F(TableTest, MovieLens) {
  const Dataset d = read(
      "userId,movieId,rating,timestamp\n"
      "1,1,4.0,964982703\n"
      "1,3,4.5,964981247\n"
      "3,1,0.5,964983000\n");
  const Dataset prepared = read(
      "src,dst,time,rating\n"
      "user:1,movie:1,964982703,4.0\n"
      "user:1,movie:3,964981247,4.5\n"
      "user:3,movie:1,964983000,0.5\n");
  EXPECT_EQ(d.digest(), prepared.digest());
  EXPECT_EQ(d.events.num_nodes, 4);
  EXPECT_TRUE(is_bipartite(d.events));
  EXPECT_TRUE(has_note(d, "user:5 and movie:5 are different ones (--separate-ids off"));
}

TEST_F(TableTest, WrittenByPandasWithDatesAmountsAndBooleans) {
  const Dataset d = read(
      ",sender,receiver,amount,is_fraud,created_at\n"
      "0,alice,bob,12.5,False,2024-02-29 12:30:05\n"
      "1,bob,carol,3.0,True,2024-02-29 12:30:05.250000\n"
      "2,carol,alice,7.25,False,2024-03-01 00:00:00\n");
  const Dataset prepared = read(
      "src,dst,time,amount,fraud\n"
      "alice,bob,1709209805,12.5,0\n"
      "bob,carol,1709209805.25,3,1\n"
      "carol,alice,1709251200,7.25,0\n");
  EXPECT_EQ(d.digest(), prepared.digest());
  EXPECT_TRUE(has_note(d, "3 dates have no zone and are taken as UTC"));
}

TEST_F(TableTest, JsonLinesWithTextIds) {
  const Dataset d = read_json(
      R"({"user_id": "u\u00e9", "item_id": "a \"b\"", "ts": "1970-01-01T00:00:01Z", "price": 2.5, "paid": true})"
      "\n"
      R"({"ts": "1970-01-01T00:00:02Z", "paid": false, "item_id": "c", "user_id": "x", "price": -1e1})"
      "\n\n");
  const Dataset prepared = read(
      "src,dst,time,price,paid\n"
      "user:u\xc3\xa9,\"item:a \"\"b\"\"\",1,2.5,1\n"
      "user:x,item:c,2,-10,0\n");
  EXPECT_EQ(d.digest(), prepared.digest());
  EXPECT_EQ(d.name, "table");
}

// Names of columns.

TEST_F(TableTest, NamesOfColumns) {
  const auto role = [](const char* name) { return guess_role(name).role; };
  for (const char* name : {"src", "source_id", "sourceId", "FROM", "from_id", "Sender", "userId",
                           "user_id", "customer", "Customer ID", "buyer-id", "u"}) {
    EXPECT_EQ(role(name), ColumnRole::kSrc) << name;
  }
  for (const char* name : {"dst", "target_id", "to", "toId", "receiver", "movieId", "item_id",
                           "product", "seller", "Dest", "v"}) {
    EXPECT_EQ(role(name), ColumnRole::kDst) << name;
  }
  for (const char* name : {"created_at", "ts", "datetime", "date", "time", "timestamp", "unix_time",
                           "Unix_Timestamp", "createdAt", "event_time"}) {
    EXPECT_EQ(role(name), ColumnRole::kTime) << name;
  }
  for (const char* name : {"", "idx", "Unnamed: 0", "id", "int_roll"}) {
    EXPECT_EQ(role(name), ColumnRole::kRowNumber) << name;
  }
  for (const char* name : {"rating", "amount", "paid", "grid", "width", "android"}) {
    EXPECT_EQ(role(name), ColumnRole::kNone) << name;
  }
  EXPECT_EQ(kind_of_node("userId"), "user");
  EXPECT_EQ(kind_of_node("Movie_ID"), "movie");
  EXPECT_EQ(kind_of_node("src"), "");
  EXPECT_EQ(kind_of_node("receiver_id"), "");
}

TEST_F(TableTest, OfSeveralCandidatesTheMostUsualIsTakenAndSaid) {
  const Dataset d = read("date,user,artist,track,timestamp\n2024-01-01,a,b,c,5\n");
  EXPECT_EQ(named_events(d), (Events{{"user:a", "track:c", 5}}));
  EXPECT_TRUE(has_note(d, "'track' is taken for the dst, and not 'artist'; --dst-column"));
  EXPECT_TRUE(has_note(d, "'timestamp' is taken for the time, and not 'date'; --time-column"));
}

TEST_F(TableTest, WithoutAHeaderColumnsHaveNumbersAlsoWhereIdsAreText) {
  const Dataset d = read("alice,bob,hello,17\nbob,carol,bye,18\n", {.time_column = "4"});
  EXPECT_EQ(named_events(d), (Events{{"alice", "bob", 17}, {"bob", "carol", 18}}));
  const Dataset first = read("2024-01-02T00:00Z alice bob\n2024-01-03T00:00Z bob carol\n",
                             {.src_column = "2", .dst_column = "3", .time_column = "1"});
  EXPECT_EQ(named_events(first),
            (Events{{"alice", "bob", 1704153600}, {"bob", "carol", 1704240000}}));
  EXPECT_EQ(named_events(read("alice,bob,2024-01-02\n")), (Events{{"alice", "bob", 1704153600}}))
      << "a date is no header";
  EXPECT_EQ(named_events(read("when,who,whom\n5,a,b\n",
                              {.src_column = "2", .dst_column = "3", .time_column = "1"})),
            (Events{{"a", "b", 5}}))
      << "numbers of columns below a header";
  EXPECT_TRUE(fails([&] { read("17,alice,bob\n"); },
                    {"no column is named like a src", "by its number: --time-column 1"}));
}

// Nodes of two kinds.

TEST_F(TableTest, HeadersThatNameTwoKindsSeparateIds) {
  for (const char* header :
       {"user,item,time", "customer_id,product_id,time", "buyer,seller,time"}) {
    EXPECT_EQ(read(std::string(header) + "\n1,1,1\n1,2,2\n").events.num_nodes, 3) << header;
    EXPECT_EQ(read(std::string(header) + "\n1,1,1\n1,2,2\n", {.separate_ids = SeparateIds::kOff})
                  .events.num_nodes,
              2)
        << header;
  }
  for (const char* header :
       {"src,dst,time", "from,to,time", "sender,receiver,time", "user,target,time", "u,i,time"}) {
    EXPECT_EQ(read(std::string(header) + "\n1,1,1\n1,2,2\n").events.num_nodes, 2) << header;
  }
}

TEST_F(TableTest, WhatHeadersDoNotSayIsAssumedAloud) {
  constexpr const char* kNote = "--separate-ids on";
  std::string one_way;
  for (int i = 0; i < 50; ++i) {
    one_way +=
        std::to_string(i) + "," + std::to_string(i * 7 % 50 + 1) + "," + std::to_string(i) + "\n";
  }
  EXPECT_TRUE(has_note(read(one_way), kNote));
  EXPECT_TRUE(has_note(read("src,dst,time\n" + one_way), kNote));
  for (const auto choice : {SeparateIds::kOn, SeparateIds::kOff}) {
    EXPECT_FALSE(has_note(read(one_way, {.separate_ids = choice}), kNote)) << "it was asked for";
  }
  std::string answered;
  for (int i = 0; i < 50; ++i) {
    const std::string a = std::to_string(i), b = std::to_string(i * 7 % 50 + 1);
    answered += a + "," + b + ",1\n" + b + "," + a + ",2\n";
  }
  EXPECT_FALSE(has_note(read(answered), kNote)) << "one kind: answers run both ways";
  EXPECT_FALSE(has_note(read("1,10,1\n2,11,2\n1,11,3\n"), kNote)) << "no id in both columns";
  EXPECT_FALSE(has_note(read("a,b,1\nb,c,2\n"), kNote)) << "names, not numbers";
}

// Times.

TEST_F(TableTest, TimesAreAllNumbersOrAllDates) {
  EXPECT_TRUE(fails([&] { read("src,dst,time\na,b,2024-01-01\na,b,5\n"); },
                    {"table.csv:3: time '5' is not a date"}));
  EXPECT_TRUE(fails([&] { read("src,dst,time\na,b,5\na,b,2024-01-01\n"); },
                    {"table.csv:3: time '2024-01-01' is not a number"}));
  EXPECT_TRUE(fails([&] { read("src,dst,time\na,b,1950-01-01\n"); },
                    {"table.csv:2: time '1950-01-01' is before 1970"}));
  EXPECT_FALSE(has_note(read("src,dst,time\na,b,2024-01-01T00:00Z\n"), "zone"));
}

TEST_F(TableTest, TimesThatADoubleMergesAreCounted) {
  constexpr const char* kMerged = "digits that a double does not hold";
  const Dataset d = read("a,b,1.00000000000000000001\na,c,1.00000000000000000002\na,d,2\n");
  EXPECT_TRUE(has_note(d, "1 times differ")) << d.notes.size();
  EXPECT_TRUE(has_note(read("a,b,1e-400\na,c,1\n"), kMerged));
  EXPECT_TRUE(has_note(
      read("a,b,2024-01-01T00:00:00.123456789Z\na,c,2024-01-01T00:00:00.123456790Z\n"), kMerged));
  EXPECT_FALSE(has_note(read("a,b,1\na,c,1.0\na,d,1.00\na,d,10e-1\na,d,2\n"), kMerged));
  EXPECT_FALSE(has_note(read("a,b,0\na,c,0.0\na,d,0e5\n"), kMerged));
}

// Features.

TEST_F(TableTest, BooleansAreFeatures) {
  const Dataset d = read("src,dst,time,p,q\na,b,1,true,N\na,b,2,No,y\na,b,3,YES,f\n");
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{1, 0, 0, 1, 1, 0}));
  EXPECT_TRUE(d.notes.empty());
}

TEST_F(TableTest, WordsAreOneFeatureEach) {
  const Dataset d =
      read("src,dst,time,kind,w\na,b,1,buy,5\na,b,2,sell,6\na,b,3,yes,7\na,b,4,buy,8\n");
  EXPECT_EQ(d.edge_features.width, 4);
  EXPECT_EQ(to_vector(d.edge_features.values),
            (Values{1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7, 1, 0, 0, 8}));
  EXPECT_TRUE(has_note(d, "the column 'kind' has 3 different words: one feature each"));
  EXPECT_EQ(read("src,dst,time,kind\na,b,1,buy\na,c,2,buy\n").edge_features.width, 0);
}

TEST_F(TableTest, ManyWordsAreHashed) {
  std::string table = "src,dst,time,word\n";
  for (int i = 0; i < 40; ++i) table += "a,b,1,w" + std::to_string(i % 20) + "\n";
  const Dataset d = read(table);
  EXPECT_EQ(d.edge_features.width, 16);
  EXPECT_TRUE(has_note(d, "more than 16 different words"));
  for (std::int64_t row = 0; row < 40; ++row) {
    const auto features = d.edge_features.row(row);
    EXPECT_EQ(std::count(features.begin(), features.end(), 1.0F), 1);
    EXPECT_EQ(std::count(features.begin(), features.end(), 0.0F), 15);
    const auto again = d.edge_features.row((row + 20) % 40);
    EXPECT_TRUE(std::equal(features.begin(), features.end(), again.begin())) << "the same word";
  }
}

TEST_F(TableTest, NumbersAreCodesOnRequest) {
  const char* table = "src,dst,time,code\na,b,1,7\na,b,2,9\na,b,3,7\n";
  EXPECT_EQ(to_vector(read(table).edge_features.values), (Values{7, 9, 7}));
  EXPECT_EQ(to_vector(read(table, {.category_columns = "code"}).edge_features.values),
            (Values{1, 0, 0, 1, 1, 0}));
  EXPECT_TRUE(fails<UsageError>([&] { read(table, {.category_columns = "coed"}); }, {"'coed'"}));
}

TEST_F(TableTest, FurtherDatesAreSeconds) {
  const Dataset d = read("src,dst,time,due\na,b,1,1970-01-02\na,b,2,1970-01-01T00:01Z\n");
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{86400, 60}));
  EXPECT_TRUE(has_note(d, "the dates of the column 'due' are a feature"));
}

TEST_F(TableTest, EmptyCellsAreFilledOrTheirRowsDropped) {
  const char* table =
      "src,dst,time,label,w,word\n"
      "a,b,1,1,,x\n"
      "b,c,2,,NaN,y\n"
      "c,d,3,1,5,\n"
      "d,e,4,1,6,x\n";
  const Dataset filled = read(table, {.empty = EmptyCells::kFill});
  EXPECT_EQ(to_vector(filled.edge_features.values), (Values{0, 1, 0, 0, 0, 1, 5, 0, 0, 6, 1, 0}));
  EXPECT_EQ(to_vector(filled.labels), (Values{1, 0, 1, 1}));
  EXPECT_TRUE(has_note(filled, "4 empty cells have been taken as 0"));
  const Dataset dropped = read(table, {.empty = EmptyCells::kDrop});
  EXPECT_EQ(named_events(dropped), (Events{{"d", "e", 4}}));
  EXPECT_EQ(dropped.events.num_nodes, 2) << "nodes of rows that are left out do not exist";
  EXPECT_TRUE(has_note(dropped, "3 rows with empty cells have been left out"));
  EXPECT_TRUE(fails([&] { read("src,dst,time\n,b,1\n", {.empty = EmptyCells::kFill}); },
                    {"table.csv:2: a node id is empty; --empty drop"}));
  EXPECT_TRUE(fails([&] { read("src,dst,time\n,b,1\n", {.empty = EmptyCells::kDrop}); },
                    {"no events", "--empty drop"}));
}

// JSON lines.

TEST_F(TableTest, JsonNumbersAreIdsAsTheyAreWritten) {
  const Dataset d = read_json(
      "{\"src\": 5, \"dst\": 99999999999999999999, \"time\": 1}\n"
      "{\"src\": 5.0 , \"dst\": true, \"time\": 2 }\n");
  EXPECT_EQ(named_events(d), (Events{{"5", "99999999999999999999", 1}, {"5.0", "true", 2}}));
}

TEST_F(TableTest, JsonObjectsNeedTheSameKeysUnlessEmptyCellsAreAllowed) {
  const std::string missing =
      "{\"src\": \"a\", \"dst\": \"b\", \"time\": 1, \"w\": 2}\n"
      "{\"src\": \"b\", \"dst\": \"c\", \"time\": 2}\n";
  EXPECT_TRUE(fails([&] { read_json(missing); },
                    {"table.jsonl:2: the key 'w'", "is missing", "--empty fill"}));
  const std::string added =
      "{\"src\": \"b\", \"dst\": \"c\", \"time\": 2}\n"
      "{\"src\": \"a\", \"dst\": \"b\", \"time\": 3, \"w\": 2}\n"
      "{\"src\": \"a\", \"dst\": \"b\", \"time\": 4, \"w\": null}\n";
  EXPECT_TRUE(fails([&] { read_json(added); }, {"table.jsonl:2: the key 'w' is not in the first"}));
  EXPECT_EQ(to_vector(read_json(missing, {.empty = EmptyCells::kFill}).edge_features.values),
            (Values{2, 0}));
  const Dataset filled = read_json(added, {.empty = EmptyCells::kFill});
  EXPECT_EQ(to_vector(filled.edge_features.values), (Values{0, 2, 0}));
  EXPECT_EQ(read_json(added, {.empty = EmptyCells::kDrop}).events.size(), 1);
}

TEST_F(TableTest, JsonThatIsNoTableIsRefused) {
  const auto line = [](const std::string& rest) {
    return "{\"src\": 1, \"dst\": 2, \"time\": 3, " + rest + "}\n";
  };
  struct Bad {
    std::string text;
    std::vector<std::string> parts;
  };
  for (const Bad& bad : std::vector<Bad>{
           {line("\"x\": [1]"),
            {"table.jsonl:1: the value of 'x' is a list or an object", "--drop-columns x"}},
           {line("\"x\": {\"y\": 1}"), {"the value of 'x'"}},
           {line("\"x\": 12ab"), {"table.jsonl:1: not a JSON object"}},
           {line("\"x\": nul"), {"table.jsonl:1: not a JSON object"}},
           {line("\"x\": 1") + "{\"src\"\n", {"table.jsonl:2: not a JSON object"}},
           {line("\"x\": 1") + "[1, 2]\n", {"table.jsonl:2: not a JSON object"}},
           {line("\"x\": 1") + line("\"x\": 1, \"x\": 2"),
            {"table.jsonl:2: the key 'x' is there twice"}},
           {"{\"src\": 1, \"dst\": 2, \"time\": 3} {}\n", {"something follows it"}},
           {"{\"src\": 1, \"dst\": 2, \"tim\": 3}\n", {"no column is named like a time"}},
           {"{\"src\": \"\\u001b[31m\", \"dst\": 2, \"time\": 3}\n",
            {"table.jsonl:1: the node id '\\x1b[31m'"}}}) {
    EXPECT_TRUE(fails([&] { read_json(bad.text); }, bad.parts)) << bad.text;
  }
  EXPECT_EQ(read_json(line("\"x\": [1, {\"y\": []}]"), {.drop_columns = "x"}).events.size(), 1);
}

// Compressed files.

TEST_F(TableTest, CompressedTablesReadTheSame) {
  std::string text = "src,dst,time,w\n";
  for (int i = 0; i < 200'000; ++i) {
    text += "n" + std::to_string(i * 7919 % 1009) + ",m" + std::to_string(i % 13) + "," +
            std::to_string(i) + ",1.5\n";
  }
  ASSERT_GT(text.size(), 3U << 20) << "more than one block";
  const std::string digest = read(text).digest();
  EXPECT_EQ(read_network(folder_.write("a.csv.gz", gzipped(text))).digest(), digest);
  for (const char* name : {"a.csv.bz2", "a.csv.zst"}) {
    const Dataset d = read_network(write_packed(folder_ / name, text));
    EXPECT_EQ(d.digest(), digest) << name;
    EXPECT_EQ(d.name, "a");
  }
}

TEST_F(TableTest, TruncatedFilesOfEveryKindAreRefused) {
  for (const char* name : {"a.csv.bz2", "a.csv.zst"}) {
    const auto path = write_packed(folder_ / name, "src,dst,time\na,b,1\nb,c,2\n");
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
    EXPECT_TRUE(fails([&] { read_network(path); }, {path.string(), "not a complete"})) << name;
  }
}

TEST_F(TableTest, EveryBeginningOfAPackedFileIsRefused) {
  for (const char* name : {"a.csv.bz2", "a.csv.zst"}) {
    const auto path = write_packed(folder_ / name, "src,dst,time\na,b,1\nb,c,2\n");
    while (const auto size = std::filesystem::file_size(path)) {
      std::filesystem::resize_file(path, size - 1);
      EXPECT_TRUE(fails([&] { read_network(path); }, {path.string()})) << name << ", " << size - 1;
    }
  }
}

TEST_F(TableTest, SmallFilesDoNotUnpackToAnySize) {
  const auto table = [](std::size_t bytes) {
    std::string text = "src,dst,time\n";
    while (text.size() < bytes) text += "aaaaaaaa,bbbbbbbb,1\n";
    return text;
  };
  const auto large = folder_.write("large.csv.gz", gzipped(table(120'000'000)));
  ASSERT_LT(std::filesystem::file_size(large), 1'200'000U);
  EXPECT_TRUE(fails([&] { read_network(large); },
                    {large.string(), "unpacks to more than", "--unpack-limit MB"}));
  const std::string text = table(3'000'000);
  for (const auto& path :
       {folder_.write("a.csv.gz", gzipped(text)), write_packed(folder_ / "a.csv.zst", text)}) {
    EXPECT_TRUE(
        fails([&] { read_network(path, "auto", {.unpack_limit = 1}); }, {"more than 1 MB"}));
    EXPECT_EQ(read_network(path, "auto", {.unpack_limit = 4}).events.size(),
              std::count(text.begin(), text.end(), '\n') - 1);
  }
}

TEST_F(TableTest, ALineBeyondAnyTableIsRefused) {
  const std::string text(70'000'000, '1');
  EXPECT_TRUE(fails([&] { read(text); }, {"table.csv:1: the line is longer than 64 MB"}));
}

// What is no table.

TEST_F(TableTest, ForeignFilesComeWithTheirConversion) {
  const std::string zeros(8, '\0');
  struct Foreign {
    std::string bytes;
    std::vector<std::string> parts;
  };
  for (const Foreign& foreign : std::vector<Foreign>{
           {"PAR1" + zeros + "PAR1", {"Parquet", "pandas.read_parquet('", "to_csv("}},
           {"ARROW1" + zeros, {"Arrow", "read_feather"}},
           {"FEA1" + zeros, {"Feather", "read_feather"}},
           {"\x89HDF\r\n\x1a\n" + zeros, {"HDF5", "read_hdf"}},
           {std::string("\x80\x04\x95") + zeros, {"pickle", "read_pickle"}},
           {std::string("PK\x03\x04") + zeros + "table.csv", {"zip archive", "`unzip '"}},
           {std::string("PK\x03\x04") + zeros + "[Content_Types].xml", {"Excel", "read_excel"}},
           {std::string("SQLite format 3\0", 16) + zeros, {"SQLite", "sqlite3 -csv"}},
           {std::string("\xfd") + "7zXZ" + zeros, {"xz file", "`xz -dk '"}},
           {"\x93NUMPY" + zeros, {"NumPy"}},
           {"abc" + zeros, {"is no text: its byte 4 is 0"}}}) {
    const auto path = folder_.write("file.bin", foreign.bytes);
    std::vector<std::string> parts = foreign.parts;
    parts.push_back(path.string());
    EXPECT_TRUE(fails([&] { read_network(path); }, parts)) << foreign.parts.front();
  }
  EXPECT_EQ(read("PAR1,b,1\n").events.size(), 1) << "a name, no magic";
}

TEST_F(TableTest, MessagesShowNoRawBytes) {
  for (const char* text : {"src,dst,time\na,b,\x1b]0;x\x07\n", "src,dst,time\n\x1b[2J,b,1\n",
                           "s\x1b[2J,d,t\x1b\n1,2,3\n", "src,dst,time,w\na,b,1,1\na,b,2,\x1b[2J\n",
                           "src,dst,time\n\"a\x1b\"x,b,1\n"}) {
    try {
      read(text);
      ADD_FAILURE() << "read";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("\\x1b"), std::string::npos) << error.what();
    }
  }
}

// What people bring, and what must not become something else without a word.

TEST_F(TableTest, NumbersAsSpreadsheetsShowThemAreNotTakenForWords) {
  for (const std::string cell : {"\"1,234.50\"", "\"1,234\"", "\"3,5\"", "1.234.567", "$4.50",
                                 "40%", "\"-1'000.5\"", "\"12 345\"", "4 \u20ac", "\"1.234,50\""}) {
    EXPECT_TRUE(fails([&] { read("src,dst,time,amount\na,b,1," + cell + "\n"); },
                      {"table.csv:2: the feature 'amount' has '", "as spreadsheets show it",
                       "--category-columns amount", "--drop-columns amount"}))
        << cell;
    EXPECT_EQ(
        read("src,dst,time,amount\na,b,1," + cell + "\na,c,2,x\n", {.category_columns = "amount"})
            .edge_features.width,
        2)
        << cell;
  }
  for (const std::string word : {"1.2.3", "555 1234", "192.168.0.1", "A4", "3-5", "12:30", "%"}) {
    EXPECT_EQ(read("src,dst,time,word\na,b,1," + word + "\na,c,2,x\n").edge_features.width, 2)
        << word;
  }
}

TEST_F(TableTest, SemicolonsWithDecimalCommas) {
  const Dataset d = read("a;b;3;0;7,5\n", {.category_columns = "5"});
  EXPECT_EQ(d.ids.name(0), "a");
  EXPECT_EQ(d.ids.name(1), "b");
  EXPECT_TRUE(fails([&] { read("a;b;3,5;7,5\n"); }, {"table.csv:1: ", "(a, b, 3,5, 7,5)"}))
      << "and not the nodes 'a;b;3' and '5;7'";
  EXPECT_EQ(read("src|dst|time\na|b|1\n").digest(), read("src,dst,time\na,b,1\n").digest());
  EXPECT_EQ(read("sep=;\r\nsrc;dst;time\r\na;b;1\r\n").digest(),
            read("src,dst,time\na,b,1\n").digest());
}

TEST_F(TableTest, TimesInOtherUnitsAreSaid) {
  const auto noted = [&](const std::string& first, const std::string& second, const char* part) {
    return has_note(read("a,b," + first + "\nb,a," + second + "\n"), part);
  };
  EXPECT_TRUE(noted("1700000000000", "1700000000001", "milliseconds since 1970"));
  EXPECT_TRUE(noted("1700000000000000", "1700000000000001", "microseconds since 1970"));
  EXPECT_TRUE(noted("1700000000000000000", "1700000000000000256", "nanoseconds since 1970"));
  EXPECT_TRUE(noted("20240131", "20240201", "look like dates (20240131)"));
  for (const char* first : {"1700000000", "0", "1e34", "20240132", "20241301", "20240131.5"}) {
    EXPECT_FALSE(noted(first, first, "look like")) << first;
  }
  EXPECT_FALSE(noted("2024-01-31T00:00Z", "2024-02-01T00:00Z", "look like"));
}

TEST_F(TableTest, NodesThatAreNamedLikeNothingAreSaid) {
  EXPECT_TRUE(has_note(read("a,NaN,1\nNaN,b,2\nc,NaN,3\n"), "'NaN', 3 times"));
  EXPECT_FALSE(has_note(read("a,nana,1\n"), "is called"));
}

TEST_F(TableTest, WholeNumbersThatPandasWroteAsFractionsMayBeOfTwoKinds) {
  std::string text = "a,b,time\n";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("{}.0,{}.0,{}\n", i * 7 % 23, i * 5 % 17, i);
  }
  EXPECT_TRUE(has_note(read(text, {.src_column = "a", .dst_column = "b"}), "--separate-ids on"));
}

TEST_F(TableTest, JsonArraysComeWithTheirConversion) {
  for (const char* text : {"[{\"src\":1,\"dst\":2,\"time\":3}]", "[\n {\"src\":1}\n]", " [ {}]"}) {
    EXPECT_TRUE(fails([&] { read(text); }, {"table.csv is a JSON array", "jq -c '.[]'"})) << text;
  }
  EXPECT_EQ(read("[a],b,1\n").events.size(), 1) << "a name";
}

// Node features.

TEST_F(TableTest, NodeFeaturesFromATable) {
  const ReadOptions options{
      .node_features = folder_.write("nodes.csv", "name,age,vip\nb,30,yes\nz,1,no\na,20,no\n")};
  const Dataset d = read("src,dst,time\na,b,1\nb,c,2\n", options);
  EXPECT_EQ(d.node_features.width, 2);
  EXPECT_EQ(to_vector(d.node_features.values), (Values{20, 0, 30, 1, 0, 0}));
  EXPECT_TRUE(has_note(d, "1 of 3 nodes have no row in"));
  EXPECT_TRUE(has_note(d, "1 rows of"));
  const ReadOptions bare{.node_features = folder_.write("bare.csv", "a,1\nb,2\nc,3\n")};
  EXPECT_EQ(to_vector(read("a,b,1\nb,c,2\n", bare).node_features.values), (Values{1, 2, 3}));
  const ReadOptions json{.node_features =
                             folder_.write("nodes.jsonl", "{\"id\": \"a\", \"age\": 4}\n")};
  EXPECT_EQ(to_vector(read("a,b,1\n", json).node_features.values), (Values{4, 0}));
}

TEST_F(TableTest, NodeFeaturesOfTwoKinds) {
  const char* table = "user,item,time\n1,1,1\n2,7,2\n";
  const ReadOptions clear{.node_features =
                              folder_.write("n.csv", "id,x\nuser:1,5\nitem:1,6\n2,7\n7,8\n")};
  EXPECT_EQ(to_vector(read(table, clear).node_features.values), (Values{5, 6, 7, 8}));
  const ReadOptions unclear{.node_features = folder_.write("n.csv", "id,x\n1,5\n")};
  EXPECT_TRUE(fails([&] { read(table, unclear); },
                    {"n.csv:2: the id '1' may be user:1 or item:1: write it with the prefix"}));
}

TEST_F(TableTest, TablesOfJodieTakeNodeFeaturesAndEmptyCells) {
  const ReadOptions options{.empty = EmptyCells::kFill,
                            .node_features = folder_.write("n.csv", "id,x\nuser:1,5\n")};
  const Dataset d = read("user_id,item_id,timestamp,state_label,f\n1,1,0,0,\n1,2,1,,3\n", options);
  EXPECT_EQ(d.format, "jodie");
  EXPECT_EQ(to_vector(d.node_features.values), (Values{5, 0, 0}));
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{0, 3}));
}

TEST_F(TableTest, BadTablesOfNodesAreRefused) {
  const auto with = [&](std::string_view text) {
    const ReadOptions options{.node_features = folder_.write("n.csv", text)};
    read("a,b,1\n", options);
  };
  EXPECT_TRUE(fails([&] { with(""); }, {"n.csv is empty"}));
  EXPECT_TRUE(fails([&] { with("id\na\n"); }, {"n.csv:1: 1 column"}));
  EXPECT_TRUE(fails([&] { with("id,x\na,1\na,2\n"); }, {"n.csv:3: the node 'a' has two rows"}));
  EXPECT_TRUE(fails([&] { with("id,x\na,1,2\n"); }, {"n.csv:2: 3 columns instead of 2"}));
  EXPECT_TRUE(fails([&] { with("id,x\nz,1\n"); }, {"n.csv has no row for any node"}));
  EXPECT_TRUE(fails([&] { with("id,x\na,\n"); }, {"n.csv:2: the feature 'x' is empty"}));
}

}  // namespace
}  // namespace curnm
