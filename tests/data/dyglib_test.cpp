#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "curnm/data/reader.h"
#include "support/datasets.h"
#include "support/errors.h"
#include "support/npy_writer.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::fails;
using testing::has_note;
using testing::inconsistency;
using testing::named_events;
using testing::npy_matrix;
using testing::to_vector;
using Events = std::vector<testing::NamedEvent>;
using Values = std::vector<float>;

constexpr const char* kTable =
    ",u,i,ts,label,idx\n"
    "0,1,3,0.0,0.0,1\n"
    "1,2,3,36.0,1.0,2\n"
    "2,1,4,77.0,0.0,3\n";

class DyglibTest : public ::testing::Test {
 protected:
  void write(const char* name, std::string_view bytes) const { folder_.write(name, bytes); }
  Dataset read() const {
    Dataset dataset = read_network(folder_.path());
    EXPECT_EQ(dataset.format, "dyglib");
    EXPECT_EQ(inconsistency(dataset), "");
    return dataset;
  }
  ::testing::AssertionResult refuses(std::vector<std::string> parts) const {
    return fails([&] { read(); }, parts);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(DyglibTest, TrioAsPublished) {
  write("ml_wiki.csv", kTable);
  write("ml_wiki.npy", npy_matrix(4, 2, {0, 0, 1, 2, 3, 4, 5, 6}));
  write("ml_wiki_node.npy", npy_matrix(5, 1, {0, 101, 102, 103, 104}));
  const Dataset d = read();
  EXPECT_EQ(d.name, "wiki");
  EXPECT_EQ(named_events(d), (Events{{"1", "3", 0}, {"2", "3", 36}, {"1", "4", 77}}));
  EXPECT_EQ(to_vector(d.labels), (Values{0, 1, 0}));
  EXPECT_EQ(d.edge_features.width, 2);
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{1, 2, 3, 4, 5, 6})) << "without padding";
  EXPECT_EQ(to_vector(d.node_features.values), (Values{101, 103, 102, 104})) << "by id";
  EXPECT_TRUE(d.notes.empty());
}

TEST_F(DyglibTest, FolderAndTableReadTheSame) {
  write("ml_wiki.csv", kTable);
  write("ml_wiki.npy", npy_matrix(4, 1, {0, 1, 2, 3}));
  const Dataset table = read_network(folder_ / "ml_wiki.csv");
  EXPECT_EQ(table.format, "dyglib");
  EXPECT_EQ(table.digest(), read().digest());
}

TEST_F(DyglibTest, OnlyTheTableIsNeeded) {
  write("ml_wiki.csv", kTable);
  const Dataset d = read();
  EXPECT_EQ(d.events.size(), 3);
  EXPECT_EQ(d.edge_features.width, 0);
  EXPECT_EQ(d.node_features.width, 0);
}

TEST_F(DyglibTest, IdxChoosesTheRowOfTheFeatures) {
  write("ml_x.csv", ",u,i,ts,label,idx\n0,1,3,0,0,3\n1,2,3,1,1,1\n2,1,4,2,0,2.0\n");
  write("ml_x.npy", npy_matrix(4, 1, {-1, 10, 20, 30}));
  EXPECT_EQ(to_vector(read().edge_features.values), (Values{30, 10, 20}));
}

TEST_F(DyglibTest, FeaturesFollowTheirEventsWhenSorted) {
  write("ml_x.csv", ",u,i,ts,label,idx\n0,1,3,9,7,2\n1,2,3,1,8,3\n2,1,4,1,9,1\n");
  write("ml_x.npy", npy_matrix(4, 1, {0, 10, 20, 30}));
  const Dataset d = read();
  EXPECT_EQ(named_events(d), (Events{{"2", "3", 1}, {"1", "4", 1}, {"1", "3", 9}}));
  EXPECT_EQ(to_vector(d.labels), (Values{8, 9, 7}));
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{30, 10, 20}));
  EXPECT_TRUE(has_note(d, "not in time order"));
}

TEST_F(DyglibTest, FeaturesThatAreAllZeroAreDroppedAndNoted) {
  write("ml_x.csv", kTable);
  write("ml_x.npy", npy_matrix(4, 1, {5, 0, 0, 0}));
  write("ml_x_node.npy", npy_matrix(5, 172, Values(5 * 172, 0)));
  const Dataset d = read();
  EXPECT_EQ(d.edge_features.width, 0) << "padding does not count";
  EXPECT_EQ(d.node_features.width, 0);
  EXPECT_TRUE(has_note(d, "1 edge features are all zero"));
  EXPECT_TRUE(has_note(d, "172 node features are all zero"));
}

