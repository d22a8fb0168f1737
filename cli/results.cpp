#include "cli/results.h"

#include <torch/torch.h>

#include <thread>

#include "cli/print.h"
#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/evaluation/negatives.h"

namespace curnm::cli {

void print_results(const nlohmann::ordered_json& result, const std::string& only) {
  fmt::print("{:<20}{:>10}{:>10}{:>12}   {}\n", "test AP", "all", "global", "new nodes",
             result.contains("best_baseline") ? "best without learning" : "");
  for (const ProtocolEntry& entry : protocols()) {
    const std::string name(entry.name);
    if (!only.empty() && name != only) continue;
    const auto& all = result["test"][name];
    const auto& fresh = result["test_new"];
    fmt::print("{:<20}{:>10.4f}{:>10.4f}{:>12}", name, all["ap"].get<double>(),
               all["ap_global"].get<double>(),
               fresh.is_null() ? "-" : fmt::format("{:.4f}", fresh[name]["ap"].get<double>()));
    if (result.contains("best_baseline")) {
      const auto& best = result["best_baseline"][name];
      fmt::print("   {:.4f} {}", best["ap"].get<double>(), best["name"].get<std::string>());
    }
    fmt::print("\n");
  }
  if (result["test"].contains("mrr")) {
    fmt::print("{:<20}{:>10.4f}\n", "MRR", result["test"]["mrr"].get<double>());
  }
}

void set_threads(std::int64_t threads) {
  if (threads < 0) throw UsageError(fmt::format("--threads {} must not be negative", threads));
  const int count = threads > 0
                        ? static_cast<int>(threads)
                        : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  set_num_threads(count);
  torch::set_num_threads(count);
}

}  // namespace curnm::cli
