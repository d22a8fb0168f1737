#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace curnm {

/// N_b = round(pi·B·M), at least 1: how many of a batch's candidates are selected.
std::int64_t selected_count(double pi, std::int64_t candidates);

/// Eq. (6): the positions of the n highest scores, ascending. Of equal scores the first ones are
/// taken.
std::vector<std::int64_t> top(std::span<const float> scores, std::int64_t n);

/// The same for each row of `width` scores: positions of the n highest of each row, ascending.
std::vector<std::int64_t> top_of_rows(std::span<const float> scores, std::int64_t width,
                                      std::int64_t n);

/// Weights of n candidates that add up to 1 and grow with their scores: exp(a·score), with the
/// a >= 0 for which their effective number, 1 / (sum of squares), is pi·n. A soft choice of the
/// hardest share pi: 1 weights all alike. REQUIRES: pi in (0, 1].
std::vector<float> soft_weights(std::span<const float> scores, double pi);

}  // namespace curnm
