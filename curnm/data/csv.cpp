#include <fmt/ranges.h>

#include <cctype>
#include <initializer_list>

#include "curnm/base/names.h"
#include "curnm/data/event_table.h"
#include "curnm/data/readers.h"

// Plain tables: `src,dst,time[,label][,features...]`, with or without a header.

namespace curnm {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The names of a table's columns, each claimed at most once.
class Header {
 public:
  Header(const RowReader& rows, std::span<const std::string_view> names)
      : rows_(rows), names_(names.begin(), names.end()), claimed_(names.size(), false) {}

  /// The column that the user named, or else the first of the usual names; -1 without one.
  int claim(const std::string& asked, std::initializer_list<std::string_view> usual) {
    if (!asked.empty()) {
      const int column = find(asked);
      if (column >= 0) return column;
      const std::vector<std::string_view> known(names_.begin(), names_.end());
      if (is_claimed(asked)) {
        throw UsageError(fmt::format("column '{}' is named twice on the command line", asked));
      }
      unknown_name("column", asked, known);
    }
    for (std::string_view name : usual) {
      const int column = find(std::string(name));
      if (column >= 0) return column;
    }
    return -1;
  }
  /// Fills a column that the user did not name.
  void require(int& column, std::initializer_list<std::string_view> usual, std::string_view what) {
    if (column < 0) column = claim("", usual);
    if (column >= 0) return;
    rows_.fail_here(
        "no column is named like a {0} ({1}); say which one with `curnm import --{0}-column`", what,
        fmt::join(names_, ", "));
  }
  /// A second column with a reserved name (such as time) would be read as a feature.
  void refuse_repeated() const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (claimed_[i] || !is_claimed(names_[i])) continue;
      rows_.fail_here("two columns are named '{}'; rename one, or leave it out", names_[i]);
    }
  }
  std::vector<int> unclaimed() const {
    std::vector<int> columns;
    for (std::size_t i = 0; i < claimed_.size(); ++i) {
      if (!claimed_[i]) columns.push_back(static_cast<int>(i));
    }
    return columns;
  }

 private:
  int find(const std::string& name) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (claimed_[i] || lower(names_[i]) != lower(name)) continue;
      claimed_[i] = true;
      return static_cast<int>(i);
    }
    return -1;
  }
  bool is_claimed(const std::string& name) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (claimed_[i] && lower(names_[i]) == lower(name)) return true;
    }
    return false;
  }

  const RowReader& rows_;
  std::vector<std::string> names_;
  std::vector<bool> claimed_;
};

/// The columns that the user names. Claimed first, since one may have the usual name or position of
/// another.
TableLayout named_columns(Header& header, const ReadOptions& options) {
  const auto asked = [&](const std::string& name) {
    return name.empty() ? -1 : header.claim(name, {});
  };
  return {.src = asked(options.src_column),
          .dst = asked(options.dst_column),
          .time = asked(options.time_column)};
}

TableLayout layout_from_header(const RowReader& rows, const ReadOptions& options) {
  Header header(rows, rows.fields());
  for (const std::string& name : options.drop_columns) header.claim(name, {});
  TableLayout layout = named_columns(header, options);
  for (std::string_view row_number : {"", "idx", "index", "unnamed: 0", "int_roll"}) {
    header.claim("", {row_number});  // as pandas, DyGLib and TGL write them
  }
  header.require(layout.src, {"src", "source", "u", "user", "user_id", "from", "sender"}, "src");
  header.require(
      layout.dst,
      {"dst", "destination", "dest", "target", "i", "v", "item", "item_id", "to", "receiver"},
      "dst");
  header.require(layout.time, {"time", "timestamp", "ts", "t", "unixtime", "unix_time"}, "time");
  layout.label = header.claim("", {"label", "state_label"});
  layout.roll = header.claim("", {"ext_roll"});
  layout.features = header.unclaimed();
  header.refuse_repeated();
  layout.width = rows.fields().size();
  return layout;
}

/// Columns that the user names by their number, counting from 1.
TableLayout layout_by_number(const RowReader& rows, const ReadOptions& options) {
  std::vector<std::string> numbers;
  for (std::size_t i = 1; i <= rows.fields().size(); ++i) numbers.push_back(std::to_string(i));
  Header header(rows, std::vector<std::string_view>(numbers.begin(), numbers.end()));
  for (const std::string& name : options.drop_columns) header.claim(name, {});
  TableLayout layout = named_columns(header, options);
  header.require(layout.src, {"1"}, "src");
  header.require(layout.dst, {"2"}, "dst");
  header.require(layout.time, {"3"}, "time");
  layout.label = header.claim("", {"4"});
  layout.features = header.unclaimed();
  layout.width = numbers.size();
  return layout;
}

/// Without names the columns are src, dst, time, label, features; a label is assumed only if there
/// is a fourth column.
TableLayout layout_by_position(const RowReader& rows, const ReadOptions& options) {
  if (!options.src_column.empty() || !options.dst_column.empty() || !options.time_column.empty() ||
      !options.drop_columns.empty()) {
    return layout_by_number(rows, options);
  }
  TableLayout layout{.width = rows.fields().size()};
  if (layout.width > 3) {
    layout.label = 3;
    layout.note =
        "without a header the columns are taken for src, dst, time, label and features; where they "
        "are others, import says which: --time-column 4";
  }
  for (std::size_t column = 4; column < layout.width; ++column) {
    layout.features.push_back(static_cast<int>(column));
  }
  return layout;
}

}  // namespace

bool recognises_csv(const fs::path& path) { return fs::is_regular_file(path); }

TableLayout table_layout(RowReader& rows, const ReadOptions& options) {
  if (!rows.next()) fail("{} is empty", rows.path());
  if (rows.fields().size() < 3) {
    rows.fail_here("{} column(s); src, dst and time are needed at least", rows.fields().size());
  }
  // Without a header the third column is the time, and a time is a number.
  const bool has_header = !is_number(rows.fields()[2]);
  if (has_header) return layout_from_header(rows, options);
  rows.put_back();
  return layout_by_position(rows, options);
}

Dataset read_csv(const fs::path& path, const ReadOptions& options) {
  const TextFile file(path);
  RowReader rows(file.text(), path);
  TableLayout layout = table_layout(rows, options);
  if (options.separate_ids) {
    layout.src_prefix = "src:";
    layout.dst_prefix = "dst:";
  }
  EventTable table = read_rows(rows, layout);
  if (!layout.note.empty()) table.notes.push_back(layout.note);
  return finish(std::move(table), table_name(path));
}

}  // namespace curnm
