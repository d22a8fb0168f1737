#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/models/registry.h"
#include "curnm/nn/module.h"
#include "curnm/nn/path.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/neighbor_sampler.h"
#include "curnm/sampling/past.h"
#include "curnm/sampling/typical_links.h"

namespace curnm {

/// What a model knows about the network besides its events.
struct ModelContext {
  NodeId num_nodes = 0;
  Tensor edge_features;      // [E,F]; undefined where there are none
  Tensor node_features;      // [N,F]; undefined where there are none
  Timestamp first_time = 0;  // of the training period
  Timestamp last_time = 0;
  std::uint64_t seed = 0;
  Device device = at::kCPU;
  Path path = Path::kFast;
};

/// What a model looked up for some roots before embedding them. Its contents are private to the
/// model.
struct Sample {
  virtual ~Sample() = default;
};

/// A temporal graph network: computes embeddings of nodes at a time.
///
/// An embedding at time t depends on events strictly before t (neighbours), and on the events that
/// `observe` has been given (memory). One file per model, one line in registry.cpp.
///
/// Const methods may be called from several threads at once while nothing is observed or set.
class Model : public Module {
 public:
  /// D of the embeddings.
  virtual std::int64_t width() const = 0;

  /// Sets where the past of nodes is looked up.
  void use(const Past& past) { past_ = past; }

  /// Fits the scales of inputs to typical links of a training: before its first step, after `use`.
  virtual void fit(const TypicalLinks&) {}

  /// The neighbours that embeddings of the roots are computed from; the key decides random choices.
  /// `now` is the time of the batch's first event: anything shared within a batch uses only earlier
  /// events. Does not depend on what has been observed. Null for models without neighbours.
  virtual std::unique_ptr<Sample> sample(const Roots&, Timestamp /*now*/, const Rng&) const {
    return nullptr;
  }
  /// Embeddings of the roots, [R,D], from their sample. The key decides dropout.
  virtual Tensor embed(const Roots& roots, const Sample* sample, const Rng& key) const = 0;

  /// Shows the model the positives of a batch, after they have been scored and learned from.
  virtual void observe(const EventBatch&) {}
  /// Resets the model to the state before any event.
  virtual void forget() {}
  /// What `observe` changes; empty for models without memory.
  virtual std::vector<Tensor> state() const { return {}; }
  virtual void set_state(const std::vector<Tensor>&) {}
  /// What observing the batch would change, for `undo`: so that the newest events can be shown for
  /// a question and taken back. The whole state unless a model knows better.
  virtual std::vector<Tensor> state_before(const EventBatch&) const { return state(); }
  virtual void undo(const std::vector<Tensor>& before) { set_state(before); }

 protected:
  const Past& past() const { return past_; }

 private:
  Past past_;
};

/// Builds a model by name, with parameters that depend on (options, seed) alone. Throws UsageError
/// for unknown names and impossible options.
std::shared_ptr<Model> make_model(std::string_view name, const Options& options,
                                  const ModelContext& context);

}  // namespace curnm
