#include "curnm/data/pair_table.h"

#include "curnm/data/event_table.h"

namespace curnm {

std::int64_t for_each_pair(const std::filesystem::path& path, ReadOptions options,
                           const std::function<void(const PairRow&)>& visit) {
  options.separate_ids = SeparateIds::kOff;  // names are looked up as they are
  const std::unique_ptr<Rows> rows = open_table(path, options);
  const TableLayout layout = table_layout(*rows, options);
  TimeColumn times;
  std::int64_t count = 0;
  for (; rows->next(); ++count) {
    const auto fields = rows->fields();
    if (fields.size() != layout.width) {
      rows->fail_here("{} columns instead of {}", fields.size(), layout.width);
    }
    const auto at = [&](int column) { return fields[static_cast<std::size_t>(column)]; };
    check_name(*rows, at(layout.src));
    check_name(*rows, at(layout.dst));
    const PairRow pair{at(layout.src), at(layout.dst), times.parse(*rows, at(layout.time))};
    try {
      visit(pair);
    } catch (const Error& error) {
      rows->fail_here("{}", error.what());
    }
  }
  if (count == 0) fail("{} has no pairs", path.string());
  return times.without_zone();
}

}  // namespace curnm
