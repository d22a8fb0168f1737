#include "curnm/training/gradient_exchange.h"

#include <cmath>
#include <cstring>

#include "curnm/training/step.h"

namespace curnm {
namespace {

// What stands behind the gradients: how many ranks had a batch, wish to stop, have diverged.
constexpr std::int64_t kNumbers = 3;

}  // namespace

GradientExchange::GradientExchange(Group& group, std::vector<Tensor> parameters, int batch_ranks)
    : group_(group), parameters_(std::move(parameters)), batch_ranks_(batch_ranks) {
  std::int64_t values = kNumbers;
  for (const Tensor& parameter : parameters_) values += parameter.numel();
  block_ = at::zeros({values}, at::kFloat);
}

void GradientExchange::sum(bool has_batch, bool diverged) {
  const NoGradGuard no_grad;
  std::int64_t at = 0;
  for (const Tensor& parameter : parameters_) {
    Tensor place = block_.narrow(0, at, parameter.numel());
    const Tensor gradient = has_batch ? parameter.grad() : Tensor();
    if (gradient.defined()) {
      place.copy_(gradient.reshape({-1}));
    } else {
      place.zero_();
    }
    at += parameter.numel();
  }
  float* values = block_.data_ptr<float>();
  values[at] = has_batch ? 1 : 0;
  values[at + 1] = wish_ ? 1 : 0;
  values[at + 2] = diverged ? 1 : 0;
  group_.sum({values, static_cast<std::size_t>(block_.numel())});
}

void GradientExchange::run(bool has_batch) {
  sum(has_batch, /*diverged=*/false);
  const float* numbers = block_.data_ptr<float>() + block_.numel() - kNumbers;
  if (numbers[2] > 0) fail_together(/*loss=*/0);
  stop_wished_ = numbers[1] > 0;
  const NoGradGuard no_grad;
  const float batches = numbers[0] / static_cast<float>(batch_ranks_);
  if (batches != 1) block_.narrow(0, 0, block_.numel() - kNumbers).div_(batches);
  std::int64_t at = 0;
  for (Tensor& parameter : parameters_) {
    parameter.mutable_grad() =
        block_.narrow(0, at, parameter.numel()).view(parameter.sizes()).to(parameter.device());
    at += parameter.numel();
  }
}

void GradientExchange::report_divergence(double loss) {
  sum(/*has_batch=*/false, /*diverged=*/true);
  fail_together(loss);
}

void GradientExchange::fail_together(double loss) {
  const std::string_view own(reinterpret_cast<const char*>(&loss), sizeof loss);
  const std::vector<std::string> losses = group_.all_gather(own);
  std::size_t rank = 0;
  while (true) {
    CURNM_ASSERT(rank < losses.size() && losses[rank].size() == sizeof loss);
    std::memcpy(&loss, losses[rank].data(), sizeof loss);
    if (!std::isfinite(loss)) throw DivergedLoss(loss, fmt::format(" on rank {}", rank));
    ++rank;
  }
}

}  // namespace curnm
