#include "curnm/nn/kernels/link.h"

#include <algorithm>
#include <vector>

#include "curnm/base/parallel.h"
#include "curnm/nn/kernels/rows.h"
#include "curnm/nn/kernels/simd.h"

namespace curnm::kernels {
namespace {

constexpr std::int64_t kGrain = 128;
constexpr int kParts = 16;  // of sums over all links, whatever the number of threads

const float* source(const LinkInput& in, std::int64_t i) {
  return in.sources + in.source_of[static_cast<std::size_t>(i)] * in.width;
}
const float* destination(const LinkInput& in, std::int64_t i) {
  return in.destinations + in.destination_of[static_cast<std::size_t>(i)] * in.width;
}

CURNM_KERNEL float logit(const float* s, const float* d, const float* w, std::int64_t width) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < width; ++i) {
    const float x = s[i] + d[i];
    sum += x < 0 ? 0 : x * w[i];  // NaN stays NaN
  }
  return sum;
}

/// out += g·w where s + d is positive.
CURNM_KERNEL void add_end(const float* s, const float* d, const float* w, float g,
                          std::int64_t width, float* out) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) out[i] += s[i] + d[i] > 0 ? g * w[i] : 0;
}

/// out += g·ReLU(s + d)
CURNM_KERNEL void add_weight(const float* s, const float* d, float g, std::int64_t width,
                             float* out) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const float x = s[i] + d[i];
    out[i] += x > 0 ? g * x : 0;
  }
}

void add_ends(const LinkInput& in, const float* dlogits, std::span<const std::int64_t> rows,
              std::int64_t targets, float* out) {
  const RowGroups groups = RowGroups::of(rows, targets);
  parallel_for(targets, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t target = begin; target < end; ++target) {
      float* row = out + target * in.width;
      std::fill_n(row, in.width, 0.0F);
      for (std::int32_t i : groups.of_target(target)) {
        if (dlogits[i] == 0) continue;
        add_end(source(in, i), destination(in, i), in.weight, dlogits[i], in.width, row);
      }
    }
  });
}

}  // namespace

void link_logits(const LinkInput& in, float bias, float* logits) {
  parallel_for(in.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      logits[i] = logit(source(in, i), destination(in, i), in.weight, in.width) + bias;
    }
  });
}

void link_logits_backward(const LinkInput& in, const float* dlogits, const LinkGradient& out) {
  if (out.sources != nullptr) {
    add_ends(in, dlogits, in.source_of, in.num_sources, out.sources);
  }
  if (out.destinations != nullptr) {
    add_ends(in, dlogits, in.destination_of, in.num_destinations, out.destinations);
  }
  if (out.weight == nullptr) return;
  const auto width = static_cast<std::size_t>(in.width);
  std::vector<float> sums(kParts * width, 0);
  parallel_parts(in.size(), kParts, [&](int part, std::int64_t begin, std::int64_t end) {
    float* sum = sums.data() + static_cast<std::size_t>(part) * width;
    for (std::int64_t i = begin; i < end; ++i) {
      if (dlogits[i] != 0) add_weight(source(in, i), destination(in, i), dlogits[i], in.width, sum);
    }
  });
  std::fill_n(out.weight, width, 0.0F);
  for (std::size_t part = 0; part < kParts; ++part) {
    for (std::size_t i = 0; i < width; ++i) out.weight[i] += sums[part * width + i];
  }
}

}  // namespace curnm::kernels
