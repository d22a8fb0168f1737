#include "curnm/data/event_table.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/base/interrupt.h"
#include "curnm/data/npy.h"

namespace curnm {
namespace {

std::int64_t parse_integer(const Rows& rows, std::string_view text, std::string_view what,
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

/// Rows that are read into a table, each as a whole or not at all.
class TableBuilder {
 public:
  TableBuilder(const Rows& rows, const TableLayout& layout, EmptyCells empty)
      : rows_(rows), layout_(layout), empty_(empty), features_(layout.features, empty) {}

  void add_row() {
    if (rows_.fields().size() != layout_.width) {
      rows_.fail_here("{} columns instead of {}", rows_.fields().size(), layout_.width);
    }
    if (lacks(layout_.src, "a node id") || lacks(layout_.dst, "a node id") ||
        lacks(layout_.time, "time") || lacks(layout_.label, "label") || !features_.add(rows_)) {
      ++dropped_;
      return;
    }
    table_.src.push_back(intern(layout_.src_prefix, at(layout_.src)));
    table_.dst.push_back(intern(layout_.dst_prefix, at(layout_.dst)));
    table_.time.push_back(times_.parse(rows_, at(layout_.time)));
    if (layout_.label >= 0) table_.labels.push_back(label());
    if (layout_.roll >= 0) {
      table_.roll.push_back(
          static_cast<std::uint8_t>(parse_integer(rows_, at(layout_.roll), "ext_roll", 2)));
    }
    if (layout_.feature_row >= 0) {
      table_.feature_rows.push_back(parse_integer(rows_, at(layout_.feature_row), "idx",
                                                  std::numeric_limits<std::int64_t>::max()));
    }
  }

  EventTable finish() {
    if (table_.time.empty()) {
      fail("{} has no events{}", rows_.path(),
           dropped_ > 0 ? ": all rows have empty cells, and --empty drop leaves them out" : "");
    }
    table_.notes = layout_.notes;
    const auto note = [&](std::int64_t count, std::string_view what) {
      if (count > 0) table_.notes.push_back(fmt::format("{} {}", count, what));
    };
    note(dropped_, "rows with empty cells have been left out (--empty drop)");
    note(filled_ + features_.filled(), "empty cells have been taken as 0 (--empty fill)");
    note(times_.without_zone(), "dates have no zone and are taken as UTC");
    note(times_.merged(),
         "times differ from the one before in digits that a double does not hold: they are the "
         "same time now; count from a later start, or in a coarser unit");
    if (!times_.has_dates()) note_other_units();
    note_missing_names();
    table_.edge_features = features_.finish(table_.notes);
    return std::move(table_);
  }

 private:
  std::string_view at(int column) const { return rows_.fields()[static_cast<std::size_t>(column)]; }

  /// Numbers that look like dates, but are not the seconds since 1970 that dates become here.
  void note_other_units() {
    constexpr double kYear1990 = 631152000;
    constexpr double kYear2100 = 4102444800;
    const auto [first, last] = std::ranges::minmax(table_.time);
    for (const auto& [unit, per_second] :
         {std::pair("milliseconds", 1e3), std::pair("microseconds", 1e6),
          std::pair("nanoseconds", 1e9)}) {
      if (first < kYear1990 * per_second || last >= kYear2100 * per_second) continue;
      table_.notes.push_back(fmt::format(
          "times look like {} since 1970 and are used as they are; dates that are given to --time "
          "and others are seconds",
          unit));
    }
    const auto is_written_date = [](double time) {
      if (time < 1900'01'01 || time > 2100'12'31) return false;
      const auto day = static_cast<std::int64_t>(time);
      return static_cast<double>(day) == time && day / 100 % 100 >= 1 && day / 100 % 100 <= 12 &&
             day % 100 >= 1 && day % 100 <= 31;
    };
    if (std::ranges::all_of(table_.time, is_written_date)) {
      table_.notes.push_back(fmt::format(
          "times look like dates ({:.0f}) and are used as numbers, so that the last day "
          "of a month is 70 before the next: write 2024-01-31",
          first));
    }
  }

  /// Names that other programs write where there is nothing.
  void note_missing_names() {
    for (NodeId node = 0; node < table_.ids.size(); ++node) {
      const std::string_view name = table_.ids.name(node);
      if (!is_missing(name)) continue;
      const auto count =
          std::ranges::count(table_.src, node) + std::ranges::count(table_.dst, node);
      table_.notes.push_back(fmt::format(
          "a node is called '{}', {} times: if that means an empty cell, leave these rows out",
          name, count));
    }
  }

  /// Whether the row has to be left out because that cell is empty. Throws where it must not be.
  bool lacks(int column, std::string_view what) const {
    if (column < 0) return false;
    const bool is_id = column == layout_.src || column == layout_.dst;
    if (is_id ? !at(column).empty() : !is_missing(at(column))) return false;
    if (empty_ == EmptyCells::kDrop) return true;
    if (column == layout_.label && empty_ == EmptyCells::kFill) return false;
    rows_.fail_here("{} is empty; {}--empty drop leaves such rows out", what,
                    column == layout_.label ? "--empty fill takes 0 for it, " : "");
  }

  float label() {
    const std::string_view text = at(layout_.label);
    if (!is_missing(text)) return parse_float(rows_, text, "label");
    ++filled_;
    return 0;
  }

  NodeId intern(const std::string& prefix, std::string_view name) {
    check_name(rows_, name);
    if (prefix.empty()) return table_.ids.intern(name);
    prefixed_.assign(prefix).append(name);
    return table_.ids.intern(prefixed_);
  }

  const Rows& rows_;
  const TableLayout& layout_;
  EmptyCells empty_;
  FeatureColumns features_;
  TimeColumn times_;
  EventTable table_;
  std::string prefixed_;
  std::int64_t dropped_ = 0;
  std::int64_t filled_ = 0;
};

}  // namespace

EventTable read_rows(Rows& rows, const TableLayout& layout, EmptyCells empty) {
  TableBuilder builder(rows, layout, empty);
  constexpr std::int64_t kRowsBetweenChecks = 1 << 14;
  for (std::int64_t row = 0; rows.next(); ++row) {
    if (row % kRowsBetweenChecks == 0) check_interrupt();
    builder.add_row();
  }
  return builder.finish();
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
