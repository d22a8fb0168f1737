#include <algorithm>
#include <cmath>

#include "curnm/base/parallel.h"
#include "curnm/miners/fields.h"
#include "curnm/miners/miner.h"
#include "curnm/sampling/random_destinations.h"

namespace curnm {
namespace {

enum class Pacing { kLinear, kGeometric, kRoot };
constexpr ChoiceNames<3> choice_names(Pacing) { return {"linear", "geometric", "root"}; }
enum class AgeBy { kLast, kFirst };
constexpr ChoiceNames<2> choice_names(AgeBy) { return {"last", "first"}; }
enum class Pairing { kSource, kBatch };
constexpr ChoiceNames<2> choice_names(Pairing) { return {"source", "batch"}; }

/// The defaults are the paper's intent; `first` and `batch` are what its program does.
struct EnsOptions {
  std::int64_t negatives = 1;
  Pacing pacing = Pacing::kLinear;
  double start = 0.05;
  AgeBy time = AgeBy::kLast;
  Pairing pairing = Pairing::kSource;

  void fields(const FieldVisitor& visit) {
    visit(kNegativesField, negatives);
    visit({.name = "ens-pacing", .help = "course of the difficulty"}, pacing);
    visit({.name = "ens-start",
           .help = "difficulty at the start",
           .min = 0.001,
           .max = 1,
           .symbol = "lambda_0"},
          start);
    visit({.name = "ens-time",
           .help = "age of a former pair by its last (paper) or first event (program)"},
          time);
    visit({.name = "ens-pairing",
           .help = "historical negatives of the source (paper) or of anyone (program)"},
          pairing);
  }
};

/// The difficulty g at epoch e (from 0) of E.
double difficulty_at(Pacing pacing, double start, double progress) {
  if (pacing == Pacing::kGeometric) return std::pow(start, 1 - progress);
  if (pacing == Pacing::kRoot) {
    return std::min(std::sqrt(start * start + (1 - start * start) * progress), 1.0);
  }
  return std::min(start + progress, 1.0);
}

/// How well an age x in [0, 1] (0: just now) matches the difficulty: early epochs prefer the
/// oldest, late ones the most recent.
double proximity_weight(double difficulty, double x) {
  return std::clamp(1 - std::abs((1 - difficulty) - x), 0.0, 1.0);
}

/// ENS (Gao et al. 2024, Neural Networks 173:106175): a share g of the negatives are historical,
/// chosen by how recent they are; g grows with the epochs.
///
/// Differs from its program in: historical negatives are former partners of the source, aged by
/// their last event, as the paper motivates (`--ens-pairing batch --ens-time first` do what the
/// program does: anyone's former pairs, aged by their first event); the history is one immutable
/// index instead of a table that is rebuilt for every batch.
class EnsMiner final : public NegativeMiner {
 public:
  EnsMiner(const EnsOptions& options, const MinerContext& context)
      : options_(options),
        context_(context),
        destinations_(context.past.pairs, context.destinations) {}

  void begin_epoch(std::int64_t epoch) override {
    difficulty_ = difficulty_at(options_.pacing, options_.start,
                                static_cast<double>(epoch) / static_cast<double>(context_.epochs));
  }

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    Candidates candidates{.width = options_.negatives};
    const auto width = static_cast<std::size_t>(options_.negatives);
    candidates.nodes.resize(batch.src.size() * width);
    candidates.kinds.resize(candidates.nodes.size(), CandidateKind::kRandom);
    parallel_for(batch.size(), /*grain=*/32, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch;
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const Rng of_event = key.split(static_cast<std::uint64_t>(batch.events[i]));
        for (std::size_t j = 0; j < width; ++j) {
          Rng rng = of_event.split(j);
          const std::size_t slot = i * width + j;
          NodeId node = kNoNode;
          // Each independently with probability g, so that a draw does not depend on the batch.
          if (rng.uniform() < difficulty_) {
            node = options_.pairing == Pairing::kSource
                       ? draw_from_source(batch.src[i], batch.time[i], rng, scratch)
                       : draw_from_anyone(batch, i, rng);
          }
          if (node == kNoNode) {
            destinations_.draw(batch.src[i], batch.time[i], {&node, 1}, rng, scratch.draw);
          } else {
            candidates.kinds[slot] = CandidateKind::kHistorical;
          }
          candidates.nodes[slot] = node;
        }
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

  /// Draws a former partner of u by its age at t; kNoNode if there is none.
  NodeId draw_from_source(NodeId u, Timestamp t, Rng& rng, Scratch& scratch) const {
    const History& partners = *context_.past.partners;
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

  /// Draws the destination of anyone's former pair that does not occur within the batch, by its age
  /// at the beginning of the batch; kNoNode if there is none. Weights are at most 1, so a uniform
  /// draw that is accepted with its weight is a weighted draw, without a pass over all pairs.
  NodeId draw_from_anyone(const EventBatch& batch, std::size_t i, Rng& rng) const {
    const History& pairs = *context_.past.pairs;
    const Timestamp start = batch.whole_time().front();
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
      if (pairs.occurs_within(pair, start, batch.whole_time().back())) continue;
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

  bool by_last() const { return options_.time == AgeBy::kLast; }

  EnsOptions options_;
  MinerContext context_;
  RandomDestinations destinations_;
  double difficulty_ = 0;
};

}  // namespace

MinerEntry ens_miner() {
  return {{.name = "ens",
           .summary = "more, and more recent, former partners each epoch (Gao et al. 2024)",
           .defaults = EnsOptions{}},
          [](const Options& options, const MinerContext& context) {
            return std::make_shared<EnsMiner>(options.as<EnsOptions>(), context);
          }};
}

}  // namespace curnm
