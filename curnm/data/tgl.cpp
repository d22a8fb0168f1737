#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/data/event_table.h"
#include "curnm/data/npy.h"
#include "curnm/data/readers.h"

// TGL's folders: edges.csv (an index column, src, dst, time, ext_roll) with features of edges (row
// k belongs to event k) and nodes (row n belongs to node n) beside it.

namespace curnm {
namespace {

namespace fs = std::filesystem;

void note_tensor_file(EventTable& table, const fs::path& folder, const char* stem) {
  const fs::path file = folder / (std::string(stem) + ".pt");
  if (!fs::exists(file)) return;
  table.notes.push_back(fmt::format("{} was not read: save it as {}.npy", file.string(), stem));
}

}  // namespace

bool recognises_tgl(const fs::path& path) { return fs::is_regular_file(path / "edges.csv"); }

Dataset read_tgl(const fs::path& folder, const ReadOptions& options) {
  const fs::path path = folder / "edges.csv";
  RowReader rows(path, {options.unpack_limit});
  if (!rows.next()) fail("{} is empty", path.string());

  TableLayout layout{.src = -1, .dst = -1, .time = -1, .width = rows.fields().size()};
  for (std::size_t i = 0; i < layout.width; ++i) {
    const std::string_view name = rows.fields()[i];
    const int column = static_cast<int>(i);
    if (name == "src")
      layout.src = column;
    else if (name == "dst")
      layout.dst = column;
    else if (name == "time")
      layout.time = column;
    else if (name == "label")
      layout.label = column;
    else if (name == "ext_roll")
      layout.roll = column;
    else if (!name.empty() && name != "int_roll" && name != "idx") {
      rows.fail_here("unknown column '{}' (known: src, dst, time, label, ext_roll, int_roll, idx)",
                     name);
    }
  }
  if (layout.src < 0 || layout.dst < 0 || layout.time < 0) {
    rows.fail_here("the header needs the columns src, dst and time");
  }
  EventTable table = read_rows(rows, layout);

  const fs::path edge_file = folder / "edge_features.npy";
  if (fs::exists(edge_file)) {
    table.edge_features = read_npy(edge_file);
    if (table.edge_features.rows() != table.size()) {
      fail("{}: {} rows for {} events", edge_file.string(), table.edge_features.rows(),
           table.size());
    }
  } else {
    note_tensor_file(table, folder, "edge_features");
  }
  const fs::path node_file = folder / "node_features.npy";
  if (fs::exists(node_file)) {
    set_node_features(table, node_file);
  } else {
    note_tensor_file(table, folder, "node_features");
  }
  return finish(std::move(table), last_name(fs::absolute(folder).lexically_normal()));
}

}  // namespace curnm
