#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/decoders/decoder.h"
#include "curnm/evaluation/goal.h"
#include "curnm/miners/fields.h"
#include "curnm/miners/registry.h"
#include "curnm/nn/module.h"
#include "curnm/sampling/batch_parts.h"
#include "curnm/sampling/links.h"
#include "curnm/sampling/past.h"

namespace curnm {

/// The links of a step with the embeddings of their roots.
struct Embedded {
  const Links& links;
  Tensor z;  // [R,D]
  Path path = Path::kFast;
  const BatchParts& parts = whole_batch();  // for what has to be known of the whole batch
};

/// The result of mining a batch. Of a part of a batch that ranks share: the loss and its terms are
/// this part's shares of them, which add up to those of the whole batch; measures are of the whole
/// batch; logits are those of this part.
struct Mined {
  Tensor loss;                             // scalar, to be minimised
  std::map<std::string, double> losses;    // its terms, for the record
  std::map<std::string, double> measures;  // further values to average in the record of an epoch
  Tensor positive_logits;                  // [B], without gradient
  Tensor candidate_logits;                 // [B·M], without gradient
  /// AUC of the positives against random negatives, if the miner computes it.
  std::optional<double> training_auc;
};

/// What miners know about the training. REQUIRES: everything it points to outlives the miner.
struct MinerContext {
  const EventLog* events = nullptr;  // the training events
  Past past;                         // `pairs` decides what is a positive, `partners` is H_{u,t}
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
  /// The outputs that its negatives teach.
  virtual Outputs outputs() const { return Outputs::kSingle; }

  /// Epochs count from 0. Also called when a training is resumed within an epoch.
  virtual void begin_epoch(std::int64_t /*epoch*/) {}

  /// Candidates of a batch, before anything is embedded. None is an event of its source at its
  /// time, unless every destination is. Draws for event e come from key.split(e), so that they do
  /// not depend on the batch. Of a part of a batch: those that belong to its positives.
  virtual Candidates propose(const EventBatch& batch, const Rng& key) = 0;

  /// Selection and loss. The default takes all candidates: mean BCE of the positives plus that of
  /// the candidates. What depends on the whole batch (means, ranks, ...) has to ask
  /// `embedded.parts`: then ranks that share a batch learn what one rank would.
  virtual Mined mine(const EventBatch& batch, const Candidates& candidates,
                     const Embedded& embedded, const Decoder& decoder);

  /// After the step.
  virtual void observe(const EventBatch&, const Candidates&, const Mined&) {}
  /// After the validation of an epoch. Returns what the miner concludes from it, for the record of
  /// that epoch.
  virtual std::map<std::string, double> end_epoch(const Validation&) { return {}; }

  // For trainings on several ranks, each of which learns from its own events of an epoch. Before
  // `telemetry` and `end_epoch` all ranks get the sums of their counters and what each of them
  // remembers about its events, so that they conclude the same.
  /// Counts of this epoch.
  virtual std::vector<double> counters() const { return {}; }
  virtual void set_counters(const std::vector<double>&) {}
  /// What is remembered about the training events begin .. end-1, one row of each tensor per event.
  virtual std::vector<Tensor> memory_of(std::int64_t /*begin*/, std::int64_t /*end*/) const {
    return {};
  }
  virtual void set_memory_of(std::int64_t /*begin*/, const std::vector<Tensor>&) {}

  /// Values for the record of an epoch; called before `end_epoch`.
  virtual std::map<std::string, double> telemetry() const { return {}; }
  /// Remarks for the user about this miner on this network; passed to the observer's on_note.
  virtual std::vector<std::string> notes() const { return {}; }

  /// State that a checkpoint must hold besides parameters.
  virtual std::vector<Tensor> state() const { return {}; }
  virtual void set_state(const std::vector<Tensor>&) {}
};

/// Throws UsageError for unknown names and impossible options, Error if no negative can exist.
std::shared_ptr<NegativeMiner> make_miner(std::string_view name, const Options& options,
                                          const MinerContext& context);

}  // namespace curnm
