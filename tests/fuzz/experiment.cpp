#include "curnm/experiments/experiment_file.h"
#include "fuzz/target.h"

// A file of an experiment gives jobs with different places, or UsageError.

namespace curnm::fuzz {
namespace {

const Vocabulary kWords = {.models = {"tgn", "jodie"},
                           .miners = {"random", "curnm"},
                           .flags = {"epochs", "batch", "pool"},
                           .resolve = [](Job& job, const RunFlags&) {
                             job.options = "{}";
                             for (const auto& [name, value] : job.flags)
                               job.options += name + value;
                           }};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto experiment =
      value_or_error([&] { return parse_experiment(text_of(data, size), "grid.yml", kWords); });
  if (!experiment) return 0;
  require(!experiment->jobs.empty(), "an experiment without jobs");
  require(!experiment->name.empty(), "an experiment without a name");
  for (const Job& job : experiment->jobs) {
    require(job.seed >= 0 && !job.network.empty(), "a job that is none");
    require(job.title().find('\x1b') == std::string::npos, "an escape code");
  }
  return 0;
}

}  // namespace curnm::fuzz
