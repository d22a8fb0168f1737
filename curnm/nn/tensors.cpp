#include "curnm/nn/tensors.h"

#include <cmath>

#include "curnm/base/digest.h"
#include "curnm/base/parallel.h"
#include "curnm/nn/kernels/elementwise.h"

namespace curnm {
namespace {

template <class T>
torch::Tensor copy(std::span<const T> values, torch::ScalarType type, torch::Device device) {
  return torch::from_blob(const_cast<T*>(values.data()), {static_cast<std::int64_t>(values.size())},
                          type)
      .to(device, type, /*non_blocking=*/false, /*copy=*/true);
}

// Elements per generator: long enough to hide the cost of its key, short enough to share the work.
constexpr std::int64_t kBlock = 4096;

/// Lets `draw` fill a block of values at a time, in parallel, the same for any thread count.
template <class Draw>
void fill(float* values, std::int64_t count, const Rng& key, const Draw& draw) {
  const std::int64_t blocks = (count + kBlock - 1) / kBlock;
  parallel_for(blocks, /*grain=*/4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kBlock;
      const std::int64_t size = std::min(count - first, kBlock);
      draw(key.split(static_cast<std::uint64_t>(block)),
           std::span(values + first, static_cast<std::size_t>(size)));
    }
  });
}

}  // namespace

torch::Tensor to_tensor(std::span<const std::int64_t> values, torch::Device device) {
  return copy(values, torch::kInt64, device);
}
torch::Tensor to_tensor(std::span<const std::int32_t> values, torch::Device device) {
  return copy(values, torch::kInt32, device);
}
torch::Tensor to_tensor(std::span<const double> values, torch::Device device) {
  return copy(values, torch::kFloat64, device);
}
torch::Tensor to_tensor(std::span<const float> values, torch::Device device) {
  return copy(values, torch::kFloat32, device);
}

torch::Tensor to_tensor(const FeatureMatrix& matrix, torch::Device device) {
  if (matrix.width == 0) return {};
  return torch::from_blob(const_cast<float*>(matrix.values.data()), {matrix.rows(), matrix.width},
                          torch::kFloat32)
      .to(device);
}

torch::Tensor dropout_mask(at::IntArrayRef sizes, double rate, const Rng& key) {
  if (rate <= 0) return {};
  torch::Tensor mask = torch::empty(sizes, torch::kFloat32);
  const auto scale = static_cast<float>(1 / (1 - rate));
  fill(mask.data_ptr<float>(), mask.numel(), key,
       [&](Rng rng, std::span<float> block) { kernels::dropout(rng, rate, scale, block); });
  return mask;
}

torch::Tensor keyed_dropout(const torch::Tensor& x, double rate, const Rng& key) {
  const torch::Tensor mask = dropout_mask(x.sizes(), rate, key);
  return mask.defined() ? x * mask.to(x.device(), x.scalar_type()) : x;
}

void keyed_uniform_(torch::Tensor parameter, double bound, const Rng& key) {
  const torch::NoGradGuard no_grad;
  torch::Tensor values = torch::empty(parameter.sizes(), torch::kFloat32);
  fill(values.data_ptr<float>(), values.numel(), key, [&](Rng rng, std::span<float> block) {
    for (float& value : block) value = static_cast<float>((2 * rng.uniform() - 1) * bound);
  });
  parameter.copy_(values);
}

void initialise(torch::nn::Module& module, const Rng& key) {
  for (const auto& item : module.named_parameters()) {
    if (item.value().dim() < 2) continue;
    const double fan_in = static_cast<double>(item.value().size(1));
    keyed_uniform_(item.value(), 1 / std::sqrt(fan_in), key.split(hash64(item.key())));
  }
  const torch::NoGradGuard no_grad;
  for (const auto& item : module.named_parameters()) {
    if (item.value().dim() == 1 && item.key().find("bias") != std::string::npos)
      item.value().zero_();
  }
}

}  // namespace curnm
