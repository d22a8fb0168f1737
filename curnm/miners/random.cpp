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
    const auto add = [&](NodeId v) { candidates.nodes.push_back(v); };
    for (std::size_t i = 0; i < batch.src.size(); ++i) {
      Rng rng = key.split(i);
      if (draw_absent(*context_.pairs, destinations, batch.src[i], batch.time[i], 1, rng, scratch,
                      add) == 0) {
        add(destinations[rng.below(destinations.size())]);
      }
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
