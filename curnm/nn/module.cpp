#include "curnm/nn/module.h"

#include <algorithm>
#include <cmath>

#include "curnm/base/error.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// Initial values that depend on the shape alone; `initialise` replaces them.
Tensor uniform_matrix(std::int64_t rows, std::int64_t columns) {
  Tensor matrix = at::empty({rows, columns});
  keyed_uniform_(matrix, 1 / std::sqrt(static_cast<double>(columns)),
                 Rng(0, Stream::kInitialisation, static_cast<std::uint64_t>(rows),
                     static_cast<std::uint64_t>(columns)));
  return matrix;
}

}  // namespace

const Tensor& NamedTensors::operator[](std::string_view name) const {
  for (const Item& item : items_) {
    if (item.name == name) return item.tensor;
  }
  fail("there is no parameter named {}", name);
}

bool NamedTensors::contains(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const Item& item) { return item.name == name; });
}

NamedTensors Module::named_parameters() const {
  NamedTensors all;
  collect(&Module::parameters_, "", all);
  return all;
}

NamedTensors Module::named_weights() const {
  NamedTensors all;
  collect(&Module::parameters_, "", all);
  collect(&Module::fitted_, "", all);
  return all;
}

void Module::collect(NamedTensors Module::*list, const std::string& prefix,
                     NamedTensors& all) const {
  for (const NamedTensors::Item& item : this->*list) all.add(prefix + item.name, item.tensor);
  for (const auto& [name, child] : children_) child->collect(list, prefix + name + ".", all);
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  for (const NamedTensors::Item& item : named_parameters()) all.push_back(item.tensor);
  return all;
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& [name, child] : children_) child->train(on);
}

void Module::to(Device device) {
  for (const NamedTensors* tensors : {&parameters_, &buffers_, &fitted_}) {
    for (const NamedTensors::Item& item : *tensors) {
      if (item.tensor.device() != device) item.tensor.set_data(item.tensor.to(device));
    }
  }
  for (const auto& [name, child] : children_) child->to(device);
}

Tensor Module::register_parameter(std::string name, Tensor value) {
  if (value.defined()) {
    value.requires_grad_(true);
    parameters_.add(std::move(name), value);
  }
  return value;
}

Tensor Module::register_buffer(std::string name, Tensor value) {
  buffers_.add(std::move(name), value);
  return value;
}

Tensor Module::register_fitted(std::string name, Tensor value) {
  fitted_.add(std::move(name), value);
  return value;
}

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias)
    : weight(register_parameter("weight", uniform_matrix(out, in))),
      bias(with_bias ? register_parameter("bias", at::zeros({out})) : Tensor()) {}

RecurrentCell::RecurrentCell(Kind kind, std::int64_t in, std::int64_t width) : kind_(kind) {
  const std::int64_t rows = kind == Kind::kGru ? 3 * width : width;
  weight_ih = register_parameter("weight_ih", uniform_matrix(rows, in));
  weight_hh = register_parameter("weight_hh", uniform_matrix(rows, width));
  bias_ih = register_parameter("bias_ih", at::zeros({rows}));
  bias_hh = register_parameter("bias_hh", at::zeros({rows}));
}

Tensor RecurrentCell::operator()(const Tensor& x, const Tensor& h) const {
  return kind_ == Kind::kGru ? at::gru_cell(x, h, weight_ih, weight_hh, bias_ih, bias_hh)
                             : at::rnn_tanh_cell(x, h, weight_ih, weight_hh, bias_ih, bias_hh);
}

LayerNorm::LayerNorm(std::int64_t width)
    : weight(register_parameter("weight", at::ones({width}))),
      bias(register_parameter("bias", at::zeros({width}))) {}

FrozenScope::FrozenScope(const Module& module) {
  for (Tensor& parameter : module.parameters()) {
    if (!parameter.requires_grad()) continue;
    parameter.requires_grad_(false);
    frozen_.push_back(parameter);
  }
}

FrozenScope::~FrozenScope() {
  for (Tensor& parameter : frozen_) parameter.requires_grad_(true);
}

}  // namespace curnm
