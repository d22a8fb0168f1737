#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/graph/temporal_graph.h"
#include "curnm/miners/embedded.h"
#include "curnm/miners/options.h"
#include "curnm/nn/edge_decoder.h"
#include "curnm/sampling/history.h"

namespace curnm {

/// What a batch taught.
struct Mined {
  torch::Tensor loss;                      // scalar, to be minimised
  double decay = 0;                        // mu: the optimiser adds the gradient of mu |Theta|^2
  std::map<std::string, double> losses;    // its parts, for the record
  std::map<std::string, double> measures;  // what else the record of an epoch should average
  torch::Tensor positive_logits;           // [B], without gradient
  torch::Tensor candidate_logits;          // [B·M], without gradient
};

/// What miners know of the training. REQUIRES: what it points to outlives the miner.
struct MinerContext {
  const EventLog* events = nullptr;       // the training events
  const TemporalGraph* graph = nullptr;   // of them
  const History* pairs = nullptr;         // directed, of them: what is a positive
  const History* partners = nullptr;      // mutual, of them: H_{u,t}
  std::vector<NodeId> destinations;       // to draw random negatives from
  std::int64_t epochs = 1;                // E_0
  std::int64_t width = 0;                 // D of the embeddings
  std::vector<torch::Tensor> parameters;  // of model and decoder, Theta
  std::uint64_t seed = 0;
  torch::Device device = torch::kCPU;
  Path path = Path::kFast;
};

/// Chooses the negatives that a model learns from. One file per miner, one line in registry.cpp; no
/// miner knows a model, no model knows a miner.
class NegativeMiner : public torch::nn::Module {
 public:
  /// Epochs count from 0. Also called when a training is resumed within one.
  virtual void begin_epoch(std::int64_t /*epoch*/) {}

  /// Candidates of a batch, before anything is embedded. Never an event of its source at its time,
  /// unless every destination is one.
  virtual Candidates propose(const EventBatch& batch, const Rng& key) = 0;

  /// Selection and loss. The default takes all candidates: mean BCE of the positives plus that of
  /// the candidates.
  virtual Mined mine(const EventBatch& batch, const Candidates& candidates, const Embedded& z,
                     const EdgeDecoder& decoder);

  /// After the step.
  virtual void observe(const EventBatch&, const Candidates&, const Mined&) {}
  /// After the validation of an epoch.
  virtual void end_epoch(double /*validation_metric*/) {}

  /// What the record of an epoch should know, asked before `end_epoch`.
  virtual std::map<std::string, double> telemetry() const { return {}; }
  /// What a person should know about this miner on this network; for `note` of the observer.
  virtual std::vector<std::string> notes() const { return {}; }

  /// What a checkpoint must carry besides parameters.
  virtual std::vector<torch::Tensor> state() const { return {}; }
  virtual void set_state(const std::vector<torch::Tensor>&) {}
};

struct MinerEntry {
  std::string_view name;
  std::string_view summary;
  std::shared_ptr<NegativeMiner> (*make)(const MinerOptions& options, const MinerContext& context);
  OptionNames (*options)();  // those that it makes use of
};
std::span<const MinerEntry> miners();

/// The options with what was left open filled in. Throws UsageError for unknown names and
/// impossible options.
MinerOptions resolved(std::string_view name, MinerOptions options, std::int64_t epochs);

/// Throws as `resolved`, and Error where no negative can exist.
std::shared_ptr<NegativeMiner> make_miner(std::string_view name, const MinerOptions& options,
                                          const MinerContext& context);

}  // namespace curnm
