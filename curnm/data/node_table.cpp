#include <algorithm>

#include "curnm/data/event_table.h"

// Features of nodes from a table of their own.

namespace curnm {
namespace {

/// The node that a row is about; kNoNode if no event has it. Where sources and destinations are
/// told apart by prefixes, the prefix may be left out unless both have the id.
NodeId node_named(const Rows& rows, const IdTable& ids, const TableLayout& layout) {
  const std::string_view name = rows.fields().front();
  const NodeId exact = ids.find(name);
  if (exact != kNoNode || layout.src_prefix.empty()) return exact;
  const NodeId src = ids.find(layout.src_prefix + std::string(name));
  const NodeId dst = ids.find(layout.dst_prefix + std::string(name));
  if (src != kNoNode && dst != kNoNode) {
    rows.fail_here("the id '{0}' may be {1}{0} or {2}{0}: write it with the prefix", name,
                   layout.src_prefix, layout.dst_prefix);
  }
  return src != kNoNode ? src : dst;
}

/// A header has no number behind its first column, if a row has one.
bool has_names(const Rows& rows) {
  return std::ranges::none_of(rows.fields().subspan(1), is_number);
}

}  // namespace

void set_node_features(EventTable& table, const TableLayout& layout, const ReadOptions& options) {
  const std::filesystem::path path = options.node_features;
  const std::unique_ptr<Rows> rows = open_rows(
      path, {.limit = {options.unpack_limit}, .sparse = options.empty != EmptyCells::kError});
  if (!rows->next()) fail("{} is empty", path.string());
  const std::size_t width = rows->fields().size();
  if (width < 2) rows->fail_here("1 column; the ids of nodes and at least one feature are needed");
  const bool header = has_names(*rows);
  std::vector<FeatureColumn> columns;
  for (std::size_t i = 1; i < width; ++i) {
    columns.push_back({.index = static_cast<int>(i),
                       .name = header ? std::string(rows->fields()[i]) : std::to_string(i + 1)});
  }
  if (!header) rows->put_back();

  FeatureColumns features(std::move(columns), options.empty);
  std::vector<NodeId> nodes;  // of the rows
  std::vector<bool> has_row(static_cast<std::size_t>(table.ids.size()), false);
  std::int64_t unknown = 0;
  while (rows->next()) {
    if (rows->fields().size() != width) {
      rows->fail_here("{} columns instead of {}", rows->fields().size(), width);
    }
    const NodeId node = node_named(*rows, table.ids, layout);
    if (node == kNoNode) {
      ++unknown;
      continue;
    }
    if (has_row[static_cast<std::size_t>(node)]) {
      rows->fail_here("the node '{}' has two rows", rows->fields().front());
    }
    if (!features.add(*rows)) continue;  // --empty drop
    has_row[static_cast<std::size_t>(node)] = true;
    nodes.push_back(node);
  }
  if (nodes.empty()) {
    fail("{} has no row for any node of the events: its first column must have their ids",
         path.string());
  }
  const FeatureMatrix matrix = features.finish(table.notes);
  std::vector<float> values(has_row.size() * static_cast<std::size_t>(matrix.width), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = matrix.row(static_cast<std::int64_t>(i));
    std::copy(row.begin(), row.end(), values.begin() + nodes[i] * matrix.width);
  }
  table.node_features = {std::move(values), matrix.width};
  const auto missing = static_cast<std::int64_t>(has_row.size()) - std::ssize(nodes);
  if (missing > 0) {
    table.notes.push_back(fmt::format("{} of {} nodes have no row in {}: their features are 0",
                                      missing, has_row.size(), path.string()));
  }
  if (unknown > 0) {
    table.notes.push_back(
        fmt::format("{} rows of {} are about nodes without events", unknown, path.string()));
  }
}

}  // namespace curnm
