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

class TglTest : public ::testing::Test {
 protected:
  void write(const char* name, std::string_view bytes) const {
    folder_.write(std::filesystem::path("WIKI") / name, bytes);
  }
  std::filesystem::path path() const { return folder_ / "WIKI"; }
  Dataset read() const {
    Dataset dataset = read_network(path());
    EXPECT_EQ(dataset.format, "tgl");
    EXPECT_EQ(inconsistency(dataset), "");
    return dataset;
  }
  ::testing::AssertionResult refuses(std::vector<std::string> parts) const {
    return fails([&] { read(); }, parts);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(TglTest, FolderAsPublished) {
  write("edges.csv",
        ",src,dst,time,int_roll,ext_roll\n"
        "0,3,1,0.0,0,0\n"
        "1,1,2,36.0,0,1\n"
        "2,3,2,77.5,1,2\n");
  write("edge_features.npy", npy_matrix(3, 2, {1, 2, 3, 4, 5, 6}));
  write("node_features.npy", npy_matrix(4, 1, {100, 101, 102, 103}));
  const Dataset d = read();
  EXPECT_EQ(d.name, "WIKI");
  EXPECT_EQ(named_events(d), (Events{{"3", "1", 0}, {"1", "2", 36}, {"3", "2", 77.5}}));
  EXPECT_EQ(to_vector(d.roll), (std::vector<std::uint8_t>{0, 1, 2}));
  EXPECT_TRUE(d.labels.empty());
  EXPECT_EQ(d.edge_features.width, 2);
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(to_vector(d.node_features.values), (Values{103, 101, 102})) << "by id, not by position";
  EXPECT_TRUE(d.notes.empty());
}

TEST_F(TglTest, OnlyTheTableIsNeeded) {
  write("edges.csv", "src,dst,time,label\n1,2,0,1\n2,3,1,0\n");
  const Dataset d = read();
  EXPECT_EQ(to_vector(d.labels), (Values{1, 0}));
  EXPECT_TRUE(d.roll.empty());
  EXPECT_EQ(d.edge_features.width, 0);
  EXPECT_EQ(d.node_features.width, 0);
}

TEST_F(TglTest, FeaturesFollowTheirEventsWhenSorted) {
  write("edges.csv", "src,dst,time\n1,2,5\n2,3,1\n3,1,1\n");
  write("edge_features.npy", npy_matrix(3, 1, {50, 10, 11}));
  const Dataset d = read();
  EXPECT_EQ(named_events(d), (Events{{"2", "3", 1}, {"3", "1", 1}, {"1", "2", 5}}));
  EXPECT_EQ(to_vector(d.edge_features.values), (Values{10, 11, 50}));
  EXPECT_TRUE(has_note(d, "not in time order (first at row 2)"));
}

TEST_F(TglTest, FeaturesThatAreAllZeroAreDroppedAndNoted) {
  write("edges.csv", "src,dst,time\n0,1,0\n");
  write("edge_features.npy", npy_matrix(1, 2, {0, 0}));
  write("node_features.npy", npy_matrix(2, 3, {0, 0, 0, 0, 0, 0}));
  const Dataset d = read();
  EXPECT_EQ(d.edge_features.width, 0);
  EXPECT_EQ(d.node_features.width, 0);
  EXPECT_TRUE(has_note(d, "2 edge features are all zero"));
  EXPECT_TRUE(has_note(d, "3 node features are all zero"));
}

TEST_F(TglTest, TensorFilesAreNotedWithAdvice) {
  write("edges.csv", "src,dst,time\n0,1,0\n");
  write("edge_features.pt", "PK");
  write("node_features.pt", "PK");
  const Dataset d = read();
  EXPECT_TRUE(has_note(d, "edge_features.npy"));
  EXPECT_TRUE(has_note(d, "node_features.npy"));
}

TEST_F(TglTest, TheFolderGivesTheNameHoweverItIsWritten) {
  write("edges.csv", "src,dst,time\n0,1,0\n");
  for (const char* spelling : {"WIKI", "WIKI/", "WIKI/.", "./WIKI//"}) {
    EXPECT_EQ(read_network(folder_ / spelling, "tgl").name, "WIKI") << spelling;
  }
}

TEST_F(TglTest, BadHeaders) {
  write("edges.csv", "");
  EXPECT_TRUE(refuses({"edges.csv is empty"}));
  write("edges.csv", "src,dst,time\n");
  EXPECT_TRUE(refuses({"edges.csv has no events"}));
  write("edges.csv", "src,dst\n1,2\n");
  EXPECT_TRUE(refuses({"edges.csv:1: ", "src, dst and time"}));
  write("edges.csv", "src,dst,time,weight\n1,2,3,4\n");
  EXPECT_TRUE(refuses({"edges.csv:1: ", "unknown column 'weight'", "ext_roll"}));
}

TEST_F(TglTest, BadRows) {
  write("edges.csv", "src,dst,time\n1,2,3\n1,2\n");
  EXPECT_TRUE(refuses({"edges.csv:3: 2 columns instead of 3"}));
  write("edges.csv", "src,dst,time\n1,2,x\n");
  EXPECT_TRUE(refuses({"edges.csv:2: time 'x' is not a number"}));
  write("edges.csv", "src,dst,time,ext_roll\n1,2,3,4\n");
  EXPECT_TRUE(refuses({"edges.csv:2: ext_roll 4 is too large (at most 2)"}));
}

TEST_F(TglTest, EdgeFeaturesMustMatchTheEvents) {
  write("edges.csv", "src,dst,time\n1,2,0\n2,3,1\n3,1,2\n");
  write("edge_features.npy", npy_matrix(2, 1, {1, 2}));
  EXPECT_TRUE(refuses({"edge_features.npy: 2 rows for 3 events"}));
  write("edge_features.npy", npy_matrix(4, 1, {1, 2, 3, 4}));
  EXPECT_TRUE(refuses({"edge_features.npy: 4 rows for 3 events"}));
  write("edge_features.npy", npy_matrix(0, 1, {}));
  EXPECT_TRUE(refuses({"edge_features.npy", "3 events"}));
  write("edge_features.npy", npy_matrix(3, 1, {1, std::numeric_limits<float>::quiet_NaN(), 3}));
  EXPECT_TRUE(refuses({"edge_features.npy: row 1, column 0 is nan"}));
}

TEST_F(TglTest, NodeFeaturesMustHaveARowForEachId) {
  write("edges.csv", "src,dst,time\n1,4,0\n");
  write("node_features.npy", npy_matrix(4, 1, {1, 2, 3, 4}));
  EXPECT_TRUE(refuses({"node_features.npy: node id 4 is not one of its rows 0 .. 3"}));
  for (const char* id : {"99999999999999999999", "9223372036854775807", "-1", "alice", "1.5"}) {
    write("edges.csv", std::string("src,dst,time\n1,") + id + ",0\n");
    EXPECT_TRUE(refuses({"node_features.npy: node id " + std::string(id) + " is not one of"}));
  }
  write("node_features.npy", npy_matrix(0, 1, {}));
  EXPECT_TRUE(refuses({"node_features.npy", "node id 1"}));
}

// The mistake is found before memory for (nodes x width) values, half a terabyte here, is asked
// for.
TEST_F(TglTest, TransposedNodeFeaturesAreRefusedNotAllocated) {
  constexpr int kNodes = 1 << 17;
  std::string table = "src,dst,time\n";
  for (int node = 0; node < kNodes; node += 2) {
    table += std::to_string(node) + "," + std::to_string(node + 1) + ",0\n";
  }
  write("edges.csv", table);
  write("node_features.npy", npy_matrix(1, 1 << 20, Values(1 << 20, 1)));
  EXPECT_TRUE(refuses({"node_features.npy: node id 1 is not one of its rows 0 .. 0"}));
}

}  // namespace
}  // namespace curnm
