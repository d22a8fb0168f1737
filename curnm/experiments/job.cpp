#include "curnm/experiments/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "curnm/base/digest.h"

namespace curnm {

std::string Job::key() const {
  return digest(nlohmann::json{network, model, miner, seed, options}.dump());
}

std::string Job::folder_name() const {
  std::string name = fmt::format("{}-{}-{}-{}", network, model, miner, seed);
  // Networks may be paths or synthetic:drift.
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == ':' || c == ' '; }, '_');
  constexpr std::size_t kLongest = 120;  // file names end at 255; the key keeps runs distinct
  return fmt::format("{}-{}", name.substr(0, kLongest), key().substr(0, 16));
}

std::string Job::title() const {
  return fmt::format("{} {} {} seed {}{}", network, model, miner, seed,
                     variant.empty() ? "" : fmt::format(" ({})", variant));
}

}  // namespace curnm
