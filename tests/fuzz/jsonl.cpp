#include "curnm/data/json_rows.h"
#include "curnm/data/reader.h"
#include "fuzz/target.h"

// JSON lines. A first byte '!' allows empty cells, so that keys may differ; '-' drops the column x.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = text_of(data, size);
  ReadOptions options;
  if (text.starts_with('!')) options.empty = EmptyCells::kFill;
  if (text.starts_with('-')) options.drop_columns = "x";
  if (options != ReadOptions{}) text.remove_prefix(1);
  const auto path = workspace().write("events.jsonl", text);
  check_reading([&] { return read_network(path, "jsonl", options); });
  value_or_error([&] {
    const auto rows = open_json_rows(path, {});
    std::size_t width = 0;
    while (rows->next()) {
      if (width == 0) width = rows->fields().size();
      require(rows->fields().size() == width, "rows of different widths");
    }
    return width;
  });
  return 0;
}

}  // namespace curnm::fuzz
