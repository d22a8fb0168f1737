#include "curnm/training/batches.h"

namespace curnm {

std::vector<std::int64_t> batch_boundaries(std::int64_t events, std::int64_t batch, Rng rng) {
  const auto shift = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(batch)));
  std::vector<std::int64_t> bounds = {0};
  for (std::int64_t end = shift == 0 ? batch : shift; end < events; end += batch) {
    bounds.push_back(end);
  }
  bounds.push_back(events);
  return bounds;
}

std::vector<std::int64_t> batch_boundaries(const LinkTask& task, const TrainOptions& options,
                                           std::int64_t epoch) {
  return batch_boundaries(Stretch{0, task.train().size()}, options, epoch);
}

std::vector<std::int64_t> batch_boundaries(const Stretch& stretch, const TrainOptions& options,
                                           std::int64_t epoch) {
  std::vector<std::int64_t> bounds = batch_boundaries(
      stretch.end - stretch.begin, options.batch,
      Rng(options.seed, Stream::kBatchBoundaries, static_cast<std::uint64_t>(epoch)));
  for (std::int64_t& bound : bounds) bound += stretch.begin;
  return bounds;
}

}  // namespace curnm
