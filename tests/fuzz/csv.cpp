#include <algorithm>

#include "curnm/data/reader.h"
#include "fuzz/target.h"

// Plain tables. A first line that starts with '!' holds options, divided by '|':
// src column, dst column, time column, dropped columns; 'on' or 'off' for separate ids, 'fill' or
// 'drop' for empty cells, columns with codes.

namespace curnm::fuzz {
namespace {

ReadOptions options_of(std::string_view line) {
  std::vector<std::string> words(1);
  for (char c : line) {
    if (c == '|') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  words.resize(std::max<std::size_t>(words.size(), 7));
  ReadOptions options{.src_column = words[0],
                      .dst_column = words[1],
                      .time_column = words[2],
                      .drop_columns = words[3],
                      .category_columns = words[6]};
  if (words[4] == "on") options.separate_ids = SeparateIds::kOn;
  if (words[4] == "off") options.separate_ids = SeparateIds::kOff;
  if (words[5] == "fill") options.empty = EmptyCells::kFill;
  if (words[5] == "drop") options.empty = EmptyCells::kDrop;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = text_of(data, size);
  ReadOptions options;
  if (text.starts_with('!')) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    options = options_of(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
  }
  const auto path = workspace().write("edges.csv", text);
  check_reading([&] { return read_network(path, "csv", options); });
  return 0;
}

}  // namespace curnm::fuzz
