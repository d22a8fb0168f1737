#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "curnm/data/dataset.h"
#include "curnm/data/text_file.h"

namespace curnm {

/// The role of each column of a delimited text; -1 if there is none.
struct TableLayout {
  int src = 0;
  int dst = 1;
  int time = 2;
  int label = -1;
  int roll = -1;                // ext_roll: 0 train, 1 validation, 2 test
  int feature_row = -1;         // the row of the feature file that belongs to the event
  std::vector<int> features;    // one number each
  std::size_t width = 0;        // columns that every row must have
  std::string src_prefix = {};  // put before the names, so that user 5 and item 5 differ
  std::string dst_prefix = {};
  std::string note = {};  // a remark for the user about how the layout was found
};

struct ReadOptions;
/// The layout of a table by its first row, which is skipped if it is a header.
TableLayout table_layout(RowReader& rows, const ReadOptions& options);

/// The rows of a delimited text, in the order of the file, with nodes numbered as they appear.
struct EventTable {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  std::vector<float> labels;
  std::vector<std::uint8_t> roll;
  std::vector<std::int64_t> feature_rows;
  FeatureMatrix edge_features;  // [E,F], from the table itself or set by the reader
  FeatureMatrix node_features;  // [N,F], set by the reader
  IdTable ids;
  std::vector<std::string> notes;

  std::int64_t size() const { return static_cast<std::int64_t>(time.size()); }
};

/// Reads all remaining rows. Throws Error with file and line for anything malformed, and if there
/// are no rows.
EventTable read_rows(RowReader& rows, const TableLayout& layout);

/// Sets the node features from a file whose row n belongs to the node named n.
void set_node_features(EventTable& table, const std::filesystem::path& file);

/// Sorts by time (stably, noting where that was needed) and assembles the data set. Feature
/// matrices without a non-zero value are dropped, and that is noted too.
Dataset finish(EventTable table, std::string name);

}  // namespace curnm
