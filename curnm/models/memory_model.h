#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "curnm/models/fields.h"
#include "curnm/models/model.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/kept_rows.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/node_memory.h"
#include "curnm/nn/tensors.h"

namespace curnm {

/// What models with a node memory share. The state of a node is its memory, with pending mail
/// applied if visible, plus a linear map of its features if there are any.
class MemoryModel : public Model {
 public:
  std::int64_t width() const override { return width_; }
  void observe(const EventBatch& batch) override { memory_->observe(batch); }
  void forget() override { memory_->forget(); }
  std::vector<Tensor> state() const override { return memory_->state(); }
  void set_state(const std::vector<Tensor>& state) override { memory_->set_state(state); }
  std::vector<Tensor> state_before(const EventBatch& batch) const override {
    return memory_->state_before(batch);
  }
  void undo(const std::vector<Tensor>& before) override { memory_->undo(before); }
  void drop_events(EventId count) override { memory_->drop_events(count); }
  void reuse_states() override {
    if (!memory_->rows_are_independent()) return;
    kept_ = std::make_unique<Kept>(num_states());
  }

 protected:
  struct MemorySettings {
    MemoryUpdater updater;
    std::int64_t width;
    std::int64_t time_width;
    Ties ties;
    TimeEncoding time_encoding;
  };
  MemoryModel(const MemorySettings& settings, const ModelContext& context)
      : width_(settings.width), context_(context) {
    memory_ = register_module("memory",
                              std::make_shared<NodeMemory>(MemoryOptions{
                                  .num_nodes = context.num_nodes,
                                  .width = settings.width,
                                  .time_width = settings.time_width,
                                  .updater = settings.updater,
                                  .ties = settings.ties,
                                  .learned_time = settings.time_encoding == TimeEncoding::kLearned,
                                  .time_scale = training_span(),
                                  .origin = context.first_time,
                                  .edge_features = context.edge_features,
                                  .path = context.path}));
    if (context.node_features.defined()) {
      features_ = register_module(
          "features", std::make_shared<Linear>(context.node_features.size(1), settings.width));
    }
  }

  double training_span() const { return std::max(context_.last_time - context_.first_time, 1.0); }

  /// The states of the rows. [U,D]
  Tensor states(const StateRows& rows) const {
    const Tensor remembered = memory_->read(rows);
    if (!features_) return remembered;
    std::vector<std::int64_t> nodes;
    for (std::int64_t row = 0; row < rows.size(); ++row) nodes.push_back(rows.node(row));
    const Tensor features =
        context_.node_features.index_select(0, to_tensor(nodes, context_.device));
    return remembered + linear(features, *features_, context_.path);
  }

  // What is kept of states, if anything is. Several threads may embed at once: one at a time may
  // look for rows and add to them.
  bool reuses_states() const { return kept_ != nullptr && !is_training(); }
  std::unique_lock<std::mutex> lock_kept() const { return std::unique_lock(kept_->mutex); }
  /// Keys of states are below this.
  std::int64_t num_states() const { return 2 * std::int64_t{context_.num_nodes}; }

  /// What `compute` makes of the states `wanted`, rows of `rows`, each once: of those that `kept`
  /// does not have as they are now. Result: rows of `wanted`. REQUIRES: lock_kept.
  using Compute = std::function<std::vector<Tensor>(const StateRows& changed)>;
  KeptRows::Found reuse(KeptRows& kept, const StateRows& rows, std::span<const std::int64_t> wanted,
                        const Compute& compute) const {
    std::vector<std::int64_t> keys;
    std::vector<std::int64_t> versions;
    for (const std::int64_t row : wanted) {
      keys.push_back(rows.key(row));
      versions.push_back(memory_->version(rows.node(row)));
    }
    return kept.find(keys, versions, [&](std::span<const std::int64_t> missing) {
      StateRows changed(context_.num_nodes);
      for (const std::int64_t i : missing) {
        const std::int64_t row = wanted[index(i)];
        changed.row(rows.node(row), rows.with_mail(row));
      }
      return compute(changed);
    });
  }
  /// `states`, of those that are kept. REQUIRES: lock_kept.
  Tensor kept_states(const StateRows& rows) const {
    std::vector<std::int64_t> all(index(rows.size()));
    std::iota(all.begin(), all.end(), 0);
    const KeptRows::Found found =
        reuse(kept_->states, rows, all,
              [&](const StateRows& changed) -> std::vector<Tensor> { return {states(changed)}; });
    return select_rows(found.tables.front(), to_tensor(found.rows, context_.device), context_.path);
  }

  const NodeMemory& memory() const { return *memory_; }
  const ModelContext& context() const { return context_; }

 private:
  struct Kept {
    explicit Kept(std::int64_t num_states) : states(num_states) {}
    std::mutex mutex;
    KeptRows states;
  };

  std::int64_t width_;
  ModelContext context_;
  std::shared_ptr<NodeMemory> memory_;
  std::shared_ptr<Linear> features_;
  std::unique_ptr<Kept> kept_;
};

}  // namespace curnm
