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
  std::uint64_t seed = 0;        // of the initial parameters
  std::uint64_t input_seed = 0;  // of random inputs, which the parameters belong to
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

  /// From now on, what has been computed from the state of a node is kept, and used again while
  /// that state stays the same: the same bits in less time, for some memory. For models in
  /// evaluation mode whose weights do not change; embeddings then have no gradients. Nothing where
  /// a model has no such thing, or where a row of its results depends on other rows.
  virtual void reuse_states() {}

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
  /// The first `count` events of the log are gone, and the others have numbers from 0 on: a model
  /// whose state refers to events must let go of those. No embedding changes. REQUIRES: they have
  /// been observed, and are earlier than anything that will be asked or observed.
  virtual void drop_events(EventId /*count*/) {}

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
