#pragma once

#include <torch/torch.h>

#include <vector>

#include "curnm/nn/path.h"

// Operations of the fast path: autograd functions around the kernels. CPU, float32, contiguous.
// Each equals a handful of tensor operations, which the plain path spells out and tests compare
// with.

namespace curnm {

/// table[rows], [n,D]: index_select with a parallel way back. `rows` is int64.
torch::Tensor gather_rows(const torch::Tensor& table, const torch::Tensor& rows);

/// table[rows]·(1 + factor·weight^T), [n,D]; factors [n], weight [D].
torch::Tensor gather_scaled(const torch::Tensor& table, const torch::Tensor& rows,
                            const torch::Tensor& factor, const torch::Tensor& weight);

/// gather_rows by either path.
torch::Tensor select_rows(const torch::Tensor& table, const torch::Tensor& rows, Path path);

/// w·ReLU(sources[source_of] + destinations[destination_of]) + bias, [n].
torch::Tensor link_logits(const torch::Tensor& sources, const torch::Tensor& source_of,
                          const torch::Tensor& destinations, const torch::Tensor& destination_of,
                          const torch::Tensor& weight, const torch::Tensor& bias);

/// Two logits per link whose destination is split: of `parts` [n,D], and of the rest of its whole,
/// wholes[whole_of] - part + rest_bias.
struct SplitLogits {
  torch::Tensor parts;  // [n]
  torch::Tensor rests;  // [n]
};
SplitLogits split_logits(const torch::Tensor& sources, const torch::Tensor& source_of,
                         const torch::Tensor& wholes, const torch::Tensor& whole_of,
                         const torch::Tensor& parts, const torch::Tensor& weight,
                         const torch::Tensor& bias, const torch::Tensor& rest_bias);

/// (x - mean) / std + 1 over the whole tensor; ones where all of x is the same.
torch::Tensor standardise(const torch::Tensor& x);

/// Angles t·frequency + phase, the first as it is, of the others the sine: doubles [n], [w], [w] ->
/// [n,w]. t has no gradient.
torch::Tensor sines(const torch::Tensor& t, const torch::Tensor& frequency,
                    const torch::Tensor& phase);

/// Layer norm with scale and shift, [n,D]. LibTorch's adds up their gradients in as many parts as
/// there are threads.
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& scale,
                         const torch::Tensor& shift, Path path);

/// The sum of all values, a scalar. LibTorch's has as many parts as there are threads, where there
/// are many values.
torch::Tensor total(const torch::Tensor& x, Path path);
torch::Tensor mean(const torch::Tensor& x, Path path);

/// LibTorch's functions, whatever the number of threads: it has another formula for the last few
/// values of a thread's part.
torch::Tensor sigmoid_of(const torch::Tensor& x);
torch::Tensor softplus_of(const torch::Tensor& x);

/// The sum of the squares of all tensors, a scalar without gradient.
torch::Tensor squared_sum(const std::vector<torch::Tensor>& tensors);

/// `matrix` with the first `rows` rows of `part` added to its upper left corner.
torch::Tensor add_corner(const torch::Tensor& matrix, const torch::Tensor& part, std::int64_t rows);

/// A GRU cell of a state that needs no gradient, [n,D], from its linear maps: `in`, [n,3D], what
/// its two gates are made of and the input's share of the new content; `hidden`, [n,D], the
/// state's. [n,D]
torch::Tensor gru_cell(const torch::Tensor& in, const torch::Tensor& hidden,
                       const torch::Tensor& h);

/// h·sigmoid(context[owner] + own)·scale, [n,D]; an undefined scale is 1. `gate`, where given,
/// receives the sigmoid, without gradient.
torch::Tensor gated(const torch::Tensor& context, const torch::Tensor& owner,
                    const torch::Tensor& own, const torch::Tensor& h, const torch::Tensor& scale,
                    torch::Tensor* gate = nullptr);

}  // namespace curnm
