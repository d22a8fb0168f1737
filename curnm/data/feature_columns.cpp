#include "curnm/data/feature_columns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "curnm/base/dates.h"
#include "curnm/base/digest.h"

namespace curnm {
namespace {

constexpr float kNoCode = -1;  // of a word that is missing

/// 1 for yes, 0 for no, -1 for other words.
int truth_of(std::string_view word) {
  std::string small(word);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view yes : {"true", "yes", "t", "y"}) {
    if (small == yes) return 1;
  }
  for (const std::string_view no : {"false", "no", "f", "n"}) {
    if (small == no) return 0;
  }
  return -1;
}

template <class Codes>
bool are_truths(const Codes& codes) {
  return std::ranges::all_of(codes, [](const auto& code) { return truth_of(code.first) >= 0; });
}

int bucket_of(std::string_view word) {
  return static_cast<int>(hash64(word) % FeatureColumns::kMostValues);
}

}  // namespace

FeatureColumns::FeatureColumns(std::vector<FeatureColumn> columns, EmptyCells empty)
    : empty_(empty) {
  for (FeatureColumn& column : columns) columns_.push_back({std::move(column)});
}

bool FeatureColumns::add(const Rows& row) {
  const std::size_t before = cells_.size();
  const std::int64_t filled_before = filled_;
  for (Column& column : columns_) {
    const std::string_view text = row.fields()[static_cast<std::size_t>(column.column.index)];
    float number = 0;
    if (column.kind == Kind::kNumber && read_float(text, number)) {  // nearly always
      cells_.push_back(number);
      continue;
    }
    const bool words = column.kind == Kind::kWord || column.kind == Kind::kHashed;
    if (words ? !text.empty() : !is_missing(text)) {
      cells_.push_back(parse(row, column, text));
      continue;
    }
    if (empty_ == EmptyCells::kError) {
      row.fail_here(
          "the feature '{}' is empty{}; --empty fill takes 0 for such cells, --empty drop leaves "
          "such rows out",
          column.column.name, text.empty() ? "" : fmt::format(" ({})", text));
    }
    if (empty_ == EmptyCells::kDrop) {
      cells_.resize(before);
      filled_ = filled_before;
      return false;
    }
    ++filled_;
    // The code of no word; a column of numbers has only 0.
    cells_.push_back(column.kind == Kind::kNumber || column.kind == Kind::kDate ? 0 : kNoCode);
  }
  return true;
}

float FeatureColumns::parse(const Rows& row, Column& column, std::string_view text) {
  if (column.kind == Kind::kUnknown) {
    if (!column.column.category && is_formatted_number(text)) {
      row.fail_here(
          "the feature '{0}' has '{1}', a number as spreadsheets show it: write such numbers like "
          "1234.5; or --category-columns {0} takes the cells as words, --drop-columns {0} leaves "
          "them out",
          column.column.name, text);
    }
    column.kind = column.column.category ? Kind::kWord
                  : is_number(text)      ? Kind::kNumber
                  : parse_date(text)     ? Kind::kDate
                                         : Kind::kWord;
    // What was empty so far had no kind either.
    if (column.kind != Kind::kWord) {
      const auto at = static_cast<std::size_t>(&column - columns_.data());
      for (std::size_t i = at; i < cells_.size(); i += columns_.size()) cells_[i] = 0;
    }
  }
  if (column.kind == Kind::kWord || column.kind == Kind::kHashed) return code_of(column, text);
  if (column.kind == Kind::kDate) {
    const auto date = parse_date(text);
    if (!date) {
      row.fail_here("the feature '{}' has '{}' after dates", column.column.name, text);
    }
    return static_cast<float>(date->seconds);
  }
  if (!is_number(text)) {
    row.fail_here(
        "feature '{}' is not a number, as those before it in the column '{}': --category-columns "
        "{} takes all its cells as codes, --drop-columns {} leaves it out",
        text, column.column.name, column.column.name, column.column.name);
  }
  return parse_float(row, text, "feature");
}

