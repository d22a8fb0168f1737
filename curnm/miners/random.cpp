#include "curnm/graph/distinct_nodes.h"
#include "curnm/miners/fields.h"
#include "curnm/miners/miner.h"
#include "curnm/sampling/random_pairs.h"

namespace curnm {
namespace {

struct RandomOptions {
  std::int64_t negatives = 1;
  Corruption corrupt = Corruption::kDestination;

  void fields(const FieldVisitor& visit) {
    visit(kNegativesField, negatives);
    visit(kCorruptField, corrupt);
  }
};

/// Destinations drawn uniformly from those of the training events to which the source has no event
/// at that time; with --corrupt, also negatives with another source.
class RandomMiner final : public NegativeMiner {
 public:
  RandomMiner(const RandomOptions& options, const MinerContext& context)
      : width_(options.negatives),
        pairs_(context.past.pairs, context.destinations,
               distinct_nodes({context.events->src.begin(), context.events->src.end()}),
               options.corrupt) {}

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    ExtraPairs pairs = pairs_.draw(batch, batch.whole_size() * width_, key);
    if (!pairs_.keeps_sources()) return {.extra = std::move(pairs)};
    return {.width = width_, .nodes = std::move(pairs.dst)};
  }

 private:
  std::int64_t width_;
  RandomPairs pairs_;
};

}  // namespace

MinerEntry random_miner() {
  return {
      {.name = "random", .summary = "destinations drawn uniformly", .defaults = RandomOptions{}},
      [](const Options& options, const MinerContext& context) {
        return std::make_shared<RandomMiner>(options.as<RandomOptions>(), context);
      }};
}

}  // namespace curnm
