#include "curnm/nn/tensors.h"

#include <cmath>

#include "curnm/base/digest.h"
#include "curnm/base/parallel.h"
#include "curnm/kernels/elementwise.h"
#include "curnm/nn/kernel_tensors.h"

namespace curnm {
namespace {

template <class T>
Tensor copy(std::span<const T> values, at::ScalarType type, Device device) {
  return at::from_blob(const_cast<T*>(values.data()), {static_cast<std::int64_t>(values.size())},
                       type)
      .to(device, type, /*non_blocking=*/false, /*copy=*/true);
}

// Elements per generator: enough to hide the cost of its key, few enough to share the work.
constexpr std::int64_t kBlock = 4096;

/// Calls `draw` for one block of values at a time, in parallel; the result is the same for any
/// thread count.
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

Tensor to_tensor(std::span<const std::int64_t> values, Device device) {
  return copy(values, at::kLong, device);
}
Tensor to_tensor(std::span<const std::int32_t> values, Device device) {
  return copy(values, at::kInt, device);
}
Tensor to_tensor(std::span<const double> values, Device device) {
  return copy(values, at::kDouble, device);
}
Tensor to_tensor(std::span<const float> values, Device device) {
  return copy(values, at::kFloat, device);
}

Tensor to_tensor(const FeatureMatrix& matrix, Device device) {
  if (matrix.width == 0) return {};
  return at::from_blob(const_cast<float*>(matrix.values.data()), {matrix.rows(), matrix.width},
                       at::kFloat)
      .to(device);
}

Tensor to_tensor(const FeatureMatrix& matrix, const FeatureScale& scale, Device device) {
  const Tensor raw = to_tensor(matrix, at::kCPU);
  if (!raw.defined() || scale.is_identity()) return to_tensor(matrix, device);
  const Tensor scaled = raw.clone();
  const std::span<float> values(scaled.data_ptr<float>(), static_cast<std::size_t>(raw.numel()));
  const auto width = static_cast<std::size_t>(matrix.width);
  parallel_for(matrix.rows(), /*grain=*/1024, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      scale.apply(values.subspan(row * width, width));
    }
  });
  return scaled.to(device);
}

Tensor dropout_mask(at::IntArrayRef sizes, double rate, std::span<const std::uint64_t> rows,
                    const Rng& key) {
  if (rate <= 0) return {};
  CURNM_ASSERT(!sizes.empty() && sizes[0] == std::ssize(rows));
  Tensor mask = at::empty(sizes, at::kFloat);
  if (rows.empty()) return mask;
  const auto scale = static_cast<float>(1 / (1 - rate));
  const std::size_t width = static_cast<std::size_t>(mask.numel()) / rows.size();
  float* values = float_data(mask);
  parallel_for(std::ssize(rows), /*grain=*/64, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      kernels::dropout(key.split(rows[row]), rate, scale, std::span(values + row * width, width));
    }
  });
  return mask;
}

Tensor keyed_dropout(const Tensor& x, double rate, std::span<const std::uint64_t> rows,
                     const Rng& key) {
  const Tensor mask = dropout_mask(x.sizes(), rate, rows, key);
  return mask.defined() ? x * mask.to(x.device(), x.scalar_type()) : x;
}

void keyed_uniform_(Tensor parameter, double bound, const Rng& key) {
  const NoGradGuard no_grad;
  Tensor values = at::empty(parameter.sizes(), at::kFloat);
  fill(float_data(values), values.numel(), key, [&](Rng rng, std::span<float> block) {
    for (float& value : block) value = static_cast<float>((2 * rng.uniform() - 1) * bound);
  });
  parameter.copy_(values);
}

void initialise(Module& module, const Rng& key) {
  for (const auto& item : module.named_parameters()) {
    if (item.value().dim() < 2) continue;
    const double fan_in = static_cast<double>(item.value().size(1));
    keyed_uniform_(item.value(), 1 / std::sqrt(fan_in), key.split(hash64(item.key())));
  }
  const NoGradGuard no_grad;
  for (const auto& item : module.named_parameters()) {
    if (item.value().dim() == 1 && item.key().find("bias") != std::string::npos)
      item.value().zero_();
  }
}

}  // namespace curnm