TEST_F(DyglibTest, TwoTablesInAFolderAreAmbiguous) {
  write("ml_a.csv", kTable);
  write("ml_b.csv", kTable);
  for (const char* format : {"auto", "dyglib"}) {
    EXPECT_TRUE(fails([&] { read_network(folder_.path(), format); },
                      {folder_.path().string(), "more than one ml_*.csv", "name the one to read"}))
        << format;
  }
  EXPECT_EQ(read_network(folder_ / "ml_a.csv").name, "a");
}

TEST_F(DyglibTest, BadTables) {
  write("ml_x.csv", "");
  EXPECT_TRUE(refuses({"ml_x.csv is empty"}));
  write("ml_x.csv", ",u,i,ts,label,idx\n");
  EXPECT_TRUE(refuses({"ml_x.csv has no events"}));
  write("ml_x.csv", "u,i,ts,label,idx\n1,2,0,0,1\n");
  EXPECT_TRUE(refuses({"ml_x.csv:1: ", ",u,i,ts,label,idx"}));
  write("ml_x.csv", ",u,i,ts,label,idx,more\n0,1,2,0,0,1,5\n");
  EXPECT_TRUE(refuses({"ml_x.csv:1: ", ",u,i,ts,label,idx"}));
  write("ml_x.csv", ",u,i,ts,label,idx\n0,1,2,0,0\n");
  EXPECT_TRUE(refuses({"ml_x.csv:2: 5 columns instead of 6"}));
  write("ml_x.csv", ",u,i,ts,label,idx\n0,1,2,-5,0,1\n");
  EXPECT_TRUE(refuses({"ml_x.csv:2: time -5 is negative"}));
  for (const char* idx : {"x", "-1", "1.5", ""}) {
    write("ml_x.csv", std::string(",u,i,ts,label,idx\n0,1,2,0,0,") + idx + "\n");
    EXPECT_TRUE(refuses({"ml_x.csv:2: idx '" + std::string(idx) + "'"}));
  }
  write("ml_x.csv", ",u,i,ts,label,idx\n0,1,2,0,0,99999999999999999999\n");
  EXPECT_TRUE(refuses({"ml_x.csv:2: idx 99999999999999999999 is too large"}));
}

TEST_F(DyglibTest, EdgeFeaturesNeedARowEachAndPadding) {
  write("ml_x.csv", kTable);
  write("ml_x.npy", npy_matrix(3, 1, {1, 2, 3}));
  EXPECT_TRUE(refuses({"ml_x.npy: 3 rows for 3 events", "padding"}));
  write("ml_x.npy", npy_matrix(5, 1, {1, 2, 3, 4, 5}));
  EXPECT_TRUE(refuses({"ml_x.npy: 5 rows for 3 events"}));
  write("ml_x.npy", npy_matrix(4, 1, {0, 1, 2, std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(refuses({"ml_x.npy: row 3, column 0 is inf"}));
  write("ml_x.npy", npy_matrix(4, 1, {0, 1, 2}));
  EXPECT_TRUE(refuses({"ml_x.npy is truncated"}));
}

TEST_F(DyglibTest, IdxMustBeARowBehindThePadding) {
  write("ml_x.npy", npy_matrix(2, 1, {0, 1}));
  for (const char* idx : {"0", "2", "9223372036854775807"}) {
    write("ml_x.csv", std::string(",u,i,ts,label,idx\n0,1,2,0,0,") + idx + "\n");
    EXPECT_TRUE(refuses({"ml_x.npy: idx " + std::string(idx) + " is not one of its rows 1 .. 1"}));
  }
}

TEST_F(DyglibTest, NodeFeaturesMustHaveARowForEachId) {
  write("ml_x.csv", kTable);
  write("ml_x_node.npy", npy_matrix(4, 1, {0, 1, 2, 3}));
  EXPECT_TRUE(refuses({"ml_x_node.npy: node id 4 is not one of its rows 0 .. 3"}));
}

}  // namespace
}  // namespace curnm
