#include "curnm/data/json_rows.h"

#include <simdjson.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "curnm/data/cells.h"

namespace curnm {
namespace {

namespace od = simdjson::ondemand;

class JsonRows final : public Rows {
 public:
  JsonRows(const std::filesystem::path& path, const TableSource& source)
      : Rows(LineReader(path, source.limit)), skip_(source.skip) {}

  /// Reads on to the end, to know all keys.
  void collect_keys() {
    while (next_object()) {
      each_value([&](std::string_view key, od::value&) { column_of(key); });
    }
  }
  /// The keys that all objects together have; those that are missing from one are "" there.
  void set_keys(const std::deque<std::string>& keys) {
    for (const std::string& key : keys) column_of(key);
    sparse_ = true;
  }
  const std::deque<std::string>& keys() const { return keys_; }

 private:
  bool advance() override {
    if (!std::exchange(has_header_, true)) return read_header();
    if (std::exchange(first_is_pending_, false)) {
      begin_object();
    } else if (!next_object()) {
      return false;
    }
    read_values();
    return true;
  }

  bool read_header() {
    if (!next_object()) return false;
    if (!sparse_) {
      each_value([&](std::string_view key, od::value&) { column_of(key); });
    }
    fields_.assign(keys_.begin(), keys_.end());
    first_is_pending_ = true;
    return true;
  }

  void read_values() {
    texts_.resize(keys_.size());
    for (std::string& text : texts_) text.clear();
    seen_.assign(keys_.size(), false);
    std::size_t count = 0;
    each_value([&](std::string_view key, od::value& value) {
      const auto found = columns_.find(std::string(key));
      if (found == columns_.end()) {
        fail_here("the key '{}' is not in the first line; {}", key, kHowToFill);
      }
      if (seen_[found->second]) fail_here("the key '{}' is there twice", key);
      seen_[found->second] = true;
      ++count;
      if (!is_skipped_[found->second]) read_value(key, value, texts_[found->second]);
    });
    if (count < keys_.size() && !sparse_) {
      const auto missing = std::ranges::find(seen_, false) - seen_.begin();
      fail_here("the key '{}' of the first line is missing; {}",
                keys_[static_cast<std::size_t>(missing)], kHowToFill);
    }
    fields_.assign(texts_.begin(), texts_.end());
  }

  void read_value(std::string_view key, od::value& value, std::string& text) {
    switch (checked(value.type())) {
      case od::json_type::string:
        text = checked(value.get_string());
        break;
      case od::json_type::boolean:
        text = checked(value.get_bool()) ? "true" : "false";
        break;
      case od::json_type::null:
        if (!checked(value.is_null())) fail_syntax("a word that is not null");
        break;
      case od::json_type::number: {
        // As it is written: 5 and 5.0 are different ids, and 2^53 + 1 is not 2^53.
        text = value.raw_json_token();
        while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
        if (!is_number(text)) fail_syntax("a number that is none");
        break;
      }
      default:
        fail_here("the value of '{}' is a list or an object; --drop-columns {} leaves it out", key,
                  key);
    }
  }

  bool next_object() {
    while (lines_.next()) {
      if (lines_.line().find_first_not_of(" \t") == std::string_view::npos) continue;
      begin_object();
      return true;
    }
    return false;
  }

  void begin_object() {
    const std::string_view line = lines_.line();
    padded_.assign(line);
    padded_.resize(line.size() + simdjson::SIMDJSON_PADDING);
    document_ = checked(parser_.iterate(padded_.data(), line.size(), padded_.size()));
  }

  /// Calls visit(key, value) for the values of the current object.
  template <class Visit>
  void each_value(const Visit& visit) {
    od::object object = checked(document_.get_object());
    for (auto field : object) {
      const std::string_view key = checked(field.unescaped_key());
      od::value value = checked(field.value());
      visit(key, value);
    }
    if (document_.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      fail_syntax("something follows it");
    }
  }

  template <class T>
  T checked(simdjson::simdjson_result<T>&& result) const {
    if (result.error() != simdjson::SUCCESS) fail_syntax(simdjson::error_message(result.error()));
    return std::move(result).value_unsafe();
  }
  [[noreturn]] void fail_syntax(std::string_view reason) const {
    fail_here("not a JSON object ({}); every line has one: {{\"src\": ..., \"dst\": ..., ...}}",
              reason);
  }

  std::size_t column_of(std::string_view key) {
    const auto [found, is_new] = columns_.emplace(std::string(key), keys_.size());
    if (is_new) {
      keys_.emplace_back(key);
      is_skipped_.push_back(std::ranges::find(skip_, key) != skip_.end());
    }
    return found->second;
  }

  static constexpr std::string_view kHowToFill =
      "--empty fill takes 0 for what is missing, --empty drop leaves such rows out";

  std::vector<std::string> skip_;
  std::deque<std::string> keys_;  // never moved: fields() may refer to them
  std::unordered_map<std::string, std::size_t> columns_;
  std::vector<bool> is_skipped_;
  std::vector<bool> seen_;
  std::vector<std::string> texts_;
  bool sparse_ = false;
  bool has_header_ = false;
  bool first_is_pending_ = false;  // its keys have been handed out, its values have not
  od::parser parser_;
  od::document document_;
  std::string padded_;
};

}  // namespace

std::unique_ptr<Rows> open_json_rows(const std::filesystem::path& path, const TableSource& source) {
  auto rows = std::make_unique<JsonRows>(path, source);
  if (source.sparse) {
    JsonRows all(path, source);
    all.collect_keys();
    rows->set_keys(all.keys());
  }
  return rows;
}

bool is_json_lines(const std::filesystem::path& path) {
  const std::string first = TextFile::first_line(path);
  const std::size_t start = first.find_first_not_of(" \t");
  return start != std::string::npos && first[start] == '{';
}

namespace {

/// [{"src": ...}, ...] on one line or on several.
void refuse_array(const std::filesystem::path& path) {
  const std::string first = TextFile::first_line(path);
  const std::size_t open = first.find_first_not_of(" \t");
  if (open == std::string::npos || first[open] != '[') return;
  const std::size_t next = first.find_first_not_of(" \t", open + 1);
  if (next != std::string::npos && first[next] != '{') return;  // a table may have such a name
  fail(
      "{0} is a JSON array, and not one object per line: convert it, for example with `jq -c '.[]' "
      "{0} > table.jsonl`",
      path.string());
}

}  // namespace

std::unique_ptr<Rows> open_rows(const std::filesystem::path& path, const TableSource& source) {
  refuse_array(path);
  if (is_json_lines(path)) return open_json_rows(path, source);
  return std::make_unique<RowReader>(path, source.limit);
}

}  // namespace curnm
