#include "cli/test_table.h"

#include <fmt/ranges.h>

#include <algorithm>

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
               fresh.contains(name) ? fmt::format("{:.4f}", fresh[name]["ap"].get<double>()) : "-");
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

namespace {

/// What else there is to try: "--decoder pair, --walk on or more epochs".
std::string remedies(const RunSpec& spec) {
  const nlohmann::ordered_json options = options_json(spec);
  std::vector<std::string> all;
  if (spec.train.decoder != "pair") all.emplace_back("--decoder pair");
  if (!options["miner"].contains("outputs")) {
    all.emplace_back("--miner curnm");
  } else if (all.empty() && options["miner"]["outputs"] == "single") {
    all.emplace_back("--outputs questions");
  }
  if (options["decoder"].value("walk", "off") == "off") all.emplace_back("--walk on");
  return fmt::format("{}{}more epochs", fmt::join(all, ", "), all.empty() ? "" : " or ");
}

/// As it is said: new pair.
std::string text_of(Question question) {
  std::string text(name_of(question));
  std::ranges::replace(text, '_', ' ');
  return text;
}

}  // namespace

std::string standing(const nlohmann::ordered_json& result, const RunSpec& spec) {
  std::vector<std::string> above;
  std::vector<std::string> level;
  std::vector<std::string> below;
  std::vector<std::string> unknown;
  bool perfect = true;
  for (const Question question : questions_of(spec.train.goal)) {
    const std::string protocol(name_of(protocol_of(question)));
    if (!result["test"].contains(protocol)) {
      unknown.push_back(fmt::format("which {}", text_of(question)));
      continue;
    }
    // Compared as they are printed: what looks alike is not called different.
    const std::string ap = fmt::format("{:.3f}", result["test"][protocol]["ap"].get<double>());
    const std::string rule =
        fmt::format("{:.3f}", result["best_baseline"][protocol]["ap"].get<double>());
    if (ap == rule) {
      level.push_back(fmt::format("which {} ({})", text_of(question), ap));
      perfect = perfect && ap == "1.000";
      continue;
    }
    (ap > rule ? above : below)
        .push_back(fmt::format("which {} ({} against {})", text_of(question), ap, rule));
  }
  std::vector<std::string> sentences;
  const auto add = [&](const char* how, const std::vector<std::string>& questions) {
    if (questions.empty()) return;
    sentences.push_back(fmt::format("{} {} on {}", how, sentences.empty() ? "the best rule" : "it",
                                    fmt::join(questions, ", ")));
  };
  add("Above", above);
  add("Level with", level);
  add("Below", below);
  if (!below.empty() || !perfect) {
    sentences.back() += ": try " + remedies(spec);
    sentences.emplace_back("A rule that is hard to beat may also be all that there is to know");
  }
  if (!unknown.empty()) {
    sentences.push_back(fmt::format("Not measured by this test: {}", fmt::join(unknown, ", ")));
  }
  return fmt::format("{}.", fmt::join(sentences, ". "));
}

}  // namespace curnm::cli
