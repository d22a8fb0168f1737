#include "curnm/miners/registry.h"

#include "curnm/miners/miner.h"
#include "curnm/nn/tensors.h"

namespace curnm {

// One line per miner; each is defined in the file of its name.
MinerEntry random_miner();
MinerEntry recent_miner();
MinerEntry ens_miner();
MinerEntry taser_miner();
MinerEntry mixture_miner();
MinerEntry curnm_miner();

Registry<MinerEntry>& miners() {
  static Registry<MinerEntry> registry("miner", {
                                                    random_miner(),
                                                    recent_miner(),
                                                    ens_miner(),
                                                    taser_miner(),
                                                    mixture_miner(),
                                                    curnm_miner(),
                                                });
  return registry;
}

std::shared_ptr<NegativeMiner> make_miner(std::string_view name, const Options& options,
                                          const MinerContext& context) {
  const MinerEntry& entry = miners().at(name);
  Options completed = options;
  completed.check();
  completed.complete({.epochs = context.epochs});
  if (context.destinations.size() < 2) {
    fail("no negative exists: the training events have {} destination(s)",
         context.destinations.size());
  }
  std::shared_ptr<NegativeMiner> miner = entry.make(completed, context);
  initialise(*miner, Rng(context.seed, Stream::kInitialisation, /*epoch=*/2));
  miner->to(context.device);
  return miner;
}

}  // namespace curnm
