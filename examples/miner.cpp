// A miner of your own: negatives drawn from the pairs that met before, by their number of partners.
#include "curnm/miners/miner.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "curnm/data/synthetic.h"
#include "curnm/training/session.h"

using namespace curnm;

struct PopularOptions {
  std::int64_t negatives = 2;
  void fields(const FieldVisitor& visit) {
    visit({.name = "negatives", .help = "per positive", .min = 1, .max = 100}, negatives);
  }
};

class Popular final : public NegativeMiner {
 public:
  Popular(const PopularOptions& options, const MinerContext& context)
      : options_(options), context_(context) {}

  // Draws for event e come from key.split(e), so that they do not depend on the batch.
  Candidates propose(const EventBatch& batch, const Rng& key) override {
    Candidates found{.width = options_.negatives};
    for (std::size_t i = 0; i < batch.src.size(); ++i) {
      Rng rng = key.split(static_cast<std::uint64_t>(batch.events[i]));
      const auto before =
          static_cast<std::uint64_t>(context_.past.pairs->pairs_before(batch.time[i]));
      for (std::int64_t j = 0; j < options_.negatives; ++j) {
        NodeId node = context_.destinations[rng.below(context_.destinations.size())];
        const NodeId popular =
            before == 0 ? node : context_.past.pairs->dst(static_cast<PairId>(rng.below(before)));
        if (!context_.past.pairs->occurs_at(batch.src[i], popular, batch.time[i])) node = popular;
        found.nodes.push_back(node);
      }
    }
    return found;
  }

 private:
  PopularOptions options_;
  MinerContext context_;
};

int main() {
  miners().add({{"popular", "destinations by how many have chosen them", PopularOptions{}},
                [](const Options& options, const MinerContext& context) {
                  return std::make_shared<Popular>(options.as<PopularOptions>(), context);
                }});
  TrainingSession session(
      resolve_run({{"miner", "popular"}, {"epochs", "5"}, {"learning-rate", "1e-3"}}),
      generate({.nodes = 200, .events = 4000}, "example"));
  TrainObserver quiet;
  session.train(quiet);
  std::printf("trans AP %.3f\n", session.test()["test"]["trans"]["ap"].get<double>());
}
