#include "curnm/experiments/store.h"

#include "curnm/report/report.h"
#include "fuzz/target.h"

// A store of results: what SQLite takes for a database can be loaded and shown, or is an Error.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = workspace().write("store.db", text_of(data, size));
  const auto results =
      value_or_error([&] { return ResultStore(path, ResultStore::Mode::kRead).load(); });
  if (!results) return 0;
  for (const Cell& cell : results->cells) {
    require(cell.run < results->runs.size(), "a cell without a run");
  }
  value_or_error([&] { return csv_report(*results) + markdown_report(*results, {.title = "x"}); });
  return 0;
}

}  // namespace curnm::fuzz
