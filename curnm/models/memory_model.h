#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "curnm/models/model.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/node_memory.h"
#include "curnm/nn/tensors.h"

namespace curnm {

/// What models with a node memory share. The state of a node is its memory, with pending mail where
/// that is visible, plus a linear map of its features where it has any.
class MemoryModel : public Model {
 public:
  void observe(const EventBatch& batch) override { memory_->observe(batch); }
  void forget() override { memory_->forget(); }
  std::vector<torch::Tensor> state() const override { return memory_->state(); }
  void set_state(const std::vector<torch::Tensor>& state) override { memory_->set_state(state); }

 protected:
  MemoryModel(const ModelOptions& options, const ModelContext& context, MemoryUpdater updater)
      : options_(options), context_(context) {
    memory_ = register_module("memory",
                              std::make_shared<NodeMemory>(MemoryOptions{
                                  .num_nodes = context.num_nodes,
                                  .width = options.width,
                                  .time_width = options.time_width,
                                  .updater = updater,
                                  .ties = options.ties == "strict" ? Ties::kStrict : Ties::kStream,
                                  .learned_time = options.time_encoding == "learned",
                                  .time_scale = training_span(),
                                  .origin = context.first_time,
                                  .edge_features = context.edge_features,
                                  .path = context.path}));
    if (context.node_features.defined()) {
      features_ = register_module("features",
                                  torch::nn::Linear(context.node_features.size(1), options.width));
    }
  }

  double training_span() const { return std::max(context_.last_time - context_.first_time, 1.0); }

  /// The states of the rows. [U,D]
  torch::Tensor states(const StateRows& rows) {
    const torch::Tensor remembered = memory_->read(rows);
    if (features_.is_empty()) return remembered;
    std::vector<std::int64_t> nodes;
    for (std::int64_t row = 0; row < rows.size(); ++row) nodes.push_back(rows.node(row));
    const torch::Tensor features =
        context_.node_features.index_select(0, to_tensor(nodes, context_.device));
    return remembered + linear(features, features_, context_.path);
  }

  const NodeMemory& memory() const { return *memory_; }
  const ModelOptions& options() const { return options_; }
  const ModelContext& context() const { return context_; }

 private:
  ModelOptions options_;
  ModelContext context_;
  std::shared_ptr<NodeMemory> memory_;
  torch::nn::Linear features_{nullptr};
};

}  // namespace curnm
