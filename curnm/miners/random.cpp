#include "curnm/miners/miners.h"
#include "curnm/miners/random_pairs.h"

namespace curnm {
namespace {

/// Destinations drawn uniformly from those of the training events to which the source has no event
/// at that time; of another source, if asked to.
class RandomMiner final : public NegativeMiner {
 public:
  RandomMiner(const MinerOptions& options, const MinerContext& context)
      : width_(options.plain.negatives), pairs_(context, options.corruption.corrupt) {}

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    ExtraPairs pairs = pairs_.draw(batch, batch.size() * width_, key);
    if (!pairs_.keeps_sources()) return {.extra = std::move(pairs)};
    return {.width = width_, .nodes = std::move(pairs.dst)};
  }

 private:
  std::int64_t width_;
  RandomPairs pairs_;
};

}  // namespace

std::shared_ptr<NegativeMiner> make_random(const MinerOptions& options,
                                           const MinerContext& context) {
  return std::make_shared<RandomMiner>(options, context);
}

}  // namespace curnm
