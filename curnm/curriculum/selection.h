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

}  // namespace curnm
