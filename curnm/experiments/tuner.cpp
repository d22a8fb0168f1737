#include "curnm/experiments/tuner.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/base/rng.h"

namespace curnm {

std::vector<Dimension> paper_grid(std::int64_t epochs) {
  const auto fraction = [&](std::int64_t of) {
    return std::to_string(std::max<std::int64_t>(1, epochs / of));
  };
  std::vector<std::string> lengths = {fraction(10), fraction(2), fraction(1)};
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());  // few epochs
  return {{"pool", {"4", "8", "12", "16"}},
          {"gamma-hist", {"0.3", "0.4", "0.5", "0.6", "0.7"}},
          {"tau", {"0.3", "0.5", "0.7"}},
          {"alpha-epochs", lengths},
          {"alpha-max", {"0", "0.006", "0.012", "0.024"}},
          {"beta-epochs", lengths},
          {"delta-min", {"0.3", "0.5", "0.7"}}};
}

std::int64_t number_of_points(std::span<const Dimension> space) {
  std::int64_t points = 1;
  for (const Dimension& dimension : space) points *= std::ssize(dimension.values);
  return points;
}

Job job_of_point(std::span<const Dimension> space, std::int64_t point, Job base) {
  CURNM_ASSERT(point >= 0 && point < number_of_points(space));
  for (std::size_t d = space.size(); d-- > 0;) {
    const std::int64_t size = std::ssize(space[d].values);
    base.flags[space[d].flag] = space[d].values[static_cast<std::size_t>(point % size)];
    point /= size;
  }
  return base;
}

std::vector<std::int64_t> random_points(std::span<const Dimension> space, std::int64_t count,
                                        std::uint64_t seed) {
  std::vector<std::int64_t> points(static_cast<std::size_t>(number_of_points(space)));
  std::iota(points.begin(), points.end(), 0);
  Rng rng(seed, Stream::kTuning);
  const std::size_t drawn = std::min(points.size(), static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < drawn; ++i) {
    std::swap(points[i], points[i + rng.below(points.size() - i)]);
  }
  points.resize(drawn);
  return points;
}

std::vector<Rung> halving_rungs(std::int64_t trials, std::int64_t first, std::int64_t epochs,
                                std::int64_t reduction) {
  CURNM_ASSERT(trials >= 1 && first >= 1 && epochs >= 1 && reduction >= 2);
  std::vector<Rung> rungs;
  for (std::int64_t length = first; length < epochs && trials > 1; length *= reduction) {
    rungs.push_back({trials, length});
    trials = std::max<std::int64_t>(1, trials / reduction);
  }
  rungs.push_back({trials, epochs});
  return rungs;
}

std::vector<std::size_t> best_of(std::span<const double> scores, std::int64_t count) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isnan(scores[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

}  // namespace curnm
