#include <benchmark/benchmark.h>

#include "benchmarks/network.h"
#include "curnm/base/parallel.h"
#include "curnm/evaluation/negatives.h"
#include "curnm/sampling/neighbor_sampler.h"

// Sampling against the size of the network: rates should fall only with cache misses.

namespace curnm::benchmarks {
namespace {

void sample(benchmark::State& state, SamplingStrategy strategy, int layers, int threads) {
  const EventLog& log = network(state.range(0)).events;
  const TemporalGraph graph(log);
  const NeighborSampler sampler(graph, {.strategy = strategy, .neighbors = 10, .layers = layers});
  const int before = num_threads();
  set_num_threads(threads);
  std::vector<Neighbors> out;
  constexpr std::int64_t kRoots = 600;
  const Rng key(0, Stream::kBenchmark);
  std::int64_t first = 0;
  for (auto _ : state) {
    first = first + 2 * kRoots <= log.size() ? first + kRoots : 0;
    const auto at = static_cast<std::size_t>(first);
    sampler.sample({log.src.span().subspan(at, kRoots), log.time.span().subspan(at, kRoots)},
                   key.split(at), {}, out);
    benchmark::DoNotOptimize(out.back().nodes.data());
  }
  set_num_threads(before);
  state.SetItemsProcessed(state.iterations() * kRoots);
}

void draw_history(benchmark::State& state) {
  const EventLog& log = network(state.range(0)).events;
  const History history(log);
  DrawScratch scratch;
  std::array<Partner, 5> partners;
  EventId e = 0;
  for (auto _ : state) {
    e = (e + 1) % log.size();
    Rng rng(0, Stream::kBenchmark, 0, static_cast<std::uint64_t>(e));
    benchmark::DoNotOptimize(history.draw(log.src[e], log.time[e], rng, scratch, partners));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(partners.size()));
}

void draw_negatives(benchmark::State& state, Protocol protocol) {
  const EventLog& log = network(1 << 18).events;
  const History history(log);
  const History partners(log, Partnership::kMutual);
  const NegativeSampler sampler({&history, &partners, &history}, log.time[log.size() / 2]);
  for (auto _ : state) benchmark::DoNotOptimize(sampler.draw(log, protocol));
  state.SetItemsProcessed(state.iterations() * log.size());
}

constexpr int kOne = 1;
constexpr int kTwo = 2;
BENCHMARK_CAPTURE(sample, recent, SamplingStrategy::kRecent, /*layers=*/1, kOne)
    ->Range(1 << 14, 1 << 20)
    ->UseRealTime();
BENCHMARK_CAPTURE(sample, uniform, SamplingStrategy::kUniform, /*layers=*/1, kOne)
    ->Range(1 << 14, 1 << 20)
    ->UseRealTime();
BENCHMARK_CAPTURE(sample, uniform_two_layers, SamplingStrategy::kUniform, /*layers=*/2, kTwo)
    ->Range(1 << 14, 1 << 20)
    ->UseRealTime();
BENCHMARK(draw_history)->Range(1 << 14, 1 << 20);
BENCHMARK_CAPTURE(draw_negatives, random, Protocol::kRandom)->UseRealTime();
BENCHMARK_CAPTURE(draw_negatives, historical, Protocol::kHistorical)->UseRealTime();
BENCHMARK_CAPTURE(draw_negatives, trans, Protocol::kTrans)->UseRealTime();
BENCHMARK_CAPTURE(draw_negatives, source_historical, Protocol::kSourceHistorical)->UseRealTime();

}  // namespace
}  // namespace curnm::benchmarks
