#include "cli/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "curnm/base/error.h"
#include "curnm/experiments/result_set.h"
#include "curnm/training/run_spec.h"

namespace curnm::cli {

std::vector<std::string> job_read_options() {
  ReadOptions defaults;
  const std::vector<std::string_view> names = option_names(defaults);
  return {names.begin(), names.end()};
}

ReadOptions read_options_of(const Job& job) {
  ReadOptions options;
  set_given(job.flags, options);
  return options;
}

void resolve_job(Job& job, const RunFlags& own) {
  const auto given = [&] {
    GivenOptions all(job.flags.begin(), job.flags.end());
    for (const std::string& name : job_read_options()) all.erase(name);
    all["model"] = job.model;
    all["miner"] = job.miner;
    all["seed"] = std::to_string(job.seed);
    return all;
  };
  try {
    // Shared options without effect on this job are dropped; its own never are.
    for (const std::string& name : options_without_effect(given())) {
      if (!own.contains(name)) job.flags.erase(name);
    }
    const RunSpec spec = resolve_run(given());
    nlohmann::ordered_json options = options_json(spec);
    // Only where something was asked for: the key of a run does not tell what may be raw.
    if (ReadOptions read = read_options_of(job); read != ReadOptions{}) {
      options["read"] = to_json(read);
    }
    job.options = options.dump();
    job.epochs = spec.train.epochs;
    job.judged_by = spec.train.select_on == SelectOn::kMrr
                        ? kRankingScores
                        : name_of(headline(spec.train.goal, spec.train.select_on));
  } catch (const OptionError& error) {
    throw OptionError(error.kind(), error.option(),
                      fmt::format("{}: {}", job.title(), error.what()));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", job.title(), error.what()));
  }
}

std::vector<std::string> job_options() {
  std::vector<std::string> names = {"preset"};
  for (const OptionHelp& option : run_options()) names.emplace_back(option.field.name);
  std::erase_if(names, [](const std::string& name) {
    return name == "model" || name == "miner" || name == "seed";
  });
  return names;
}

}  // namespace curnm::cli
