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

Dataset read_jodie(const std::filesystem::path& path, const ReadOptions&) {
  const TextFile file(path);
  RowReader rows(file.text(), path);
  if (!rows.next()) fail("{} is empty", path.string());
  if (rows.fields().front() != "user_id") rows.put_back();
  if (!rows.next()) fail("{} has no events", path.string());

  TableLayout layout{
      .label = 3, .width = rows.fields().size(), .src_prefix = "user:", .dst_prefix = "item:"};
  if (layout.width < 4) rows.fail_here("{} columns; at least 4 are expected", layout.width);
  for (std::size_t column = 4; column < layout.width; ++column) {
    layout.features.push_back(static_cast<int>(column));
  }
  rows.put_back();
  return finish(read_rows(rows, layout), table_name(path));
}

}  // namespace curnm
