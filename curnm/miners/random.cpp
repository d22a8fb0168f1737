#include "curnm/miners/miners.h"
#include "curnm/sampling/random_destinations.h"

namespace curnm {
namespace {

/// Destinations drawn uniformly from those of the training events that are no partners of the
/// source at that time.
class RandomMiner final : public NegativeMiner {
 public:
  RandomMiner(const MinerOptions& options, const MinerContext& context)
      : width_(options.plain.negatives), destinations_(context.pairs, context.destinations) {}

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    Candidates candidates{.width = width_};
    const auto width = static_cast<std::size_t>(width_);
    candidates.nodes.resize(batch.src.size() * width);
    DrawScratch scratch;
    for (std::size_t i = 0; i < batch.src.size(); ++i) {
      Rng rng = key.split(i);
      destinations_.draw(batch.src[i], batch.time[i],
                         std::span(candidates.nodes).subspan(i * width, width), rng, scratch);
    }
    return candidates;
  }

 private:
  std::int64_t width_;
  RandomDestinations destinations_;
};

}  // namespace

std::shared_ptr<NegativeMiner> make_random(const MinerOptions& options,
                                           const MinerContext& context) {
  return std::make_shared<RandomMiner>(options, context);
}

}  // namespace curnm
