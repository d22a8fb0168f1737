#pragma once

#include <algorithm>
#include <span>

#include "curnm/base/column.h"
#include "curnm/base/error.h"
#include "curnm/base/feature_scale.h"
#include "curnm/base/rng.h"
#include "curnm/base/types.h"
#include "curnm/nn/module.h"

// Conversions between spans of the torch-free core and tensors.

namespace curnm {

/// A copy of the values as a tensor [n] of the same type, on the device.
Tensor to_tensor(std::span<const std::int64_t> values, Device device);
Tensor to_tensor(std::span<const std::int32_t> values, Device device);
Tensor to_tensor(std::span<const double> values, Device device);
Tensor to_tensor(std::span<const float> values, Device device);

/// Copies a saved tensor on the CPU into memory of the same type and size. Throws UnusableRun if it
/// has another one.
template <class T>
void copy_to(const Tensor& from, std::span<T> to) {
  check_saved(from.numel() == static_cast<std::int64_t>(to.size()) &&
                  from.scalar_type() == c10::CppTypeToScalarType<T>::value,
              "a saved tensor has another size or type");
  std::copy_n(from.contiguous().data_ptr<T>(), to.size(), to.begin());
}

/// Features as a tensor [rows, width]; an undefined tensor where there are none. On the CPU it
/// shares the matrix's memory. REQUIRES: the matrix outlives the tensor.
Tensor to_tensor(const FeatureMatrix& matrix, Device device);
/// The same on a scale: a copy, unless the scale changes nothing.
Tensor to_tensor(const FeatureMatrix& matrix, const FeatureScale& scale, Device device);

/// The mask of inverted dropout, 0 or 1/(1 - rate). Row r is a function of the key and `rows[r]`
/// alone, so that neither the batch nor its order matters, and a resumed run repeats it. Undefined
/// where `rate` is 0. REQUIRES: sizes[0] rows.
Tensor dropout_mask(at::IntArrayRef sizes, double rate, std::span<const std::uint64_t> rows,
                    const Rng& key);

/// Inverted dropout with that mask. The input itself where `rate` is 0.
Tensor keyed_dropout(const Tensor& x, double rate, std::span<const std::uint64_t> rows,
                     const Rng& key);

/// Uniform over [-bound, bound], a function of the key alone.
void keyed_uniform_(Tensor parameter, double bound, const Rng& key);

/// Gives every parameter of a module values that depend on (key, its name) alone: matrices uniform
/// with bound 1/sqrt(fan in), biases zero. Other vectors (the scales of norms, frequencies) stay.
void initialise(Module& module, const Rng& key);

}  // namespace curnm
