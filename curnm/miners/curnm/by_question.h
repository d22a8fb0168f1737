#pragma once

#include "curnm/curriculum/options.h"
#include "curnm/miners/miner.h"

namespace curnm {

/// Curriculum negative mining with an output for each question: `--outputs questions`.
std::shared_ptr<NegativeMiner> make_question_curriculum(const CurnmOptions& options,
                                                        const MinerContext& context);

}  // namespace curnm
