#include "curnm/kernels/link.h"

#include <algorithm>
#include <vector>

#include "curnm/base/parallel.h"
#include "curnm/kernels/rows.h"
#include "curnm/kernels/simd.h"

namespace curnm::kernels {
namespace {

constexpr std::int64_t kGrain = 128;

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
  parallel_groups(groups, [&](std::int64_t begin, std::int64_t end) {
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

CURNM_KERNEL void split_row(const float* s, const float* whole, const float* part,
                            const float* bias, const float* w, std::int64_t width, float* of_part,
                            float* of_rest) {
  float part_sum = 0;
  float rest_sum = 0;
#pragma omp simd reduction(+ : part_sum, rest_sum)
  for (std::int64_t i = 0; i < width; ++i) {
    const float x = s[i] + part[i];
    const float y = s[i] + whole[i] - part[i] + bias[i];
    part_sum += x < 0 ? 0 : x * w[i];
    rest_sum += y < 0 ? 0 : y * w[i];
  }
  *of_part = part_sum;
  *of_rest = rest_sum;
}

/// Writes dpart and dwhole of one link and adds its share to dw and to the bias. The source's
/// gradient is dpart + 2·dwhole.
CURNM_KERNEL void split_row_backward(const float* s, const float* whole, const float* part,
                                     const float* bias, const float* w, float gpart, float grest,
                                     std::int64_t width, float* dpart, float* dwhole, float* dw,
                                     float* dbias) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const float x = s[i] + part[i];
    const float y = s[i] + whole[i] - part[i] + bias[i];
    const float of_part = x > 0 ? gpart : 0;
    const float of_rest = y > 0 ? grest : 0;
    dwhole[i] = of_rest * w[i];
    dpart[i] = of_part * w[i] - dwhole[i];
    dbias[i] += dwhole[i];
    dw[i] += of_part * x + of_rest * y;
  }
}

CURNM_KERNEL void add_source(const float* dpart, const float* dwhole, std::int64_t width,
                             float* out) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) out[i] += dpart[i] + 2 * dwhole[i];
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
  std::vector<float> sums(kRowParts * width, 0);
  parallel_parts(in.size(), kRowParts, [&](int part, std::int64_t begin, std::int64_t end) {
    float* sum = sums.data() + static_cast<std::size_t>(part) * width;
    for (std::int64_t i = begin; i < end; ++i) {
      if (dlogits[i] != 0) add_weight(source(in, i), destination(in, i), dlogits[i], in.width, sum);
    }
  });
  add_parts(sums, in.width, out.weight);
}

void split_logits(const SplitInput& in, float bias, float* of_parts, float* of_rests) {
  const std::int64_t width = in.link.width;
  parallel_for(in.link.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      split_row(source(in.link, i), destination(in.link, i), in.parts + i * width, in.rest_bias,
                in.link.weight, width, of_parts + i, of_rests + i);
      of_parts[i] += bias;
      of_rests[i] += bias;
    }
  });
}

void split_logits_backward(const SplitInput& in, const float* dparts, const float* drests,
                           const SplitGradient& out) {
  const std::int64_t width = in.link.width;
  const auto row_size = static_cast<std::size_t>(width);
  std::vector<float> dwholes(static_cast<std::size_t>(in.link.size()) * row_size);
  std::vector<float> dw(kRowParts * row_size, 0);
  std::vector<float> dbias(kRowParts * row_size, 0);
  parallel_parts(in.link.size(), kRowParts, [&](int part, std::int64_t begin, std::int64_t end) {
    const std::size_t at = static_cast<std::size_t>(part) * row_size;
    for (std::int64_t i = begin; i < end; ++i) {
      split_row_backward(source(in.link, i), destination(in.link, i), in.parts + i * width,
                         in.rest_bias, in.link.weight, dparts[i], drests[i], width,
                         out.parts + i * width, dwholes.data() + i * width, dw.data() + at,
                         dbias.data() + at);
    }
  });
  add_parts(dw, width, out.link.weight);
  add_parts(dbias, width, out.rest_bias);
  sum_groups(dwholes.data(), RowGroups::of(in.link.destination_of, in.link.num_destinations), width,
             out.link.destinations);
  const RowGroups by_source = RowGroups::of(in.link.source_of, in.link.num_sources);
  parallel_groups(by_source, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t target = begin; target < end; ++target) {
      float* row = out.link.sources + target * width;
      std::fill_n(row, width, 0.0F);
      for (std::int32_t i : by_source.of_target(target)) {
        add_source(out.parts + i * width, dwholes.data() + i * width, width, row);
      }
    }
  });
}

}  // namespace curnm::kernels
