#include <benchmark/benchmark.h>

#include "benchmarks/network.h"
#include "curnm/graph/statistics.h"
#include "curnm/graph/temporal_graph.h"
#include "curnm/sampling/history.h"

// Building the indices: all linear in the events, so time per event should not grow.

namespace curnm::benchmarks {
namespace {

template <class Index>
void build_index(benchmark::State& state) {
  const EventLog& log = network(state.range(0)).events;
  for (auto _ : state) benchmark::DoNotOptimize(Index(log));
  state.SetItemsProcessed(state.iterations() * log.size());
  state.SetComplexityN(log.size());
}

void statistics(benchmark::State& state) {
  const EventLog& log = network(state.range(0)).events;
  for (auto _ : state) benchmark::DoNotOptimize(compute_statistics(log));
  state.SetItemsProcessed(state.iterations() * log.size());
}

BENCHMARK(build_index<TemporalGraph>)->Range(1 << 12, 1 << 20)->Complexity()->UseRealTime();
BENCHMARK(build_index<History>)->Range(1 << 12, 1 << 20)->Complexity()->UseRealTime();
BENCHMARK(statistics)->Range(1 << 12, 1 << 18)->UseRealTime();

}  // namespace
}  // namespace curnm::benchmarks
