#pragma once

#include <memory>

#include "curnm/decoders/decoder.h"
#include "curnm/miners/miner.h"
#include "curnm/models/model.h"
#include "curnm/nn/optimizer.h"
#include "curnm/training/run_spec.h"

namespace curnm {

/// Everything that learns together.
struct Learner {
  std::shared_ptr<Model> model;
  std::shared_ptr<Decoder> decoder;
  std::shared_ptr<NegativeMiner> miner;
  std::unique_ptr<Optimizer> optimizer;

  /// Where the past is looked up from now on.
  void use(const Past& past) {
    model->use(past);
    decoder->use(past);
  }
};

/// The device of that name. Throws OptionError where there is none.
Device find_device(const std::string& name);

/// The learner that a run asks for, ready for its first step. REQUIRES: a completed spec; the task
/// outlives the learner. Throws UsageError for options that are impossible on this network.
Learner make_learner(const RunSpec& spec, const LinkTask& task);

}  // namespace curnm
