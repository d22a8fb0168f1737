#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "curnm/base/names.h"
#include "curnm/data/column_names.h"
#include "curnm/data/event_table.h"

// Which column of a plain table is what: by the options, by the names of the header, by position.

namespace curnm {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The column with that number, counting from 1; -1 if the text is no number of a column.
int numbered_column(std::string_view text, std::size_t width) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 1 && number <= width ? static_cast<int>(number) - 1 : -1;
}

/// The columns of a table, each claimed at most once.
class Columns {
 public:
  /// Without a header the names are empty, and columns have numbers alone.
  Columns(const Rows& rows, bool has_header)
      : rows_(rows), has_header_(has_header), claimed_(rows.fields().size(), false) {
    for (std::size_t i = 0; i < claimed_.size(); ++i) {
      names_.push_back(has_header ? std::string(rows.fields()[i]) : std::to_string(i + 1));
    }
  }

  /// The column that the user named, by name or number. Throws UsageError if there is none.
  int claim_asked(const std::string& asked) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!claimed_[i] && lower(names_[i]) == lower(asked)) return claim(static_cast<int>(i));
    }
    const bool taken = std::ranges::any_of(
        names_, [&](const std::string& name) { return lower(name) == lower(asked); });
    const int numbered = taken ? -1 : numbered_column(asked, names_.size());
    if (taken || (numbered >= 0 && claimed_[index(numbered)])) {
      throw UsageError(fmt::format("column '{}' is named twice on the command line", asked));
    }
    if (numbered >= 0) return claim(numbered);
    std::vector<std::string> shown;
    for (const std::string& name : names_) shown.push_back(printable(name, 100));
    unknown_name("column", asked, std::vector<std::string_view>(shown.begin(), shown.end()));
  }

  /// Whichever column is most usual for the role; -1 without one. Others that would do are noted.
  int claim_usual(ColumnRole role, std::vector<std::string>& notes) {
    if (!has_header_) return -1;
    int best = -1;
    std::vector<std::string> others;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const ColumnGuess guess = guess_role(names_[i]);
      if (claimed_[i] || guess.role != role) continue;
      if (best < 0) {
        best = static_cast<int>(i);
      } else if (guess.rank < guess_role(name(best)).rank) {
        others.push_back(name(best));
        best = static_cast<int>(i);
      } else {
        others.push_back(names_[i]);
      }
    }
    if (best >= 0 && !others.empty() && role != ColumnRole::kRowNumber) {
      notes.push_back(
          fmt::format("the column '{}' is taken for the {}, and not '{}'; --{}-column "
                      "chooses another",
                      printable(name(best), 100), word_of(role),
                      printable(fmt::format("{}", fmt::join(others, "', '")), 300), word_of(role)));
    }
    return best < 0 ? best : claim(best);
  }

  int claim_position(int column) {
    const bool free = column < static_cast<int>(claimed_.size()) && !claimed_[index(column)];
    return free ? claim(column) : -1;
  }

  /// Fills a column that the user did not name.
  void require(int& column, ColumnRole role, int position, std::vector<std::string>& notes) {
    if (column < 0) column = has_header_ ? claim_usual(role, notes) : claim_position(position);
    if (column >= 0) return;
    const bool looks_like_data = std::ranges::any_of(names_, is_time);
    rows_.fail_here("no column is named like a {0} ({1}); say which one with --{0}-column{2}",
                    word_of(role), fmt::join(names_, ", "),
                    has_header_ && looks_like_data
                        ? " (in a table without a header by its number: --time-column 1)"
                        : "");
  }

  /// A second column with the name of one in use (such as time) would be read as a feature.
  void refuse_repeated() const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      for (std::size_t j = 0; j < names_.size(); ++j) {
        if (!has_header_ || claimed_[i] || !claimed_[j] || lower(names_[i]) != lower(names_[j])) {
          continue;
        }
        rows_.fail_here("two columns are named '{}'; rename one, or leave it out", names_[i]);
      }
    }
  }

  const std::string& name(int column) const { return names_[index(column)]; }
  std::size_t size() const { return names_.size(); }
  bool is_claimed(std::size_t column) const { return claimed_[column]; }

 private:
  static std::size_t index(int column) { return static_cast<std::size_t>(column); }
  static std::string_view word_of(ColumnRole role) {
    return role == ColumnRole::kSrc ? "src" : role == ColumnRole::kDst ? "dst" : "time";
  }
  int claim(int column) {
    claimed_[index(column)] = true;
    return column;
  }

  const Rows& rows_;
  bool has_header_;
  std::vector<std::string> names_;
  std::vector<bool> claimed_;
};

