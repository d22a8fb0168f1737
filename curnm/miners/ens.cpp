#include <algorithm>
#include <cmath>

#include "curnm/base/parallel.h"
#include "curnm/miners/miners.h"
#include "curnm/sampling/random_destinations.h"

namespace curnm {
namespace {

/// The difficulty g at epoch e (from 0) of E.
double pacing(std::string_view course, double start, double progress) {
  if (course == "geometric") return std::pow(start, 1 - progress);
  if (course == "root") {
    return std::min(std::sqrt(start * start + (1 - start * start) * progress), 1.0);
  }
  return std::min(start + progress, 1.0);
}

/// How well an age x in [0, 1] (0: just now) meets the difficulty: early the oldest are wanted,
/// late the most recent.
double proximity_weight(double difficulty, double x) {
  return std::clamp(1 - std::abs((1 - difficulty) - x), 0.0, 1.0);
}

/// ENS (Gao et al. 2024, Neural Networks 173:106175): a share g of the negatives are historical,
/// chosen by how recent they are; g grows with the epochs.
///
/// Differs from its program in: historical negatives are former partners of the source, aged by
/// their last event, as the paper motivates (`--ens-pairing batch --ens-time first` do as the
/// program does: anyone's former pairs, aged by their first event); the history is one immutable
/// index instead of a table that is rebuilt for every batch.
class EnsMiner final : public NegativeMiner {
 public:
  EnsMiner(const MinerOptions& options, const MinerContext& context)
      : options_(options.ens),
        width_(options.plain.negatives),
        context_(context),
        destinations_(context.pairs, context.destinations) {}

  void begin_epoch(std::int64_t epoch) override {
    difficulty_ = pacing(options_.ens_pacing, options_.ens_start,
                         static_cast<double>(epoch) / static_cast<double>(context_.epochs));
  }

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    Candidates candidates{.width = width_};
    const auto slots = static_cast<std::int64_t>(batch.src.size()) * width_;
    candidates.nodes.resize(static_cast<std::size_t>(slots));
    candidates.kinds.resize(candidates.nodes.size(), CandidateKind::kRandom);
    const std::int64_t random = static_cast<std::int64_t>(
        std::floor((1 - difficulty_) * static_cast<double>(slots) + 1e-9));
    DrawScratch shuffle;
    Rng rng = key.split(0);
    draw_distinct(
        0, slots, slots - random, rng, shuffle, [](std::int64_t) { return true; },
        [&](std::int64_t slot) {
          candidates.kinds[static_cast<std::size_t>(slot)] = CandidateKind::kHistorical;
        });
    parallel_for(slots, /*grain=*/32, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch;
      for (auto slot = static_cast<std::size_t>(begin); slot < static_cast<std::size_t>(end);
           ++slot) {
        const std::size_t i = slot / static_cast<std::size_t>(width_);
        Rng row = key.split(1 + slot);
        NodeId node = kNoNode;
        if (candidates.kinds[slot] == CandidateKind::kHistorical) {
          node = options_.ens_pairing == "source"
                     ? of_source(batch.src[i], batch.time[i], row, scratch)
                     : of_anyone(batch, i, row);
        }
        if (node == kNoNode) {
          candidates.kinds[slot] = CandidateKind::kRandom;
          destinations_.draw(batch.src[i], batch.time[i], {&node, 1}, row, scratch.draw);
        }
        candidates.nodes[slot] = node;
      }
    });
    return candidates;
  }

  std::map<std::string, double> telemetry() const override { return {{"difficulty", difficulty_}}; }

 private:
  struct Scratch {
    DrawScratch draw;
    std::vector<NodeId> nodes;
    std::vector<double> values;
  };

  /// A former partner of u by its age at t, or kNoNode.
  NodeId of_source(NodeId u, Timestamp t, Rng& rng, Scratch& scratch) const {
    const History& partners = *context_.partners;
    scratch.nodes.clear();
    scratch.values.clear();
    for (PairId pair : partners.pairs_of_before(u, t)) {
      if (partners.occurs_within(pair, t, t)) continue;
      const NodeId v = partners.dst(pair);
      scratch.nodes.push_back(v);
      scratch.values.push_back(
          t - (by_last() ? partners.last_before(u, v, t) : partners.first_time(pair)));
    }
    if (scratch.nodes.empty()) return kNoNode;
    const auto [low, high] = std::minmax_element(scratch.values.begin(), scratch.values.end());
    const double youngest = *low;
    const double span = *high - youngest;
    double sum = 0;
    for (double& value : scratch.values) {
      sum += span > 0 ? proximity_weight(difficulty_, (value - youngest) / span) : 1;
      value = sum;
    }
    const auto found =
        std::upper_bound(scratch.values.begin(), scratch.values.end(), rng.uniform() * sum);
    const auto at = std::min(found - scratch.values.begin(), std::ssize(scratch.nodes) - 1);
    return scratch.nodes[static_cast<std::size_t>(at)];
  }

  /// The destination of anyone's former pair that does not occur within the batch, by its age at
  /// the beginning of the batch; kNoNode where there is none. Weights are at most 1, so a uniform
  /// draw that is accepted with its weight is a weighted draw, without looking at all pairs.
  NodeId of_anyone(const EventBatch& batch, std::size_t i, Rng& rng) const {
    const History& pairs = *context_.pairs;
    const Timestamp start = batch.time.front();
    const PairId former = pairs.pairs_before(start);
    if (former == 0) return kNoNode;
    const Timestamp newest = by_last() ? start : pairs.first_time(former - 1);
    const Timestamp span = newest - pairs.first_time(0);
    NodeId best = kNoNode;
    double best_weight = -1;
    constexpr int kTries = 64;
    for (int tries = 0; tries < kTries; ++tries) {
      const auto pair = static_cast<PairId>(rng.below(static_cast<std::uint64_t>(former)));
      const NodeId v = pairs.dst(pair);
      if (pairs.occurs_within(pair, start, batch.time.back())) continue;
      if (pairs.occurs_at(batch.src[i], v, batch.time[i])) continue;
      const Timestamp met =
          by_last() ? pairs.last_before(pairs.src(pair), v, start) : pairs.first_time(pair);
      const double weight = span > 0 ? proximity_weight(difficulty_, (newest - met) / span) : 1;
      if (rng.uniform() < weight) return v;
      if (weight > best_weight) {
        best_weight = weight;
        best = v;
      }
    }
    return best;
  }

  bool by_last() const { return options_.ens_time == "last"; }

  EnsOptions options_;
  std::int64_t width_;
  MinerContext context_;
  RandomDestinations destinations_;
  double difficulty_ = 0;
};

}  // namespace

std::shared_ptr<NegativeMiner> make_ens(const MinerOptions& options, const MinerContext& context) {
  return std::make_shared<EnsMiner>(options, context);
}

}  // namespace curnm
