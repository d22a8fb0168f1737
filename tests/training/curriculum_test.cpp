#include <gtest/gtest.h>

#include "curnm/curriculum/pool.h"
#include "curnm/data/synthetic.h"
#include "curnm/nn/tensors.h"
#include "curnm/training/facts.h"
#include "curnm/training/trainer.h"

// Curriculum mining on networks whose truth is known.

namespace curnm {
namespace {

// Destinations of the community that a source prefers at the time are the hard negatives:
// everything the model may know of the others says no. After some epochs the cache should hold
// mostly them.
TEST(CurriculumExperiment, TheCacheHoldsWhatIsTrulyHard) {
  const SyntheticOptions network{
      .nodes = 200, .events = 4000, .communities = 4, .drift = 2, .repeat = 0, .edge_features = 8};
  constexpr std::int64_t kPool = 8;
  RunSpec spec = resolve_run({{"model", "tgn"},
                              {"decoder", "additive"},
                              {"miner", "curnm"},
                              {"epochs", "12"},
                              {"batch", "50"},
                              {"learning-rate", "1e-3"},
                              {"width", "16"},
                              {"time-width", "8"},
                              {"neighbors", "4"},
                              {"pi-strategy", "constant"},  // caches from the start
                              {"gamma-hist", "0.5"}});
  const LinkTask task(generate(network, "communities"), spec.task);
  complete(spec, task, nobody());
  Trainer trainer(task, make_learner(spec, task), spec.train);
  trainer.run(nobody());

  const auto sources = static_cast<NodeId>(network.source_share * 200);
  const std::int64_t events = task.train().size();
  /// The share of candidates, [E,width], that belong to the community their source prefers.
  const auto share_of_hard = [&](std::span<const NodeId> nodes, std::int64_t width) {
    double hard = 0;
    double all = 0;
    for (EventId e = events / 2; e < events; ++e) {
      const std::int32_t wanted =
          preferred_community(network, task.train().log.src[e], task.train().log.time[e]);
      for (std::int64_t j = 0; j < width; ++j) {
        const NodeId node = nodes[static_cast<std::size_t>(e * width + j)];
        hard += (node - sources) % network.communities == wanted ? 1 : 0;
        all += 1;
      }
    }
    return hard / all;
  };
  std::vector<NodeId> cached(static_cast<std::size_t>(events * kPool / 2));
  copy_to(trainer.learner().miner->state()[2], std::span(cached));
  const NegativePool fresh(&task.train_partners(), &task.train_graph(), task.train_destinations(),
                           kPool, 0.5);
  const double in_cache = share_of_hard(cached, kPool / 2);
  const double in_pools = share_of_hard(
      fresh.build(task.train().batch(0, events), nullptr, Rng(0, Stream::kTest)).nodes, kPool);
  EXPECT_GT(in_cache, 1.3 * in_pools) << in_cache << " in the cache, " << in_pools << " in pools";
}

}  // namespace
}  // namespace curnm