float FeatureColumns::code_of(Column& column, std::string_view text) {
  if (column.kind == Kind::kHashed) return static_cast<float>(bucket_of(text));
  const auto next = static_cast<int>(column.codes.size());
  const int code = column.codes.emplace(text, next).first->second;
  if (column.codes.size() <= kMostValues) return static_cast<float>(code);
  hash_codes(column);
  return static_cast<float>(bucket_of(text));
}

/// Too many values: those so far are replaced by the remainders of their hashes.
void FeatureColumns::hash_codes(Column& column) {
  std::vector<int> bucket(column.codes.size());
  for (const auto& [word, code] : column.codes) {
    bucket[static_cast<std::size_t>(code)] = bucket_of(word);
  }
  const auto at = static_cast<std::size_t>(&column - columns_.data());
  for (std::size_t i = at; i < cells_.size(); i += columns_.size()) {
    if (cells_[i] == kNoCode) continue;
    cells_[i] = static_cast<float>(bucket[static_cast<std::size_t>(cells_[i])]);
  }
  column.kind = Kind::kHashed;
  column.codes.clear();
}

std::size_t FeatureColumns::width_of(const Column& column) {
  if (column.kind == Kind::kHashed) return kMostValues;
  if (column.kind != Kind::kWord) return column.kind == Kind::kUnknown ? 0 : 1;
  if (are_truths(column.codes)) return 1;
  return column.codes.size() == 1 ? 0 : column.codes.size();
}

FeatureMatrix FeatureColumns::finish(std::vector<std::string>& notes) {
  for (Column& column : columns_) {
    note(column, notes);
    // One feature that is 1 for yes: the codes are replaced by what the words mean.
    if (column.kind != Kind::kWord || !are_truths(column.codes)) continue;
    std::array<float, kMostValues> truth = {};
    for (const auto& [word, code] : column.codes) {
      truth[static_cast<std::size_t>(code)] = static_cast<float>(truth_of(word));
    }
    const auto at = static_cast<std::size_t>(&column - columns_.data());
    for (std::size_t i = at; i < cells_.size(); i += columns_.size()) {
      cells_[i] = cells_[i] == kNoCode ? 0 : truth[static_cast<std::size_t>(cells_[i])];
    }
    column.kind = Kind::kNumber;
  }
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column));
  const std::size_t width = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  const bool as_they_are = std::ranges::all_of(columns_, [](const Column& column) {
    return column.kind == Kind::kNumber || column.kind == Kind::kDate;
  });
  if (as_they_are) return {std::move(cells_), static_cast<std::int64_t>(width)};
  std::vector<float> values(cells_.size() / columns_.size() * width, 0);
  std::size_t out = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const std::size_t c = i % columns_.size();
    if (columns_[c].kind == Kind::kNumber || columns_[c].kind == Kind::kDate) {
      values[out] = cells_[i];
    } else if (cells_[i] != kNoCode && widths[c] > 0) {
      values[out + static_cast<std::size_t>(cells_[i])] = 1;
    }
    out += widths[c];
  }
  return {std::move(values), static_cast<std::int64_t>(width)};
}

void FeatureColumns::note(const Column& column, std::vector<std::string>& notes) {
  const std::string name = printable(column.column.name, 100);
  if (column.kind == Kind::kUnknown) {
    notes.push_back(fmt::format("the column '{}' is empty and has been left out", name));
  } else if (column.kind == Kind::kDate) {
    notes.push_back(fmt::format(
        "the dates of the column '{}' are a feature, in seconds since 1970 as a 32-bit float "
        "(--drop-columns leaves it out)",
        name));
  } else if (column.kind == Kind::kHashed) {
    notes.push_back(
        fmt::format("the column '{}' has more than {} different words: they are {} features by "
                    "their hashes (--drop-columns leaves it out)",
                    name, kMostValues, kMostValues));
  } else if (column.kind == Kind::kWord && !are_truths(column.codes)) {
    notes.push_back(
        column.codes.size() == 1
            ? fmt::format("the column '{}' has no more than one word and has been left out", name)
            : fmt::format("the column '{}' has {} different words: one feature each", name,
                          column.codes.size()));
  }
}

}  // namespace curnm
