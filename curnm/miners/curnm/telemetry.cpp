#include "curnm/miners/curnm/telemetry.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "curnm/evaluation/metrics.h"

namespace curnm {

double training_auc(const Tensor& positive, const Tensor& random) {
  const auto values = [](const Tensor& logits) {
    const Tensor flat = logits.to(at::kCPU).contiguous();
    return std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  };
  const auto is_number = [](const Tensor& logits) { return !logits.isnan().any().item<bool>(); };
  if (!is_number(positive) || !is_number(random)) return std::nan("");
  return roc_auc(values(positive), values(random));
}

void describe_pool(const Candidates& candidates, std::span<const std::int64_t> chosen,
                   const Tensor& logits, std::map<std::string, double>& measures) {
  constexpr std::array<const char*, 3> kNames = {"random", "historical", "hard"};
  struct Count {
    double pool = 0;
    double chosen = 0;
    double score = 0;
  };
  std::array<Count, kNames.size()> counts;
  const auto count = [&](std::size_t at) -> Count& {
    return counts[static_cast<std::size_t>(candidates.kinds[at])];
  };
  const Tensor on_cpu = logits.to(at::kCPU).contiguous();
  const float* values = on_cpu.data_ptr<float>();
  for (std::size_t at = 0; at < candidates.kinds.size(); ++at) {
    count(at).pool += 1;
    count(at).score += 1 / (1 + std::exp(-static_cast<double>(values[at])));
  }
  for (std::int64_t at : chosen) count(static_cast<std::size_t>(at)).chosen += 1;
  for (std::size_t kind = 0; kind < kNames.size(); ++kind) {
    const std::string name = kNames[kind];
    const Count& found = counts[kind];
    measures["pool_" + name] = found.pool / static_cast<double>(candidates.kinds.size());
    measures["selected_" + name] = found.chosen / static_cast<double>(chosen.size());
    if (found.pool > 0) measures["score_" + name] = found.score / found.pool;
  }
}

double false_negative_share(const EventBatch& batch, const Candidates& candidates,
                            std::span<const std::int64_t> chosen, const EventLog& events,
                            const History& pairs) {
  const EventId next_end = std::min<EventId>(batch.first + 2 * batch.size(), events.size());
  const Timestamp horizon = events.time[next_end - 1];
  double found = 0;
  for (std::int64_t at : chosen) {
    const auto row = static_cast<std::size_t>(at / candidates.width);
    const PairId pair = pairs.find(batch.src[row], candidates.nodes[static_cast<std::size_t>(at)]);
    if (pair != kNoPair && pairs.occurs_within(pair, batch.time[row], horizon)) found += 1;
  }
  return found / static_cast<double>(chosen.size());
}

}  // namespace curnm
