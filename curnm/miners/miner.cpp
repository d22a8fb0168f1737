#include "curnm/miners/miner.h"

#include "curnm/miners/losses.h"

namespace curnm {

Mined NegativeMiner::mine(const EventBatch&, const Candidates&, const Embedded& embedded,
                          const Decoder& decoder) {
  return learn_from_all(embedded, decoder);
}

}  // namespace curnm
