#include "curnm/data/event_table.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <optional>

#include "curnm/base/error.h"
#include "curnm/data/npy.h"

namespace curnm {
namespace {

std::int64_t parse_integer(const RowReader& rows, std::string_view text, std::string_view what,
                           std::int64_t most) {
  // Spreadsheets and pandas write whole numbers as 3.0.
  std::string_view digits = text;
  if (digits.ends_with(".0")) digits.remove_suffix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range || value > most) {
    rows.fail_here("{} {} is too large (at most {})", what, text, most);
  }
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0 || digits.empty()) {
    rows.fail_here("{} '{}' is not a non-negative integer", what, text);
  }
  return value;
}

bool all_zero(const FeatureMatrix& matrix) {
  return std::all_of(matrix.values.begin(), matrix.values.end(), [](float x) { return x == 0; });
}

template <class T>
std::vector<T> permuted(const std::vector<T>& values, const std::vector<std::int64_t>& order) {
  std::vector<T> out;
  out.reserve(values.size());
  if (!values.empty()) {
    for (std::int64_t row : order) out.push_back(values[static_cast<std::size_t>(row)]);
  }
  return out;
}

FeatureMatrix permuted(const FeatureMatrix& matrix, const std::vector<std::int64_t>& order) {
  std::vector<float> values;
  values.reserve(order.size() * static_cast<std::size_t>(matrix.width));
  if (matrix.width > 0) {
    for (std::int64_t row : order) {
      const auto source = matrix.row(row);
      values.insert(values.end(), source.begin(), source.end());
    }
  }
  return {std::move(values), matrix.width};
}

void sort_by_time(EventTable& table) {
  const auto out_of_order = std::is_sorted_until(table.time.begin(), table.time.end());
  if (out_of_order == table.time.end()) return;
  table.notes.push_back(
      fmt::format("the events were not in time order (first at row {}) and have been sorted, equal "
                  "times kept in "
                  "the order of the file",
                  out_of_order - table.time.begin() + 1));
  std::vector<std::int64_t> order(table.time.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return table.time[static_cast<std::size_t>(a)] < table.time[static_cast<std::size_t>(b)];
  });
  table.src = permuted(table.src, order);
  table.dst = permuted(table.dst, order);
  table.time = permuted(table.time, order);
  table.labels = permuted(table.labels, order);
  table.roll = permuted(table.roll, order);
  table.edge_features = permuted(table.edge_features, order);
}

void drop_if_zero(FeatureMatrix& matrix, std::string_view what, std::vector<std::string>& notes) {
  if (matrix.width == 0 || !all_zero(matrix)) return;
  notes.push_back(
      fmt::format("the {} {} features are all zero and have been left out", matrix.width, what));
  matrix = {};
}

}  // namespace

EventTable read_rows(RowReader& rows, const TableLayout& layout) {
  EventTable table;
  std::vector<float> features;
  std::string prefixed;
  const auto intern = [&](const std::string& prefix, std::string_view name) {
    if (name.empty()) rows.fail_here("a node id is empty");
    if (!is_text(name)) {
      rows.fail_here("a node id is not UTF-8 text: convert the file, for example with iconv");
    }
    if (prefix.empty()) return table.ids.intern(name);
    prefixed.assign(prefix).append(name);
    return table.ids.intern(prefixed);
  };
  while (rows.next()) {
    const auto fields = rows.fields();
    if (fields.size() != layout.width) {
      rows.fail_here("{} columns instead of {}", fields.size(), layout.width);
    }
    const auto at = [&](int column) { return fields[static_cast<std::size_t>(column)]; };
    table.src.push_back(intern(layout.src_prefix, at(layout.src)));
    table.dst.push_back(intern(layout.dst_prefix, at(layout.dst)));
    table.time.push_back(parse_time(rows, at(layout.time)));
    if (layout.label >= 0) table.labels.push_back(parse_float(rows, at(layout.label), "label"));
    if (layout.roll >= 0) {
      table.roll.push_back(
          static_cast<std::uint8_t>(parse_integer(rows, at(layout.roll), "ext_roll", 2)));
    }
    if (layout.feature_row >= 0) {
      table.feature_rows.push_back(parse_integer(rows, at(layout.feature_row), "idx",
                                                 std::numeric_limits<std::int64_t>::max()));
    }
    for (int column : layout.features) {
      features.push_back(parse_float(rows, at(column), "feature"));
    }
  }
  if (table.time.empty()) fail("{} has no events", rows.path());
  table.edge_features = {std::move(features), static_cast<std::int64_t>(layout.features.size())};
  return table;
}

void set_node_features(EventTable& table, const std::filesystem::path& file) {
  const FeatureMatrix matrix = read_npy(file);
  // Check all ids first: a file that does not fit must not cause an allocation of (nodes x width)
  // values.
  std::vector<std::int64_t> rows;
  for (NodeId node = 0; node < table.ids.size(); ++node) {
    const std::string_view name = table.ids.name(node);
    std::int64_t row = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), row);
    if (error != std::errc() || end != name.data() + name.size() || row < 0 ||
        row >= matrix.rows()) {
      fail("{}: node id {} is not one of its rows 0 .. {}", file.string(), name, matrix.rows() - 1);
    }
    rows.push_back(row);
  }
  table.node_features = permuted(matrix, rows);
}

Dataset finish(EventTable table, std::string name) {
  CURNM_ASSERT(table.edge_features.width == 0 || table.edge_features.rows() == table.size());
  sort_by_time(table);
  drop_if_zero(table.edge_features, "edge", table.notes);
  drop_if_zero(table.node_features, "node", table.notes);
  const NodeId nodes = table.ids.size();
  return {.name = std::move(name),
          .events = {std::move(table.src), std::move(table.dst), std::move(table.time), nodes},
          .labels = std::move(table.labels),
          .roll = std::move(table.roll),
          .edge_features = std::move(table.edge_features),
          .node_features = std::move(table.node_features),
          .ids = table.ids.finish(),
          .notes = std::move(table.notes)};
}

}  // namespace curnm
