#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "curnm/nn/tensor.h"

namespace curnm {

/// Tensors by name: parameters of a module, "attention.out.weight".
class NamedTensors {
 public:
  struct Item {
    std::string name;
    Tensor tensor;
    const std::string& key() const { return name; }
    const Tensor& value() const { return tensor; }
  };

  void add(std::string name, Tensor tensor) {
    items_.push_back({std::move(name), std::move(tensor)});
  }
  /// REQUIRES: the name exists.
  const Tensor& operator[](std::string_view name) const;
  bool contains(std::string_view name) const;
  std::size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<Item> items_;
};

/// A tree of named parameters: replaces torch::nn::Module, whose header adds 10 s of compile time
/// to every file. Models made of torch's own modules `adopt` them.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  NamedTensors named_parameters() const;
  /// Parameters, and what was fitted to the training events: all that a file must keep.
  NamedTensors named_weights() const;
  std::vector<Tensor> parameters() const;

  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  /// Moves parameters and buffers; references to them stay valid.
  void to(Device device);

 protected:
  Tensor register_parameter(std::string name, Tensor value);
  Tensor register_buffer(std::string name, Tensor value);
  /// A buffer that is fitted to the training events and belongs to the weights.
  Tensor register_fitted(std::string name, Tensor value);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    children_.emplace_back(std::move(name), module);
    return module;
  }
  /// The parameters of a torch::nn::Module become parameters of this one.
  template <class TorchModule>
  void adopt(const std::string& name, TorchModule& module) {
    for (auto& item : module.named_parameters()) {
      register_parameter(name + "." + item.key(), item.value());
    }
  }

 private:
  /// Adds the tensors of one of the lists below, of this module and its children.
  void collect(NamedTensors Module::*list, const std::string& prefix, NamedTensors& all) const;

  NamedTensors parameters_;
  NamedTensors buffers_;
  NamedTensors fitted_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  bool training_ = true;
};

/// x W^T + b.
class Linear final : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool with_bias = true);

  Tensor weight;  // [out,in]
  Tensor bias;    // [out]; undefined without

  /// [n,in] -> [n,out], by tensor operations.
  Tensor operator()(const Tensor& x) const { return at::linear(x, weight, bias); }
};

/// The maps of a recurrent cell for inputs and states: 3 of each for a GRU (gates r and z, then the
/// content), 1 for a plain recurrence.
class RecurrentCell final : public Module {
 public:
  enum class Kind { kGru, kTanh };
  RecurrentCell(Kind kind, std::int64_t in, std::int64_t width);

  Tensor weight_ih;  // [3D or D,in]
  Tensor weight_hh;  // [3D or D,D]
  Tensor bias_ih;    // [3D or D]
  Tensor bias_hh;    // [3D or D]

  /// [n,in], [n,D] -> [n,D], by tensor operations.
  Tensor operator()(const Tensor& x, const Tensor& h) const;

 private:
  Kind kind_;
};

/// Scale and shift of a layer norm.
class LayerNorm final : public Module {
 public:
  explicit LayerNorm(std::int64_t width);

  Tensor weight;  // [D]
  Tensor bias;    // [D]

  /// [n,D] -> [n,D], by tensor operations.
  Tensor operator()(const Tensor& x) const {
    return at::layer_norm(x, {weight.size(0)}, weight, bias);
  }
};

/// During its lifetime, computations give the parameters of the module no gradient.
class FrozenScope {
 public:
  explicit FrozenScope(const Module& module);
  ~FrozenScope();
  FrozenScope(const FrozenScope&) = delete;
  FrozenScope& operator=(const FrozenScope&) = delete;

 private:
  std::vector<Tensor> frozen_;
};

/// Evaluation mode without gradients during its lifetime.
class EvalScope {
 public:
  explicit EvalScope(Module& module) : module_(module), was_training_(module.is_training()) {
    module_.eval();
  }
  ~EvalScope() { module_.train(was_training_); }
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  Module& module_;
  bool was_training_;
  NoGradGuard no_grad_;
};

}  // namespace curnm
