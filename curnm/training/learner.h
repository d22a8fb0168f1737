#pragma once

#include <memory>

#include "curnm/decoders/decoder.h"
#include "curnm/miners/miner.h"
#include "curnm/models/model.h"
#include "curnm/nn/optimizer.h"
#include "curnm/training/run_spec.h"

namespace curnm {

/// Model, decoder, miner and optimiser, which are trained together.
struct Learner {
  std::shared_ptr<Model> model;
  std::shared_ptr<Decoder> decoder;
  std::shared_ptr<NegativeMiner> miner;
  std::unique_ptr<Optimizer> optimizer;

  /// Sets where the past is looked up.
  void use(const Past& past) {
    model->use(past);
    decoder->use(past);
  }
};

/// The device of that name. Throws OptionError if it does not exist.
Device find_device(const std::string& name);

/// The learner of a run, ready for its first step. REQUIRES: `complete` has been called on the
/// spec; the task outlives the learner. Throws UsageError for options that are impossible on this
/// network.
Learner make_learner(const RunSpec& spec, const LinkTask& task);

}  // namespace curnm
