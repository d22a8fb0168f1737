#include "curnm/experiments/result_set.h"

namespace curnm {

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
