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

namespace curnm {

/// What a model knows of the network besides its events.
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

/// What a model looked up for some roots before it embeds them. Only the model itself knows what is
/// in it.
struct Sample {
  virtual ~Sample() = default;
};

/// A temporal graph network: gives nodes embeddings as of a time.
///
/// An embedding at time t depends on events strictly before t (neighbours), and on the events that
/// `observe` has been given (memory). One file per model, one line in registry.cpp.
///
/// Questions may be asked from several threads at once while nothing is observed or set.
class Model : public Module {
 public:
  /// D of the embeddings.
  virtual std::int64_t width() const = 0;

  /// Where the past of nodes is found from now on.
  void use(const Past& past) { past_ = past; }

  /// The neighbours that embeddings of the roots are made of; those of the key where there is a
  /// choice. `now` is the time of the batch's first event: what a batch may share looks no further.
  /// Does not depend on what has been observed. Null for models without neighbours.
  virtual std::unique_ptr<Sample> sample(const Roots&, Timestamp /*now*/, const Rng&) const {
    return nullptr;
  }
  /// Embeddings of the roots, [R,D], from their sample. The key decides dropout.
  virtual Tensor embed(const Roots& roots, const Sample* sample, const Rng& key) const = 0;

  /// The positives of a batch, after they have been scored and learned from.
  virtual void observe(const EventBatch&) {}
  /// No event has been observed.
  virtual void forget() {}
  /// What `observe` changes; empty for models without memory.
  virtual std::vector<Tensor> state() const { return {}; }
  virtual void set_state(const std::vector<Tensor>&) {}

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
