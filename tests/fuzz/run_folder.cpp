#include "curnm/experiments/run_result.h"
#include "curnm/report/report.h"
#include "fuzz/target.h"

// The folder of a run, in three parts: options.json, metrics.jsonl and result.json. What can be
// read can be shown.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = parts_of(text_of(data, size), 3);
  write_part("run/options.json", parts[0]);
  write_part("run/metrics.jsonl", parts[1]);
  write_part("run/result.json", parts[2]);
  const auto run = value_or_error([&] { return read_run_folder(workspace() / "run"); });
  if (!run) return 0;
  require(run->epochs == std::ssize(run->curve), "the number of epochs");
  const ResultSet results{.runs = {*run}, .cells = {}};
  value_or_error([&] { return csv_report(results) + html_report(results, {.title = "run"}); });
  return 0;
}

}  // namespace curnm::fuzz