/// A header has no time where a row has one.
bool is_header(const Rows& rows, const ReadOptions& options) {
  const auto fields = rows.fields();
  const auto is_name = [&](const std::string& asked) {
    return !asked.empty() && numbered_column(asked, fields.size()) < 0;
  };
  if (is_name(options.src_column) || is_name(options.dst_column) || is_name(options.time_column)) {
    return true;
  }
  const int time = numbered_column(options.time_column, fields.size());
  return !is_time(fields[time < 0 ? 2 : static_cast<std::size_t>(time)]);
}

std::string prefix_of(std::string_view name, std::string_view otherwise) {
  const std::string kind = kind_of_node(name);
  return (kind.empty() ? std::string(otherwise) : kind) + ":";
}

/// Tells sources from destinations by prefixes, if asked to or where the header names two kinds.
void separate_ids(TableLayout& layout, const Columns& columns, SeparateIds asked) {
  const std::string& src = columns.name(layout.src);
  const std::string& dst = columns.name(layout.dst);
  const bool two_kinds = !kind_of_node(src).empty() && !kind_of_node(dst).empty() &&
                         kind_of_node(src) != kind_of_node(dst);
  if (asked == SeparateIds::kOff || (asked == SeparateIds::kAuto && !two_kinds)) return;
  layout.src_prefix = prefix_of(two_kinds ? src : "", "src");
  layout.dst_prefix = prefix_of(two_kinds ? dst : "", "dst");
  if (asked == SeparateIds::kOn) return;
  layout.notes.push_back(
      fmt::format("the header names two kinds of nodes: {}5 and {}5 are different ones "
                  "(--separate-ids off makes them one)",
                  layout.src_prefix, layout.dst_prefix));
}

}  // namespace

TableLayout table_layout(Rows& rows, const ReadOptions& options) {
  if (!rows.next()) fail("{} is empty", rows.path());
  if (rows.fields().size() < 3) {
    rows.fail_here("{} column(s); src, dst and time are needed at least", rows.fields().size());
  }
  const bool has_header = is_header(rows, options);
  Columns columns(rows, has_header);
  TableLayout layout{.width = columns.size()};
  std::vector<std::string>& notes = layout.notes;

  const std::vector<std::string> dropped = split_list(options.drop_columns);
  for (const std::string& name : dropped) columns.claim_asked(name);
  // First those that the user names, since one may have the usual name or position of another.
  const auto asked = [&](const std::string& name) {
    return name.empty() ? -1 : columns.claim_asked(name);
  };
  layout.src = asked(options.src_column);
  layout.dst = asked(options.dst_column);
  layout.time = asked(options.time_column);
  const bool all_usual = layout.src < 0 && layout.dst < 0 && layout.time < 0 && dropped.empty();
  while (columns.claim_usual(ColumnRole::kRowNumber, notes) >= 0) {
  }
  columns.require(layout.src, ColumnRole::kSrc, 0, notes);
  columns.require(layout.dst, ColumnRole::kDst, 1, notes);
  columns.require(layout.time, ColumnRole::kTime, 2, notes);
  layout.label =
      has_header ? columns.claim_usual(ColumnRole::kLabel, notes) : columns.claim_position(3);
  layout.roll = columns.claim_usual(ColumnRole::kRoll, notes);
  columns.refuse_repeated();
  separate_ids(layout, columns, options.separate_ids);

  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns.is_claimed(i)) continue;
    const int index = static_cast<int>(i);
    layout.features.push_back({.index = index, .name = columns.name(index)});
  }
  for (const std::string& name : split_list(options.category_columns)) {
    const int column = columns.claim_asked(name);
    for (FeatureColumn& feature : layout.features) feature.category |= feature.index == column;
  }
  if (!has_header && all_usual && layout.width > 3) {
    notes.push_back(
        "without a header the columns are taken for src, dst, time, label and features; where they "
        "are others, say which: --time-column 4");
  }
  if (!has_header) rows.put_back();
  return layout;
}

std::unique_ptr<Rows> open_table(const std::filesystem::path& path, const ReadOptions& options) {
  return open_rows(path, {.limit = {options.unpack_limit},
                          .skip = split_list(options.drop_columns),
                          .sparse = options.empty != EmptyCells::kError});
}

}  // namespace curnm
