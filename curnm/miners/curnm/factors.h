#pragma once

#include <torch/torch.h>

#include "curnm/nn/linear.h"
#include "curnm/nn/path.h"

// What drives an interaction, told apart from what does not: CurNM's equations about embeddings,
// numbered as in the paper.

namespace curnm {

/// z(x) = (x - mean) / std + 1 over the whole tensor; ones where all of x is the same.
torch::Tensor normalise(const torch::Tensor& x, Path path = Path::kFast);

/// Time2Vec (Kazemi et al. 2019, arXiv 1907.05321v1) with a linear map on top: t2v(t)[0] = w_0 t +
/// b_0, t2v(t)[i] = sin(w_i t + b_i), then D outputs.
///
/// Times are fractions of the training period. Frequencies start log-spaced from one turn per
/// period to one turn per `shortest`, so that both can be told apart. Phases are computed in
/// double: float would lose the phase of the fast ones.
class Time2Vec : public torch::nn::Module {
 public:
  Time2Vec(std::int64_t hidden, std::int64_t width, double shortest, Path path = Path::kFast);

  /// [n], double -> [n,D]
  torch::Tensor forward(const torch::Tensor& t);
  /// forward(a) + forward(b), with one product.
  torch::Tensor sum(const torch::Tensor& a, const torch::Tensor& b);

 private:
  /// t2v. [n] -> [n,hidden]
  torch::Tensor encode(const torch::Tensor& t) const;

  Path path_;
  torch::Tensor frequency_;  // [hidden], double
  torch::Tensor phase_;      // [hidden], double
  torch::nn::Linear out_;
};

/// The two halves of W [context ‖ h] + b, whose sigmoid says how far each component of h is let
/// through. Two maps that are added, so that a context that many rows share is mapped once.
class Gate : public torch::nn::Module {
 public:
  explicit Gate(std::int64_t width, Path path = Path::kFast);

  /// The context's half, [n,D] -> [n,D].
  torch::Tensor context(const torch::Tensor& context) { return linear(context, context_, path_); }
  /// h's half, [n,D] -> [n,D].
  torch::Tensor own(const torch::Tensor& h) { return linear(h, own_, path_); }

 private:
  Path path_;
  torch::nn::Linear context_;
  torch::nn::Linear own_;
};

/// An embedding's relevant factor, and the gate that let it through.
struct Factor {
  torch::Tensor relevant;  // [n,D]
  torch::Tensor gate;      // [n,D]
};

/// The gates and the temporal factor. Rows of negatives belong to positives by `owner`: row r is a
/// candidate of positive owner[r].
class Factors : public torch::nn::Module {
 public:
  struct Options {
    std::int64_t width = 0;  // D
    std::int64_t time2vec_width = 32;
    double shortest_time = 1;  // a fraction of the training period
    bool temporal = true;      // false: no temporal enhancement
    Path path = Path::kFast;
  };
  explicit Factors(const Options& options);

  /// Eqs. (7) and (8): h_v+ gated by h_u, enhanced by the time t of the positive. [B,D]
  Factor positive(const torch::Tensor& h_u, const torch::Tensor& h_v, const torch::Tensor& t);

  /// The temporal factor of Eq. (10): z(t2v(t_uv-) + t2v(t_v-)) over all candidates of a batch,
  /// [n,D]; undefined without temporal enhancement.
  torch::Tensor recency(const torch::Tensor& met, const torch::Tensor& seen);

  /// Eqs. (9) and (10): h_v- gated by the relevant factor of its positive, enhanced by `recency` of
  /// the same rows. [n,D]
  Factor negative(const Factor& positive, const torch::Tensor& owner, const torch::Tensor& h_v,
                  const torch::Tensor& recency);

 private:
  Options options_;
  std::shared_ptr<Gate> positive_gate_;
  std::shared_ptr<Gate> negative_gate_;
  std::shared_ptr<Time2Vec> time2vec_;
};

}  // namespace curnm
