#include "curnm/curriculum/hard_cache.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "curnm/base/error.h"

namespace curnm {

ScoreHistory appended(ScoreHistory scores, float score) {
  std::rotate(scores.begin(), scores.begin() + 1, scores.end());
  scores.back() = score;
  return scores;
}

double deviation(const ScoreHistory& scores) {
  double sum = 0;
  int count = 0;
  for (float score : scores) {
    if (std::isnan(score)) continue;
    sum += score;
    ++count;
  }
  if (count < 2) return 0;
  const double mean = sum / count;
  double squares = 0;
  for (float score : scores) {
    if (!std::isnan(score)) squares += (score - mean) * (score - mean);
  }
  return std::sqrt(squares / count);
}

double keep_weight(double p, double alpha, double deviation) {
  return std::max(0.0, p - alpha * deviation);  // 0 if p is NaN
}

/// Efraimidis and Spirakis 2006: the k largest of log(U)/w are such a draw.
void draw_weighted(std::span<const double> weights, Rng& rng, std::span<std::int64_t> out) {
  CURNM_ASSERT(out.size() <= weights.size());
  struct Key {
    bool positive;
    double value;
    std::int64_t position;
  };
  std::vector<Key> keys(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool positive = weights[i] > 0;
    const double log_uniform = std::log1p(-rng.uniform());  // of (0, 1]
    keys[i] = {positive, positive ? log_uniform / weights[i] : log_uniform,
               static_cast<std::int64_t>(i)};
  }
  const auto harder = [](const Key& a, const Key& b) {
    if (a.positive != b.positive) return a.positive;
    return a.value != b.value ? a.value > b.value : a.position < b.position;
  };
  std::partial_sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(out.size()),
                    keys.end(), harder);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = keys[i].position;
}

HardCache::HardCache(std::int64_t events, std::int64_t slots)
    : slots_(static_cast<std::size_t>(slots)),
      nodes_(static_cast<std::size_t>(events) * slots_, kNoNode),
      scores_(nodes_.size(), kNoScores) {}

std::int64_t HardCache::refresh(std::int64_t event, std::span<const NodeId> nodes,
                                std::span<const float> probabilities, bool was_late, double alpha,
                                Rng rng) {
  std::vector<ScoreHistory> scores(nodes.size(), kNoScores);
  if (was_late) std::copy_n(scores_.begin() + at(event), slots_, scores.begin());
  std::vector<double> weights(nodes.size());
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    scores[j] = appended(scores[j], probabilities[j]);
    weights[j] = keep_weight(probabilities[j], alpha, deviation(scores[j]));
  }
  std::vector<std::int64_t> kept(slots_);
  draw_weighted(weights, rng, kept);
  std::int64_t fresh = 0;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const auto j = static_cast<std::size_t>(kept[slot]);
    nodes_[at(event) + slot] = nodes[j];
    scores_[at(event) + slot] = scores[j];
    fresh += was_late && j < slots_ ? 0 : 1;
  }
  return fresh;
}

std::int64_t HardCache::size() const {
  std::int64_t events = 0;
  for (std::size_t i = 0; i < nodes_.size(); i += slots_) events += nodes_[i] == kNoNode ? 0 : 1;
  return events;
}

}  // namespace curnm
