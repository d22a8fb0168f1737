#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/decoders/decoder.h"
#include "curnm/miners/registry.h"
#include "curnm/nn/module.h"
#include "curnm/sampling/links.h"
#include "curnm/sampling/past.h"

namespace curnm {

/// The links of a step with the embeddings of their roots.
struct Embedded {
  const Links& links;
  Tensor z;  // [R,D]
  Path path = Path::kFast;
};

/// What a batch taught.
struct Mined {
  Tensor loss;                             // scalar, to be minimised
  std::map<std::string, double> losses;    // its parts, for the record
  std::map<std::string, double> measures;  // what else the record of an epoch should average
  Tensor positive_logits;                  // [B], without gradient
  Tensor candidate_logits;                 // [B·M], without gradient
  /// AUC of the positives against random negatives, where a miner follows it.
  std::optional<double> training_auc;
};

/// What miners know of the training. REQUIRES: what it points to outlives the miner.
struct MinerContext {
  const EventLog* events = nullptr;  // the training events
  Past past;                         // of them: pairs decide what is a positive, partners H_{u,t}
  std::vector<NodeId> destinations;  // to draw random negatives from
  std::int64_t epochs = 1;           // E_0
  std::int64_t width = 0;            // D of the embeddings
  std::uint64_t seed = 0;
  Device device = at::kCPU;
  Path path = Path::kFast;
};

/// Chooses the negatives that a model learns from. One file per miner, one line in registry.cpp; no
/// miner knows a model, no model knows a miner.
class NegativeMiner : public Module {
 public:
  /// Epochs count from 0. Also called when a training is resumed within one.
  virtual void begin_epoch(std::int64_t /*epoch*/) {}

  /// Candidates of a batch, before anything is embedded. Never an event of its source at its time,
  /// unless every destination is one. Draws about event e come from key.split(e), so that they do
  /// not depend on the batch.
  virtual Candidates propose(const EventBatch& batch, const Rng& key) = 0;

  /// Selection and loss. The default takes all candidates: mean BCE of the positives plus that of
  /// the candidates.
  virtual Mined mine(const EventBatch& batch, const Candidates& candidates,
                     const Embedded& embedded, const Decoder& decoder);

  /// After the step.
  virtual void observe(const EventBatch&, const Candidates&, const Mined&) {}
  /// After the validation of an epoch.
  virtual void end_epoch(double /*validation_metric*/) {}

  /// What the record of an epoch should know, asked before `end_epoch`.
  virtual std::map<std::string, double> telemetry() const { return {}; }
  /// What a person should know about this miner on this network; for `note` of the observer.
  virtual std::vector<std::string> notes() const { return {}; }

  /// What a checkpoint must carry besides parameters.
  virtual std::vector<Tensor> state() const { return {}; }
  virtual void set_state(const std::vector<Tensor>&) {}
};

/// Throws UsageError for unknown names and impossible options, Error where no negative can exist.
std::shared_ptr<NegativeMiner> make_miner(std::string_view name, const Options& options,
                                          const MinerContext& context);

}  // namespace curnm
