#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "curnm/data/cells.h"
#include "curnm/data/reader.h"
#include "curnm/graph/event_log.h"

namespace curnm {

/// A column of features.
struct FeatureColumn {
  int index = 0;          // in the rows
  std::string name = {};  // for messages
  bool category = false;  // its numbers are codes, too
};

/// Turns cells into features, row by row. The first cell of a column decides what it has:
///   numbers   one feature;
///   dates     one feature, in seconds since 1970;
///   words     true/false, yes/no: one feature, 1 or 0. Others: one feature per value, 1 where a
///   row
///             has it; beyond kMostValues one per remainder of the value's hash.
class FeatureColumns {
 public:
  static constexpr std::size_t kMostValues = 16;

  FeatureColumns(std::vector<FeatureColumn> columns, EmptyCells empty);

  /// Adds the cells of a row. False if the row is to be left out because one is empty; nothing is
  /// added then.
  bool add(const Rows& row);

  /// [rows, features]. What was not plainly a number is noted.
  FeatureMatrix finish(std::vector<std::string>& notes);

  std::int64_t filled() const { return filled_; }

 private:
  enum class Kind { kUnknown, kNumber, kDate, kWord, kHashed };
  struct Column {
    FeatureColumn column;
    Kind kind = Kind::kUnknown;
    std::unordered_map<std::string, int> codes = {};  // of words, in the order of appearance
  };

  float parse(const Rows& row, Column& column, std::string_view text);
  float code_of(Column& column, std::string_view text);
  void hash_codes(Column& column);
  /// How many features a column becomes.
  static std::size_t width_of(const Column& column);
  static void note(const Column& column, std::vector<std::string>& notes);

  std::vector<Column> columns_;
  EmptyCells empty_;
  std::vector<float> cells_;  // [rows, columns]; words by their code
  std::int64_t filled_ = 0;
};

}  // namespace curnm
