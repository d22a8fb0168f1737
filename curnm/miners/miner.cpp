#include "curnm/miners/miner.h"

#include "curnm/miners/losses.h"

namespace curnm {

Mined NegativeMiner::mine(const EventBatch&, const Candidates& candidates, const Embedded& z,
                          const EdgeDecoder& decoder) {
  return learn_from_all(candidates, z, decoder);
}

}  // namespace curnm
