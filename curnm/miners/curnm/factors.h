#pragma once

#include "curnm/nn/linear.h"
#include "curnm/nn/path.h"
#include "curnm/sampling/batch_parts.h"

// Disentangling what drives an interaction from what does not: CurNM's equations about embeddings,
// numbered as in the paper.

namespace curnm {

/// z(x) = (x - mean) / std + 1 over the whole tensor, in all parts of the batch; ones where all of
/// x is the same.
Tensor normalise(const Tensor& x, Path path = Path::kFast, const BatchParts& parts = whole_batch());

/// Time2Vec (Kazemi et al. 2019, arXiv 1907.05321v1) with a linear map on top: t2v(t)[0] = w_0 t +
/// b_0, t2v(t)[i] = sin(w_i t + b_i), then D outputs.
///
/// Times are fractions of the training period. Frequencies start log-spaced from one turn per
/// period to one turn per `shortest`, so that both scales can be resolved. Phases are computed in
/// double: float would lose the phase of high frequencies.
class Time2Vec : public Module {
 public:
  Time2Vec(std::int64_t hidden, std::int64_t width, double shortest, Path path = Path::kFast);

  /// [n], double -> [n,D]
  Tensor forward(const Tensor& t);
  /// forward(a) + forward(b), with one product.
  Tensor sum(const Tensor& a, const Tensor& b);

 private:
  /// t2v. [n] -> [n,hidden]
  Tensor encode(const Tensor& t) const;

  Path path_;
  Tensor frequency_;  // [hidden], double
  Tensor phase_;      // [hidden], double
  std::shared_ptr<Linear> out_;
};

/// The two halves of W [context ‖ h] + b, whose sigmoid says how much of each component of h
/// passes. Two maps that are added, so that a context that many rows share is mapped once.
class Gate : public Module {
 public:
  explicit Gate(std::int64_t width, Path path = Path::kFast);

  /// The context's half, [n,D] -> [n,D].
  Tensor context(const Tensor& context) { return linear(context, *context_, path_); }
  /// h's half, [n,D] -> [n,D].
  Tensor own(const Tensor& h) { return linear(h, *own_, path_); }

 private:
  Path path_;
  std::shared_ptr<Linear> context_;
  std::shared_ptr<Linear> own_;
};

/// An embedding's relevant factor, and the gate that it passed.
struct Factor {
  Tensor relevant;  // [n,D]
  Tensor gate;      // [n,D]
};

/// The gates and the temporal factor. Rows of negatives belong to positives by `owner`: row r is a
/// candidate of positive owner[r]. Temporal factors are normalised over all parts of the batch.
class Factors : public Module {
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
  Factor positive(const Tensor& h_u, const Tensor& h_v, const Tensor& t,
                  const BatchParts& parts = whole_batch());

  /// The temporal factor of Eq. (10): z(t2v(t_uv-) + t2v(t_v-)) over all candidates of a batch,
  /// [n,D]; undefined without temporal enhancement.
  Tensor recency(const Tensor& met, const Tensor& seen, const BatchParts& parts = whole_batch());

  /// Eqs. (9) and (10): h_v- gated by the relevant factor of its positive, enhanced by `recency` of
  /// the same rows. [n,D]
  Factor negative(const Factor& positive, const Tensor& owner, const Tensor& h_v,
                  const Tensor& recency);

 private:
  Options options_;
  std::shared_ptr<Gate> positive_gate_;
  std::shared_ptr<Gate> negative_gate_;
  std::shared_ptr<Time2Vec> time2vec_;
};

}  // namespace curnm
