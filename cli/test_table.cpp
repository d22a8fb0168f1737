#include "cli/test_table.h"

#include "cli/print.h"
#include "curnm/evaluation/goal.h"

namespace curnm::cli {

namespace {

/// MRR and Hits@10 as two more rows of the table.
void print_ranking(const nlohmann::ordered_json& result) {
  const auto& all = result["test"]["mrr"];
  const auto& fresh = result["test_new"];
  const auto number = [](const nlohmann::ordered_json& ranking, const char* metric) {
    return fmt::format("{:.4f}", ranking[metric].get<double>());
  };
  for (const auto& [metric, title] :
       {std::pair("mrr", "MRR of "), std::pair("hits10", "Hits@10 of ")}) {
    fmt::print("{:<20}{:>10}{:>10}{:>12}",
               title + grouped(all["candidates"].get<std::int64_t>() + 1), number(all, metric), "",
               fresh.is_null() ? "-" : number(fresh["mrr"], metric));
    if (result.contains("best_ranking")) {
      fmt::print("   {} {}", number(result["best_ranking"], metric),
                 result["best_ranking"]["name"].get<std::string>());
    }
    fmt::print("\n");
  }
}

}  // namespace

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
  if (result["test"].contains("mrr")) print_ranking(result);
}

void say_if_few(const LinkTask& task) {
  constexpr std::int64_t kFew = 100;
  const std::int64_t tested = task.test().positives.size();
  if (tested < kFew) {
    say("note: the test has {} events: with fewer than {}, these figures say little\n", tested,
        kFew);
  } else if (task.new_test() != nullptr && task.new_test()->positives.size() < kFew) {
    say("note: the test has {} events with new nodes: with fewer than {}, the figures for these "
        "say "
        "little\n",
        task.new_test()->positives.size(), kFew);
  }
}

std::string standing(const nlohmann::ordered_json& result) {
  std::vector<std::string> above;
  std::vector<std::string> below;
  for (const Question question : kQuestions) {
    const std::string protocol(name_of(protocol_of(question)));
    const double ap = result["test"][protocol]["ap"];
    const double rule = result["best_baseline"][protocol]["ap"];
    (ap > rule ? above : below)
        .push_back(fmt::format("which {} ({:.3f} against {:.3f})", name_of(question), ap, rule));
  }
  std::string text;
  if (!above.empty()) text = fmt::format("Above the best rule on {}.", fmt::join(above, ", "));
  if (below.empty()) return text;
  return fmt::format(
      "{}{}Not above it on {}: try --decoder pair --miner mixture, --walk on, or more epochs. A "
      "rule "
      "that is hard to beat may also be all that there is to know.",
      text, text.empty() ? "" : " ", fmt::join(below, ", "));
}

}  // namespace curnm::cli
