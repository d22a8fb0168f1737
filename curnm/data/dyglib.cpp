#include <optional>

#include "curnm/base/error.h"
#include "curnm/data/event_table.h"
#include "curnm/data/npy.h"
#include "curnm/data/readers.h"

// DyGLib's trios: ml_X.csv (index, u, i, ts, label, idx), ml_X.npy (row idx belongs to the event,
// row 0 is padding) and ml_X_node.npy (row n belongs to node n, row 0 is padding).

namespace curnm {
namespace {

namespace fs = std::filesystem;

bool is_trio_table(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with("ml_") && name.ends_with(".csv") && fs::is_regular_file(file);
}

/// The table of a trio: the file itself, or the only one of a folder.
std::optional<fs::path> find_table(const fs::path& path) {
  if (is_trio_table(path)) return path;
  std::optional<fs::path> found;
  if (!fs::is_directory(path)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (!is_trio_table(entry.path())) continue;
    if (found) fail("{} has more than one ml_*.csv; name the one to read", path.string());
    found = entry.path();
  }
  return found;
}

void take_edge_features(EventTable& table, const fs::path& file) {
  const FeatureMatrix matrix = read_npy(file);
  if (matrix.rows() != table.size() + 1) {
    fail("{}: {} rows for {} events; one row each and a first row of padding are expected",
         file.string(), matrix.rows(), table.size());
  }
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(table.size() * matrix.width));
  for (std::int64_t row : table.feature_rows) {
    if (row < 1 || row >= matrix.rows()) {
      fail("{}: idx {} is not one of its rows 1 .. {}", file.string(), row, matrix.rows() - 1);
    }
    const auto source = matrix.row(row);
    values.insert(values.end(), source.begin(), source.end());
  }
  table.edge_features = {std::move(values), matrix.width};
}

}  // namespace

bool recognises_dyglib(const fs::path& path) { return find_table(path).has_value(); }

Dataset read_dyglib(const fs::path& path, const ReadOptions& options) {
  const std::optional<fs::path> csv = find_table(path);
  if (!csv) fail("{} is neither an ml_*.csv nor a folder with one", path.string());
  RowReader rows(*csv, {options.unpack_limit});
  if (!rows.next()) fail("{} is empty", csv->string());

  constexpr std::string_view kColumns[] = {"", "u", "i", "ts", "label", "idx"};
  if (!std::equal(rows.fields().begin(), rows.fields().end(), std::begin(kColumns),
                  std::end(kColumns))) {
    rows.fail_here("the header must be ',u,i,ts,label,idx'");
  }
  EventTable table =
      read_rows(rows, {.src = 1, .dst = 2, .time = 3, .label = 4, .feature_row = 5, .width = 6});

  const std::string stem = csv->stem().string();  // ml_X
  const fs::path edge_file = csv->parent_path() / (stem + ".npy");
  if (fs::exists(edge_file)) take_edge_features(table, edge_file);
  const fs::path node_file = csv->parent_path() / (stem + "_node.npy");
  if (fs::exists(node_file)) set_node_features(table, node_file);
  return finish(std::move(table), stem.substr(3));
}

}  // namespace curnm
