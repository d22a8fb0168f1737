#include "curnm/base/names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace curnm {
namespace {

// Levenshtein distance, case ignored: `--Seed` is as near to `--seed` as can be.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (same(a[i], b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(name.size() / 3, 1) + 1;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void unknown_name(std::string_view kind, std::string_view name,
                  std::span<const std::string_view> candidates) {
  const std::string_view near = nearest_name(name, candidates);
  throw UsageError(fmt::format("unknown {} '{}';{} known: {}", kind, name,
                               near.empty() ? "" : fmt::format(" did you mean '{}'?", near),
                               fmt::join(candidates, ", ")));
}

}  // namespace curnm
