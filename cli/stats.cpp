#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print.h"
#include "curnm/data/catalog.h"
#include "curnm/data/open.h"
#include "curnm/graph/statistics.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Quantiles& quantiles) {
  ordered_json json;
  for (std::size_t i = 0; i < Quantiles::kPoints.size(); ++i) {
    json[fmt::format("{:g}%", 100 * Quantiles::kPoints[i])] = quantiles.values[i];
  }
  return json;
}

ordered_json to_json(const Dataset& dataset, const Statistics& s) {
  return {{"name", dataset.name},
          {"format", dataset.format},
          {"digest", dataset.digest()},
          {"nodes", s.nodes},
          {"events", s.events},
          {"sources", s.sources},
          {"destinations", s.destinations},
          {"bipartite", s.bipartite},
          {"directed_pairs", s.directed_pairs},
          {"self_loops", s.self_loops},
          {"edge_features", dataset.edge_features.width},
          {"node_features", dataset.node_features.width},
          {"proximity", s.proximity},
          {"recency", s.recency},
          {"repetition", s.repetition},
          {"density", s.density},
          {"density_nodes", s.density_nodes},
          {"d_max", s.d_max},
          {"distinct_times", s.distinct_times},
          {"first_time", s.first_time},
          {"last_time", s.last_time},
          {"degree", to_json(s.degree)},
          {"gap", to_json(s.gap)},
          {"events_over_time", s.events_over_time}};
}

void print_quantiles(const char* what, const Quantiles& quantiles) {
  fmt::print("  {:<16}", what);
  for (double value : quantiles.values) fmt::print("{:>12.6g}", value);
  fmt::print("\n");
}

void print(const Dataset& dataset, const Statistics& s) {
  const auto line = [](const char* name, const std::string& value, const std::string& remark = "") {
    fmt::print("  {:<16}{:>14}{}{}\n", name, value, remark.empty() ? "" : "   ", remark);
  };
  const double span = s.last_time - s.first_time;
  fmt::print("{}  ({}, digest {})\n", dataset.name, dataset.format, dataset.digest().substr(0, 12));
  line("nodes", grouped(s.nodes),
       fmt::format("{} sources, {} destinations, {}", grouped(s.sources), grouped(s.destinations),
                   s.bipartite ? "bipartite" : "one-mode"));
  line("events", grouped(s.events),
       fmt::format("{} directed pairs, {} self-loops", grouped(s.directed_pairs),
                   grouped(s.self_loops)));
  line("features", fmt::format("{} / {}", dataset.edge_features.width, dataset.node_features.width),
       "edge / node");
  line("times", grouped(s.distinct_times),
       fmt::format("{:.15g} .. {:.15g}{}", s.first_time, s.last_time,
                   span >= 86400 ? fmt::format(" ({} if seconds)", duration(span)) : ""));
  line("proximity", fmt::format("{:.0f}", s.proximity),
       "mean step back to the source's own events");
  line("recency", fmt::format("{:.0f} %", 100 * s.recency), "repeats the source's previous choice");
  line("repetition", fmt::format("{:.0f} %", 100 * s.repetition), "of the events repeat a pair");
  line("density", fmt::format("{:.2e}", s.density),
       s.density_nodes == s.nodes + 1 ? ""
                                      : fmt::format("with the paper's {} nodes", s.density_nodes));
  line("d_max", fmt::format("{:.2e}", static_cast<double>(s.d_max)),
       fmt::format("{} ends of events at the busiest node", grouped(s.d_max)));
  fmt::print("  events over time\n  {}\n", sparkline(s.events_over_time));
  fmt::print("  {:<16}", "");
  for (double point : Quantiles::kPoints) fmt::print("{:>11g}%", 100 * point);
  fmt::print("\n");
  print_quantiles("events per node", s.degree);
  print_quantiles("gap of a node", s.gap);
}

}  // namespace

void add_stats(CLI::App& app) {
  struct Flags {
    std::string data;
    GivenOptions read;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("stats", "Print the statistics of a network");
  command->add_option("data", flags->data, "imported folder, raw network, or synthetic[:preset]")
      ->required();
  add_read_flags(*command, flags->read);
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags] {
    const Dataset dataset = open_dataset(flags->data, read_options(flags->read));
    print_notes(dataset);
    const Statistics statistics = compute_statistics(
        dataset.events, published_density_nodes(dataset.name, dataset.events.size()));
    if (flags->json) {
      // A path need not be UTF-8; JSON must be.
      fmt::print("{}\n", to_json(dataset, statistics)
                             .dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      print(dataset, statistics);
    }
  });
}

}  // namespace curnm::cli
