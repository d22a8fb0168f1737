#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/miners/embedded.h"
#include "curnm/nn/edge_decoder.h"
#include "curnm/sampling/history.h"

namespace curnm {

/// What a batch taught.
struct Mined {
  torch::Tensor loss;                   // scalar, to be minimised
  std::map<std::string, double> parts;  // for the record: named parts of the loss and the like
};

/// What miners know of the training events. REQUIRES: outlives the miner.
struct MinerContext {
  const History* pairs = nullptr;    // directed, of the training events: what is a positive
  std::vector<NodeId> destinations;  // to draw random negatives from
};

/// Chooses the negatives that a model learns from. One file per miner, one line in registry.cpp; no
/// miner knows a model.
class NegativeMiner : public torch::nn::Module {
 public:
  /// Candidates of a batch, before anything is embedded. Never an event of its source at its time.
  virtual Candidates propose(const EventBatch& batch, const Rng& key) = 0;

  /// Selection and loss. The default takes all candidates: mean BCE of the positives plus that of
  /// the candidates.
  virtual Mined mine(const EventBatch& batch, const Candidates& candidates, const Embedded& z,
                     EdgeDecoder& decoder);

  /// After the step.
  virtual void observe(const EventBatch&, const Mined&) {}
  /// After the validation of an epoch.
  virtual void end_epoch(double /*validation_metric*/) {}

  /// What a checkpoint must carry besides parameters.
  virtual std::vector<torch::Tensor> state() const { return {}; }
  virtual void set_state(const std::vector<torch::Tensor>&) {}
};

struct MinerEntry {
  std::string_view name;
  std::string_view summary;
  std::shared_ptr<NegativeMiner> (*make)(const MinerContext& context);
};
std::span<const MinerEntry> miners();

/// Throws UsageError for an unknown name, Error where no negative can exist.
std::shared_ptr<NegativeMiner> make_miner(std::string_view name, const MinerContext& context);

}  // namespace curnm
