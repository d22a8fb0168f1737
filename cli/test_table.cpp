#include "cli/test_table.h"

#include "cli/print.h"
#include "curnm/evaluation/negatives.h"

namespace curnm::cli {

void print_results(const nlohmann::ordered_json& result) {
  fmt::print("{:<20}{:>10}{:>10}{:>12}   {}\n", "test AP", "all", "global", "new nodes",
             result.contains("best_baseline") ? "best without learning" : "");
  for (const ProtocolEntry& entry : protocols()) {
    const std::string name(entry.name);
    if (!result["test"].contains(name)) continue;
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
    const auto& fresh = result["test_new"];
    fmt::print("{:<20}{:>10.4f}{:>10}{:>12}\n", "MRR", result["test"]["mrr"].get<double>(), "",
               fresh.is_null() ? "-" : fmt::format("{:.4f}", fresh["mrr"].get<double>()));
  }
}

}  // namespace curnm::cli
