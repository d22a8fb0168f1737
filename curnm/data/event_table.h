#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "curnm/data/dataset.h"
#include "curnm/data/feature_columns.h"

namespace curnm {

/// The role of each column of a delimited text; -1 if there is none.
struct TableLayout {
  int src = 0;
  int dst = 1;
  int time = 2;
  int label = -1;
  int roll = -1;         // ext_roll: 0 train, 1 validation, 2 test
  int feature_row = -1;  // the row of the feature file that belongs to the event
  std::vector<FeatureColumn> features;
  std::size_t width = 0;        // columns that every row must have
  std::string src_prefix = {};  // put before the names, so that user 5 and item 5 differ
  std::string dst_prefix = {};
  std::vector<std::string> notes = {};  // remarks for the user about how the layout was found
};

/// The layout of a table by its first row, which is skipped if it is a header.
TableLayout table_layout(Rows& rows, const ReadOptions& options);
/// Opens a plain table, JSON lines included.
std::unique_ptr<Rows> open_table(const std::filesystem::path& path, const ReadOptions& options);

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
EventTable read_rows(Rows& rows, const TableLayout& layout, EmptyCells empty = EmptyCells::kError);

/// Notes where both columns of ids are whole numbers, some of them in both, and nothing shows
/// whether these are the same nodes: links do not run both ways more often than by chance.
void note_shared_ids(EventTable& table);

/// Sets the node features from a file whose row n belongs to the node named n.
void set_node_features(EventTable& table, const std::filesystem::path& file);

/// Sets the node features from a table whose first column has the ids. Nodes that it does not have
/// get zeros; they and ids that no event has are counted in a note.
void set_node_features(EventTable& table, const TableLayout& layout, const ReadOptions& options);

/// Sorts by time (stably, noting where that was needed) and assembles the data set. Feature
/// matrices without a non-zero value are dropped, and that is noted too.
Dataset finish(EventTable table, std::string name);

}  // namespace curnm
