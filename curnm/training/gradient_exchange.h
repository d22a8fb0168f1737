#pragma once

#include <vector>

#include "curnm/distributed/group.h"
#include "curnm/nn/tensor.h"

namespace curnm {

/// Makes the gradients of a step the same on all ranks: their mean over the batches. Those of ranks
/// that share a batch are added up.
///
/// All gradients travel as one block, with a few numbers about the step at its end. A parameter
/// without a gradient counts as zeros.
class GradientExchange {
 public:
  /// `batch_ranks` ranks share each batch. REQUIRES: the group outlives this object; the same
  /// parameters on all ranks.
  GradientExchange(Group& group, std::vector<Tensor> parameters, int batch_ranks = 1);

  /// Takes a rank's wish to stop, which travels with the next step. Returns whether any rank's wish
  /// has come with the last one, which is the same on all of them.
  bool stop_wished(bool mine) {
    wish_ = mine;
    return stop_wished_;
  }

  /// `has_batch`: this rank's gradients are those of a batch; otherwise it has run out of them.
  /// Throws DivergedLoss if another rank's loss is not finite.
  void run(bool has_batch);
  /// In place of `run`, for a rank whose loss is not finite. Throws DivergedLoss that names it.
  [[noreturn]] void report_divergence(double loss);

 private:
  void sum(bool has_batch, bool diverged);
  [[noreturn]] void fail_together(double loss);

  Group& group_;
  std::vector<Tensor> parameters_;
  int batch_ranks_;
  Tensor block_;  // all gradients, then the numbers
  bool wish_ = false;
  bool stop_wished_ = false;
};

}  // namespace curnm
