#include "curnm/base/error.h"
#include "curnm/data/event_table.h"
#include "curnm/data/readers.h"

// JODIE's tables: user_id,item_id,timestamp,state_label and any number of features, under a header
// that names all features at once. Users and items are numbered apart: user 5 is not item 5.

namespace curnm {

bool recognises_jodie(const std::filesystem::path& path) {
  return std::filesystem::is_regular_file(path) &&
         TextFile::first_line(path).starts_with("user_id,item_id,timestamp,state_label");
}

Dataset read_jodie(const std::filesystem::path& path, const ReadOptions& options) {
  RowReader rows(path, {options.unpack_limit});
  if (!rows.next()) fail("{} is empty", path.string());
  if (rows.fields().front() != "user_id") rows.put_back();
  if (!rows.next()) fail("{} has no events", path.string());

  TableLayout layout{
      .label = 3, .width = rows.fields().size(), .src_prefix = "user:", .dst_prefix = "item:"};
  if (layout.width < 4) rows.fail_here("{} columns; at least 4 are expected", layout.width);
  for (std::size_t column = 4; column < layout.width; ++column) {
    layout.features.push_back(
        {.index = static_cast<int>(column), .name = std::to_string(column + 1)});
  }
  rows.put_back();
  EventTable table = read_rows(rows, layout, options.empty);
  if (!options.node_features.empty()) set_node_features(table, layout, options);
  return finish(std::move(table), table_name(path));
}

}  // namespace curnm
