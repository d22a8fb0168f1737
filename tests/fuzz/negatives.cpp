#include "curnm/evaluation/ranking_negatives.h"
#include "fuzz/target.h"
#include "support/random_log.h"

// Files of negatives for a small network. "DIGEST" stands for the digest of its data.

namespace curnm::fuzz {
namespace {

const LinkTask& some_task() {
  static const LinkTask task(
      [] {
        Dataset dataset;
        dataset.name = "network";
        dataset.events = testing::random_log(1, {.nodes = 9, .events = 40, .distinct_times = 20});
        return dataset;
      }(),
      {.hidden_share = 0});
  return task;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kDigest = "DIGEST";
  const LinkTask& task = some_task();
  std::string text(text_of(data, size));
  if (const std::size_t at = text.find(kDigest); at != std::string::npos) {
    text.replace(at, kDigest.size(), task.data_digest());
  }
  const auto path = workspace().write("negatives.csv", text);
  const auto read = value_or_error([&] { return read_ranking_negatives(path, task); });
  if (!read) return 0;
  require(read->size() == set_of(task, read->part).positives.size(), "another number of events");
  write_ranking_negatives(path, task, *read);
  require(read_ranking_negatives(path, task).nodes == read->nodes, "the written file differs");
  return 0;
}

}  // namespace curnm::fuzz
