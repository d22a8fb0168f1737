// What counting alone knows about a pair, before a time. Needs no LibTorch.
#include <cstdio>

#include "curnm/data/synthetic.h"
#include "curnm/sampling/indices.h"
#include "curnm/sampling/pair_statistics.h"

using namespace curnm;

int main() {
  const Dataset data = generate({.nodes = 100, .events = 2000, .repeat = 0.5}, "example");
  const EventLog& log = data.events;
  const Indices indices(log);
  const PairStatistics statistics(indices.past(), AgeScale::of(log.time.span()));
  // Does the source of the last event meet its destination at that time?
  const std::size_t last = index(log.size() - 1);
  const Links question(Pairs{log.src.span().subspan(last), log.dst.span().subspan(last),
                             log.time.span().subspan(last)});
  const std::vector<float> values = statistics.of_pairs(question);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%-16s %7.3f\n", kPairStatistics[i].name.data(), static_cast<double>(values[i]));
  }
}
