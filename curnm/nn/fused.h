#pragma once

#include <vector>

#include "curnm/nn/path.h"
#include "curnm/nn/tensor.h"
#include "curnm/sampling/batch_parts.h"

// Operations of the fast path: autograd functions around the kernels. CPU, float32; inputs that are
// not contiguous are copied. Each equals a few tensor operations, which the plain path uses and
// tests compare with.

namespace curnm {

/// table[rows], [n,D]: index_select with a parallel backward pass. `rows` is int64.
Tensor gather_rows(const Tensor& table, const Tensor& rows);

/// table[rows]·(1 + factor·weight^T), [n,D]; factors [n], weight [D].
Tensor gather_scaled(const Tensor& table, const Tensor& rows, const Tensor& factor,
                     const Tensor& weight);

/// gather_rows by either path.
Tensor select_rows(const Tensor& table, const Tensor& rows, Path path);

/// w·ReLU(sources[source_of] + destinations[destination_of]) + bias, [n].
Tensor link_logits(const Tensor& sources, const Tensor& source_of, const Tensor& destinations,
                   const Tensor& destination_of, const Tensor& weight, const Tensor& bias);

/// Two logits per link whose destination is split in two: one of `parts` [n,D], one of what is left
/// of the whole, wholes[whole_of] - part + rest_bias.
struct PartLogits {
  Tensor parts;  // [n]
  Tensor rests;  // [n]
};
PartLogits split_logits(const Tensor& sources, const Tensor& source_of, const Tensor& wholes,
                        const Tensor& whole_of, const Tensor& parts, const Tensor& weight,
                        const Tensor& bias, const Tensor& rest_bias);

/// (x - mean) / std + 1 over the whole tensor; ones where all of x is the same. Where ranks share a
/// batch, mean and deviation are those of all its parts, and gradients flow to all of them.
/// REQUIRES: the parts outlive the backward pass.
Tensor standardise(const Tensor& x, const BatchParts& parts = whole_batch());

/// Angles t·frequency + phase: the first column unchanged, the others as sines. Doubles [n], [w],
/// [w] -> floats [n,w]. t has no gradient.
Tensor sines(const Tensor& t, const Tensor& frequency, const Tensor& phase);

/// Layer norm with scale and shift, [n,D]. LibTorch's sums their gradients in as many parts as
/// there are threads, so its result depends on them.
Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& shift, Path path);

/// The sum and the mean of all values, scalars. LibTorch sums many values in as many parts as there
/// are threads; here the parts are fixed.
Tensor total(const Tensor& x, Path path);
Tensor mean(const Tensor& x, Path path);
/// This tensor's share of a mean over `count` values, of which it may have some or none.
Tensor share_of_mean(const Tensor& x, double count, Path path);

/// LibTorch's functions, with results that do not depend on the number of threads: it has another
/// formula for the last few values of each thread's part.
Tensor sigmoid_of(const Tensor& x);
Tensor softplus_of(const Tensor& x);

/// `matrix` with the first `rows` rows of `part` added to its upper left corner.
Tensor add_corner(const Tensor& matrix, const Tensor& part, std::int64_t rows);

/// A GRU cell of a state h [n,D] that needs no gradient, from its linear maps: `in` [n,3D] holds
/// the sums for its two gates and the input's part of the new content, `hidden` [n,D] the state's
/// part of it. [n,D]
Tensor gru_cell(const Tensor& in, const Tensor& hidden, const Tensor& h);

/// h·sigmoid(context[owner] + own)·scale, [n,D]; an undefined scale is 1. `gate`, where given,
/// receives the sigmoid, without gradient.
Tensor gated(const Tensor& context, const Tensor& owner, const Tensor& own, const Tensor& h,
             const Tensor& scale, Tensor* gate = nullptr);

}  // namespace curnm
