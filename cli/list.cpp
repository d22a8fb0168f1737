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

template <class Entries>
void print_table(const std::string& title, const Entries& entries) {
  fmt::print("{}\n", title);
  for (const auto& entry : entries) fmt::print("  {:<20}{}\n", entry.name, entry.summary);
}

}  // namespace

void add_list(CLI::App& app) {
  app.add_subcommand("list", "Show what there is to choose from")->callback([] {
    print_table("models", models());
    print_table("models without learning", baselines());
    print_table("decoders", decoders());
    print_table("miners", miners());
    for (const MinerEntry& entry : miners()) {
      if (!entry.presets.empty()) print_table("presets of " + entry.name, entry.presets);
    }
    print_table("protocols", protocols());
    print_table("formats", readers());
    print_table("synthetic presets", synthetic_presets());
    print_table("published networks", catalog());
  });
}

}  // namespace curnm::cli
