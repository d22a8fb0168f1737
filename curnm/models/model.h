#pragma once

#include <torch/torch.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/base/rng.h"
#include "curnm/graph/temporal_graph.h"
#include "curnm/nn/path.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/neighbor_sampler.h"

namespace curnm {

inline constexpr std::array<std::string_view, 2> kTiesChoices = {"stream", "strict"};
inline constexpr std::array<std::string_view, 2> kTimeEncodings = {"fixed", "learned"};

/// What all models are made from; each uses what concerns it.
struct ModelOptions {
  std::int64_t width = 172;
  std::int64_t time_width = 100;
  std::int64_t neighbors = 10;
  std::int64_t heads = 2;
  double dropout = -1;
  std::string ties = "stream";
  std::string time_encoding = "fixed";
  std::int64_t snapshots = 3;
  double snapshot_length = 0;

  template <class Visitor>
  void fields(Visitor&& visit) {
    visit(Field{.name = "width",
                .help = "width of embeddings and memory",
                .min = 1,
                .max = 65536,
                .symbol = "D"},
          width);
    visit(Field{.name = "time-width", .help = "width of the time encoding", .min = 1, .max = 65536},
          time_width);
    visit(Field{.name = "neighbors",
                .help = "sampled neighbours",
                .min = 1,
                .max = 10000,
                .symbol = "K"},
          neighbors);
    visit(Field{.name = "heads", .help = "attention heads", .min = 1, .max = 1024, .symbol = "H"},
          heads);
    visit(Field{.name = "dropout",
                .help = "dropout rate (-1: 0.2 for tgn, 0.1 for jodie, 0.3 for dysat)",
                .min = -1,
                .max = 0.99},
          dropout);
    visit(Field{.name = "ties",
                .help = "memory at equal times: stream (as published) or strict (no leak inside a "
                        "snapshot)",
                .choices = kTiesChoices},
          ties);
    visit(Field{.name = "time-encoding",
                .help = "frequencies of the time encoding: fixed or learned",
                .choices = kTimeEncodings},
          time_encoding);
    visit(
        Field{.name = "snapshots", .help = "snapshots that dysat looks at", .min = 1, .max = 1000},
        snapshots);
    visit(
        Field{
            .name = "snapshot-length", .help = "length of a snapshot (0: from the data)", .min = 0},
        snapshot_length);
  }
};

/// What a model knows of the network besides its events.
struct ModelContext {
  NodeId num_nodes = 0;
  torch::Tensor edge_features;  // [E,F]; undefined where there are none
  torch::Tensor node_features;  // [N,F]; undefined where there are none
  Timestamp first_time = 0;     // of the training period
  Timestamp last_time = 0;
  double snapshot_length = 1;  // that suits the data
  std::uint64_t seed = 0;
  torch::Device device = torch::kCPU;
  Path path = Path::kFast;
};

/// A temporal graph network: gives nodes embeddings as of a time.
///
/// An embedding at time t depends on events strictly before t (neighbours), and on the events that
/// `observe` has been given (memory). One file per model, one line in registry.cpp.
class Model : public torch::nn::Module {
 public:
  /// Where neighbours are found from now on. REQUIRES: outlives its use here.
  void look_at(const TemporalGraph& graph) { graph_ = &graph; }

  /// The neighbours that embeddings of the roots are made of; those of the key where there is a
  /// choice. `now` is the time of the batch's first event: what a batch may share looks no further.
  /// Does not depend on what has been observed.
  virtual std::vector<Neighbors> sample(const Roots&, Timestamp /*now*/, const Rng&) const {
    return {};
  }
  /// Embeddings of the roots from a sample, [R,D]. The key decides dropout.
  virtual torch::Tensor embed_sampled(const Roots& roots, std::vector<Neighbors> sampled,
                                      const Rng& key) = 0;
  /// Both steps.
  torch::Tensor embed(const Roots& roots, Timestamp now, const Rng& key) {
    return embed_sampled(roots, sample(roots, now, key), key);
  }

  /// The positives of a batch, after they have been scored and learned from.
  virtual void observe(const EventBatch&) {}
  /// No event has been observed.
  virtual void forget() {}
  /// What `observe` changes; empty for models without memory.
  virtual std::vector<torch::Tensor> state() const { return {}; }
  virtual void set_state(const std::vector<torch::Tensor>&) {}

 protected:
  const TemporalGraph& graph() const { return *graph_; }

 private:
  const TemporalGraph* graph_ = nullptr;
};

struct ModelEntry {
  std::string_view name;
  std::string_view summary;
  double dropout;  // where the user says nothing
  std::shared_ptr<Model> (*make)(const ModelOptions& options, const ModelContext& context);
  std::span<const std::string_view> options;  // those that it makes use of
};
std::span<const ModelEntry> models();

/// The options with what was left open filled in. Throws UsageError for unknown names and
/// impossible options.
ModelOptions resolved(std::string_view name, ModelOptions options, const ModelContext& context);

/// Builds a model by name, with parameters that depend on (options, seed) alone. Throws as
/// `resolved`.
std::shared_ptr<Model> make_model(std::string_view name, const ModelOptions& options,
                                  const ModelContext& context);

}  // namespace curnm
