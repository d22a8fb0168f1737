#include "curnm/miners/miners.h"

namespace curnm {
namespace {

/// One destination per positive, uniform over the training destinations that are not partners of
/// the source at that time. Where all of them are, any destination.
class RandomMiner final : public NegativeMiner {
 public:
  explicit RandomMiner(const MinerContext& context) : context_(context) {}

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    Candidates candidates{.width = 1};
    const std::vector<NodeId>& destinations = context_.destinations;
    DrawScratch scratch;
    for (std::size_t i = 0; i < batch.src.size(); ++i) {
      Rng rng = key.split(i);
      NodeId chosen = destinations[rng.below(destinations.size())];
      draw_distinct(
          0, static_cast<std::int64_t>(destinations.size()), 1, rng, scratch,
          [&](std::int64_t d) {
            return !context_.pairs->occurs_at(
                batch.src[i], destinations[static_cast<std::size_t>(d)], batch.time[i]);
          },
          [&](std::int64_t d) { chosen = destinations[static_cast<std::size_t>(d)]; });
      candidates.nodes.push_back(chosen);
    }
    return candidates;
  }

 private:
  MinerContext context_;
};

}  // namespace

std::shared_ptr<NegativeMiner> make_random(const MinerContext& context) {
  return std::make_shared<RandomMiner>(context);
}

}  // namespace curnm
