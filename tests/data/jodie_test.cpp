#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "curnm/data/reader.h"
#include "support/datasets.h"
#include "support/errors.h"
#include "support/gzip_writer.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::fails;
using testing::gzipped;
using testing::has_note;
using testing::inconsistency;
using testing::named_events;
using testing::to_vector;
using Events = std::vector<testing::NamedEvent>;
using Values = std::vector<float>;

// As published: one name for all the features.
const std::string kHeader =
    "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n";
const std::string kRows =
    "0,0,0.0,0,0.5,-1\n"
    "1,0,36.0,0,2,3\n"
    "0,1,77.5,1,4,5\n";

class JodieTest : public ::testing::Test {
 protected:
  Dataset read(std::string_view bytes, std::string_view format = "auto") const {
    Dataset dataset = read_network(folder_.write("wikipedia.csv", bytes), format);
    EXPECT_EQ(dataset.format, "jodie");
    EXPECT_EQ(inconsistency(dataset), "");
    return dataset;
  }
  ::testing::AssertionResult refuses(std::string_view bytes, std::vector<std::string> parts) const {
    return fails([&] { read(bytes); }, parts);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(JodieTest, TableAsPublished) {
  const Dataset d = read(kHeader + kRows);
  EXPECT_EQ(d.name, "wikipedia");
  EXPECT_EQ(
      named_events(d),
      (Events{{"user:0", "item:0", 0}, {"user:1", "item:0", 36}, {"user:0", "item:1", 77.5}}));
  EXPECT_EQ(d.events.num_nodes, 4) << "user 0 is not item 0";
  EXPECT_TRUE(is_bipartite(d.events));
  EXPECT_EQ(to_vector(d.labels), (Values{0, 0, 1}));
  EXPECT_EQ(d.edge_features.width, 2);
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{0.5F, -1, 2, 3, 4, 5}));
  EXPECT_TRUE(d.notes.empty());
}

TEST_F(JodieTest, RecognisedInEverySpellingThatTextFilesMayHave) {
  const std::string digest = read(kHeader + kRows).digest();
  EXPECT_EQ(read(gzipped(kHeader + kRows)).digest(), digest);
  EXPECT_EQ(read("user_id,item_id,timestamp,state_label\n0,0,0,0\n").events.num_nodes, 2);
  std::string crlf;
  for (char c : kHeader + kRows) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(read(crlf).digest(), digest);
}

// Otherwise it is read as a plain table, and user 0 becomes item 0 without a word.
TEST_F(JodieTest, RecognisedBehindAByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(read(mark + "user_id,item_id,timestamp,state_label\n0,0,0,0\n").events.num_nodes, 2);
  EXPECT_EQ(read(mark + kHeader + kRows).events.num_nodes, 4);
}

TEST_F(JodieTest, WithoutAHeaderTheFormatIsNamed) {
  EXPECT_EQ(read(kRows, "jodie").digest(), read(kHeader + kRows).digest());
}

TEST_F(JodieTest, CompressedTablesHaveTheSameName) {
  EXPECT_EQ(read_network(folder_.write("reddit.csv.gz", gzipped(kHeader + kRows))).name, "reddit");
}

TEST_F(JodieTest, UnsortedEventsAreSortedAndNoted) {
  const Dataset d = read(kHeader + "0,0,5,1,50\n1,1,2,0,20\n");
  EXPECT_EQ(named_events(d), (Events{{"user:1", "item:1", 2}, {"user:0", "item:0", 5}}));
  EXPECT_EQ(to_vector(d.labels), (Values{0, 1}));
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{20, 50}));
  EXPECT_TRUE(has_note(d, "not in time order (first at row 2)"));
}

TEST_F(JodieTest, FeaturesThatAreAllZeroAreDroppedAndNoted) {
  const Dataset d = read(kHeader + "0,0,0,0,0,0\n1,0,1,0,0,0.0\n");
  EXPECT_EQ(d.edge_features.width, 0);
  EXPECT_TRUE(has_note(d, "2 edge features are all zero"));
}

TEST_F(JodieTest, BadTables) {
  EXPECT_TRUE(refuses(kHeader, {"wikipedia.csv has no events"}));
  EXPECT_TRUE(fails([&] { read("", "jodie"); }, {"wikipedia.csv is empty"}));
  EXPECT_TRUE(refuses(kHeader + "0,0,0\n", {"wikipedia.csv:2: 3 columns", "at least 4"}));
  EXPECT_TRUE(
      refuses(kHeader + "0,0,0,0,1,2\n0,0,1,0,1\n", {"wikipedia.csv:3: 5 columns instead of 6"}));
  EXPECT_TRUE(refuses(kHeader + "0,0,x,0,1\n", {"wikipedia.csv:2: time 'x' is not a number"}));
  EXPECT_TRUE(refuses(kHeader + "0,,1,0,1\n", {"wikipedia.csv:2: a node id is empty"}));
  EXPECT_TRUE(refuses(kHeader + "0,0,1,?,1\n", {"wikipedia.csv:2: label '?' is not a number"}));
  EXPECT_TRUE(
      refuses(kHeader + "0,0,1,0,nan\n", {"wikipedia.csv:2: the feature '5' is empty (nan)"}));
}

}  // namespace
}  // namespace curnm
