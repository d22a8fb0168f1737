#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/print.h"
#include "curnm/data/catalog.h"
#include "curnm/data/reader.h"
#include "curnm/data/synthetic.h"
#include "curnm/decoders/registry.h"
#include "curnm/evaluation/baselines.h"
#include "curnm/evaluation/negatives.h"
#include "curnm/miners/registry.h"
#include "curnm/models/registry.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

/// Calls visit(title, entries) for everything that has names to choose from.
template <class Visit>
void for_each_list(const Visit& visit) {
  visit("models", models());
  visit("models without learning", baselines());
  visit("decoders", decoders());
  visit("miners", miners());
  for (const MinerEntry& entry : miners()) {
    if (!entry.presets.empty()) visit("presets of " + entry.name, entry.presets);
  }
  visit("protocols", protocols());
  visit("formats", readers());
  visit("synthetic presets", synthetic_presets());
  visit("published networks", catalog());
}

void print_lists() {
  for_each_list([](const std::string& title, const auto& entries) {
    fmt::print("{}\n", title);
    for (const auto& entry : entries) fmt::print("  {:<20}{}\n", entry.name, entry.summary);
  });
}

/// {"models": [{"name": "tgn", "summary": "..."}], ...}
void print_json() {
  ordered_json all = ordered_json::object();
  for_each_list([&](const std::string& title, const auto& entries) {
    ordered_json& list = all[title] = ordered_json::array();
    for (const auto& entry : entries) {
      list.push_back({{"name", entry.name}, {"summary", entry.summary}});
    }
  });
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

void add_list(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("list", "Show what there is to choose from");
  command->add_flag("--json", *json, "one JSON document");
  command->callback([json] { *json ? print_json() : print_lists(); });
}

}  // namespace curnm::cli
