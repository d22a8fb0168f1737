#include "cli/bench.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print.h"
#include "curnm/base/parallel.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/negatives.h"
#include "curnm/graph/split.h"
#include "curnm/sampling/indices.h"
#include "curnm/sampling/neighbor_sampler.h"
#include "curnm/sampling/pair_statistics.h"

namespace curnm::cli {
namespace {

constexpr std::int64_t kBatch = 200;
constexpr std::int64_t kNeighbors = 10;
constexpr std::int64_t kHistoryDraws = 5;  // of a pool of 8 at the paper's share of 0.6
constexpr int kPasses = 5;

/// The (node, time) roots of one training epoch: source, destination and a random destination of
/// every event, batch by batch.
struct EpochRoots {
  std::vector<NodeId> nodes;
  std::vector<Timestamp> times;

  explicit EpochRoots(const EventLog& log) {
    Rng rng(/*seed=*/0, Stream::kBenchmark);
    for (EventId first = 0; first < log.size(); first += kBatch) {
      const EventId end = std::min(first + kBatch, log.size());
      const auto add = [&](auto&& node_of) {
        for (EventId e = first; e < end; ++e) {
          nodes.push_back(node_of(e));
          times.push_back(log.time[e]);
        }
      };
      add([&](EventId e) { return log.src[e]; });
      add([&](EventId e) { return log.dst[e]; });
      add([&](EventId) {
        return log.dst[static_cast<EventId>(rng.below(static_cast<std::uint64_t>(log.size())))];
      });
    }
  }
};

/// The best of a few passes, in units per second: what the machine can do when left alone.
template <class Pass>
double best_rate(const Pass& pass) {
  double best = 0;
  for (int i = 0; i < kPasses; ++i) {
    const Stopwatch watch;
    const std::int64_t units = pass();
    best = std::max(best, static_cast<double>(units) / watch.seconds());
  }
  return best;
}

double sampler_rate(const TemporalGraph& graph, const EpochRoots& roots, int threads,
                    const SamplerOptions& options) {
  set_num_threads(threads);
  const NeighborSampler sampler(graph, options);
  std::vector<Neighbors> layers;
  return best_rate([&] {
    const Rng key(/*seed=*/0, Stream::kNeighbors);
    const std::size_t total = roots.nodes.size();
    constexpr std::size_t kRoots = 3 * kBatch;
    for (std::size_t first = 0; first < total; first += kRoots) {
      const std::size_t size = std::min(kRoots, total - first);
      sampler.sample({std::span(roots.nodes).subspan(first, size),
                      std::span(roots.times).subspan(first, size)},
                     key.split(first), {}, layers);
    }
    return static_cast<std::int64_t>(total);
  });
}

double history_rate(const History& history, const EventLog& log) {
  DrawScratch scratch;
  std::array<Partner, kHistoryDraws> partners;
  return best_rate([&] {
    std::int64_t drawn = 0;
    for (EventId e = 0; e < log.size(); ++e) {
      Rng rng(/*seed=*/0, Stream::kHistory, /*epoch=*/0, static_cast<std::uint64_t>(e));
      drawn += history.draw(log.src[e], log.time[e], rng, scratch, partners);
    }
    return drawn;
  });
}

/// Pairs as a step has them: each event beside eight random destinations of its source.
double statistics_rate(const EventLog& log, int threads) {
  constexpr std::int64_t kCandidates = 8;
  set_num_threads(threads);
  const Indices indices(log);
  const PairStatistics statistics(indices.past(), AgeScale::of(log.time.span()));
  std::vector<Links> steps;
  Rng rng(/*seed=*/0, Stream::kBenchmark);
  for (EventId first = 0; first < log.size(); first += kBatch) {
    std::vector<NodeId> src;
    std::vector<NodeId> dst;
    std::vector<Timestamp> time;
    for (EventId e = first; e < std::min(first + kBatch, log.size()); ++e) {
      for (std::int64_t i = 0; i <= kCandidates; ++i) {
        src.push_back(log.src[e]);
        dst.push_back(
            i == 0
                ? log.dst[e]
                : log.dst[static_cast<EventId>(rng.below(static_cast<std::uint64_t>(log.size())))]);
        time.push_back(log.time[e]);
      }
    }
    steps.emplace_back(Pairs{src, dst, time});
  }
  return best_rate([&] {
    std::int64_t rows = 0;
    for (const Links& links : steps) {
      rows += std::ssize(statistics.of_pairs(links)) / kPairStatisticsWidth;
    }
    return rows;
  });
}

double trans_seconds(const History& partners, const EventLog& log) {
  const Cuts cuts = cuts_by_quantile(log);
  const EventLog test = select(log, split(log, cuts).test);
  const History pairs(log);
  const NegativeSampler sampler({&pairs, &partners, &pairs}, log.time[cuts.first_test]);
  const Stopwatch watch;
  sampler.draw(test, Protocol::kTrans);
  return watch.seconds();
}

void run_sampler(const std::string& data, const ReadOptions& read, bool json) {
  const int cores = num_threads();
  const Dataset dataset = open_dataset(data, read);
  const EventLog& log = dataset.events;
  const Stopwatch graph_watch;
  const TemporalGraph graph(log);
  const double graph_seconds = graph_watch.seconds();
  const Stopwatch history_watch;
  const History history(log, Partnership::kMutual);
  const double history_seconds = history_watch.seconds();
  const EpochRoots roots(log);
  const double recent = sampler_rate(graph, roots, 1, {.neighbors = kNeighbors});
  const double uniform =
      sampler_rate(graph, roots, 2,
                   {.strategy = SamplingStrategy::kUniform, .neighbors = kNeighbors, .layers = 2});
  const double statistics = statistics_rate(log, 2);
  set_num_threads(cores);
  const double draws = history_rate(history, log);
  const double trans = trans_seconds(history, log);

  if (json) {
    const nlohmann::ordered_json result = {{"data", dataset.name},
                                           {"events", log.size()},
                                           {"recent_roots_per_s", recent},
                                           {"uniform2_roots_per_s", uniform},
                                           {"history_draws_per_s", draws},
                                           {"pair_statistics_per_s", statistics},
                                           {"trans_test_seconds", trans},
                                           {"graph_build_seconds", graph_seconds},
                                           {"history_build_seconds", history_seconds}};
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{} ({} events), best of {} passes\n", dataset.name, grouped(log.size()), kPasses);
  fmt::print("  recent, K = 10, 1 layer, 1 thread       {:>8.2f} M roots/s\n", recent / 1e6);
  fmt::print("  uniform, K = 10, 2 layers, 2 threads    {:>8.2f} M roots/s\n", uniform / 1e6);
  fmt::print("  history draws (5 of H_ut), 1 thread     {:>8.2f} M draws/s\n", draws / 1e6);
  fmt::print("  statistics of pairs, 2 threads          {:>8.2f} M pairs/s\n", statistics / 1e6);
  fmt::print("  TRANS negatives of the test split       {:>8.4f} s\n", trans);
  fmt::print("  build: adjacency {:.3f} s, history {:.3f} s\n", graph_seconds, history_seconds);
}

}  // namespace

bool add_bench_defaults(GivenOptions& given) {
  given.emplace("model", "tgn");
  given.emplace("decoder", "additive");
  if (given.emplace("miner", "random").first->second != "curnm") return false;
  given.emplace("pi-strategy", "constant");
  given.emplace("pi", "1");
  return true;
}

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure speed on this machine");
  command->require_subcommand(1);
  struct Flags {
    std::string data;
    GivenOptions read;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* sampler =
      command->add_subcommand("sampler", "Neighbour sampling, histories and negatives");
  sampler->add_option("--data", flags->data, "imported folder, raw network, or synthetic[:preset]")
      ->required();
  add_read_flags(*sampler, flags->read);
  sampler->add_flag("--json", flags->json, "one JSON document");
  sampler->callback([flags] { run_sampler(flags->data, read_options(flags->read), flags->json); });
  add_bench_step(*command);
  add_bench_epoch(*command);
  add_bench_ranks(*command);
}

}  // namespace curnm::cli
