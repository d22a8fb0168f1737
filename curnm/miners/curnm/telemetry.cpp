#include "curnm/miners/curnm/telemetry.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "curnm/evaluation/metrics.h"

namespace curnm {

double training_auc(const Tensor& positive, const Tensor& random, const BatchParts& parts) {
  const auto values = [](const Tensor& logits) {
    const Tensor flat = logits.to(at::kCPU).contiguous();
    return std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  };
  const std::vector<BatchParts::Joined> all = parts.join({values(positive), values(random)});
  for (const BatchParts::Joined& list : all) {
    if (std::ranges::any_of(list.values, [](float x) { return std::isnan(x); })) {
      return std::nan("");
    }
  }
  return roc_auc(all[0].values, all[1].values);
}

void describe_pool(const Candidates& candidates, std::span<const std::int64_t> chosen,
                   const Tensor& logits, std::map<std::string, double>& measures,
                   const BatchParts& parts) {
  constexpr std::array<const char*, 3> kNames = {"random", "historical", "hard"};
  // Of each kind: candidates in the pools, chosen ones, the sum of probabilities.
  enum Figure : std::size_t { kPool, kChosen, kScore, kFigures };
  std::array<double, kNames.size() * kFigures> counts{};
  const auto of_kind = [&](std::size_t kind, Figure figure) -> double& {
    return counts[kind * kFigures + figure];
  };
  const auto of = [&](std::size_t at, Figure figure) -> double& {
    return of_kind(static_cast<std::size_t>(candidates.kinds[at]), figure);
  };
  const Tensor on_cpu = logits.to(at::kCPU).contiguous();
  const float* values = on_cpu.data_ptr<float>();
  for (std::size_t at = 0; at < candidates.kinds.size(); ++at) {
    of(at, kPool) += 1;
    of(at, kScore) += 1 / (1 + std::exp(-static_cast<double>(values[at])));
  }
  for (std::int64_t at : chosen) of(static_cast<std::size_t>(at), kChosen) += 1;
  parts.sum(counts);
  std::array<double, kFigures> all{};
  for (std::size_t i = 0; i < counts.size(); ++i) all[i % kFigures] += counts[i];
  for (std::size_t kind = 0; kind < kNames.size(); ++kind) {
    const std::string name = kNames[kind];
    const double in_pools = of_kind(kind, kPool);
    measures["pool_" + name] = in_pools / all[kPool];
    measures["selected_" + name] = of_kind(kind, kChosen) / all[kChosen];
    if (in_pools > 0) measures["score_" + name] = of_kind(kind, kScore) / in_pools;
  }
}

double false_negative_share(const EventBatch& batch, const Candidates& candidates,
                            std::span<const std::int64_t> chosen, const EventLog& events,
                            const History& pairs, const BatchParts& parts) {
  const EventId first = batch.first - batch.offset;
  const EventId next_end = std::min<EventId>(first + 2 * batch.whole_size(), events.size());
  const Timestamp horizon = events.time[next_end - 1];
  std::array<double, 2> counts = {0, static_cast<double>(chosen.size())};
  for (std::int64_t at : chosen) {
    const auto row = static_cast<std::size_t>(at / candidates.width);
    const PairId pair = pairs.find(batch.src[row], candidates.nodes[static_cast<std::size_t>(at)]);
    if (pair != kNoPair && pairs.occurs_within(pair, batch.time[row], horizon)) counts[0] += 1;
  }
  parts.sum(counts);
  return counts[0] / counts[1];
}

}  // namespace curnm
