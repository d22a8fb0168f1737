#pragma once

#include <cstdint>
#include <vector>

#include "curnm/nn/optimizer.h"
#include "curnm/nn/path.h"

namespace curnm {

struct AdamOptions {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;          // mu: the gradient of mu |Theta|^2 is added to that of the loss
  std::size_t decaying = SIZE_MAX;  // how many parameters, from the first, make Theta
  Path path = Path::kFast;
};

/// Adam (Kingma, Ba 2015, arXiv 1412.6980v9), as torch::optim::Adam computes it, but with one count
/// of steps for all parameters: a parameter that gets its first gradient late does not start from
/// step 0.
class Adam final : public Optimizer {
 public:
  Adam(std::vector<Tensor> parameters, const AdamOptions& options);

  void zero_grad() override;
  void step() override;
  std::vector<Tensor> state() const override;
  void set_state(const std::vector<Tensor>& state) override;

 private:
  std::vector<Tensor> parameters_;
  AdamOptions options_;
  std::vector<Tensor> mean_;
  std::vector<Tensor> square_;
  std::int64_t steps_ = 0;
};

}  // namespace curnm
