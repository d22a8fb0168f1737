#include "curnm/data/event_table.h"
#include "curnm/data/json_rows.h"
#include "curnm/data/readers.h"

// Plain tables: `src,dst,time[,label][,features...]`, with or without a header, and JSON lines with
// the same names as keys.

namespace curnm {

bool recognises_csv(const std::filesystem::path& path) {
  return std::filesystem::is_regular_file(path);
}

bool recognises_jsonl(const std::filesystem::path& path) {
  return std::filesystem::is_regular_file(path) && is_json_lines(path);
}

Dataset read_table(const std::filesystem::path& path, const ReadOptions& options) {
  const std::unique_ptr<Rows> rows = open_table(path, options);
  const TableLayout layout = table_layout(*rows, options);
  EventTable table = read_rows(*rows, layout, options.empty);
  if (options.separate_ids == SeparateIds::kAuto && layout.src_prefix.empty()) {
    note_shared_ids(table);
  }
  if (!options.node_features.empty()) set_node_features(table, layout, options);
  return finish(std::move(table), table_name(path));
}

}  // namespace curnm
