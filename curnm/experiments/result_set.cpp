#include "curnm/experiments/result_set.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "curnm/base/files.h"
#include "curnm/base/names.h"

namespace curnm {
namespace {

struct StateEntry {
  std::string_view name;
  RunState state;
};
constexpr std::array<StateEntry, 5> kStates = {{{"waiting", RunState::kWaiting},
                                                {"running", RunState::kRunning},
                                                {"paused", RunState::kPaused},
                                                {"done", RunState::kDone},
                                                {"failed", RunState::kFailed}}};

}  // namespace

std::string_view state_name(RunState state) {
  return kStates[static_cast<std::size_t>(state)].name;
}

RunState find_state(std::string_view name) {
  return find_entry("state", std::span<const StateEntry>(kStates), name).state;
}

nlohmann::ordered_json to_json(const Environment& environment) {
  return {{"cpu", environment.cpu},         {"cores", environment.cores},
          {"threads", environment.threads}, {"memory_bytes", environment.memory_bytes},
          {"system", environment.system},   {"libraries", environment.libraries}};
}

Environment environment_from_json(const nlohmann::ordered_json& json) {
  return {.cpu = json.at("cpu"),
          .cores = json.at("cores"),
          .threads = json.at("threads"),
          .memory_bytes = json.at("memory_bytes"),
          .system = json.at("system"),
          .libraries = json.at("libraries")};
}

void shorten_networks(ResultSet& results) {
  const auto short_name = [](const std::string& network) {
    const std::string name = last_name(network);
    return name.empty() ? network : name;
  };
  std::map<std::string, std::set<std::string>> networks;  // by short name
  for (const RunResult& run : results.runs) networks[short_name(run.network)].insert(run.network);
  for (RunResult& run : results.runs) {
    std::string name = short_name(run.network);
    if (networks[name].size() == 1) run.network = std::move(name);
  }
}

std::string options_text(const RunResult& run) {
  std::string text;
  for (const auto& [name, value] : run.flags.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

nlohmann::ordered_json flags_json(const nlohmann::json& flags) {
  nlohmann::ordered_json typed = nlohmann::ordered_json::object();
  for (const auto& [name, value] : flags.items()) {
    typed[name] = value;
    if (!value.is_string()) continue;
    const auto parsed = nlohmann::ordered_json::parse(value.get<std::string>(), nullptr,
                                                      /*allow_exceptions=*/false);
    if (parsed.is_number() || parsed.is_boolean()) typed[name] = parsed;
  }
  return typed;
}

std::string_view figure_name(ValidationFigure figure) {
  return figure == ValidationFigure::kMrr ? "MRR" : "AP";
}

double value_of(const EpochMetrics& epoch, ValidationFigure figure) {
  return figure == ValidationFigure::kMrr ? epoch.validation_mrr : epoch.validation_ap;
}

ValidationFigure validation_figure(const RunResult& run) {
  const bool by_mrr = run.options.contains("train") &&
                      run.options["train"].value("select-on", std::string()) == "mrr";
  return by_mrr ? ValidationFigure::kMrr : ValidationFigure::kAp;
}

double best_validation(const RunResult& run, std::int64_t epochs, ValidationFigure figure) {
  double best = kNoValue;
  for (const EpochMetrics& epoch : run.curve) {
    if (epoch.epoch < epochs) best = std::fmax(best, value_of(epoch, figure));  // ignores NaN
  }
  return best;
}

double find_score(const RunResult& run, std::string_view set, std::string_view protocol,
                  std::string_view metric) {
  for (const Score& score : run.scores) {
    if (score.set == set && score.protocol == protocol && score.metric == metric) {
      return score.value;
    }
  }
  return kNoValue;
}

}  // namespace curnm
