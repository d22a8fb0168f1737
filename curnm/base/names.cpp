#include "curnm/base/names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace curnm {
namespace {

// Longer ones are not typed, and comparing them would take long.
constexpr std::size_t kLongestName = 200;

// Insertions, deletions, replacements and swaps of neighbours, the usual typing mistakes; case is
// ignored.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  };
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> cells((a.size() + 1) * columns);
  const auto cell = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return cells[i * columns + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cell(i, j) = i + j;
        continue;
      }
      const std::size_t replaced = cell(i - 1, j - 1) + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      cell(i, j) = std::min({cell(i - 1, j) + 1, cell(i, j - 1) + 1, replaced});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        cell(i, j) = std::min(cell(i, j), cell(i - 2, j - 2) + 1);
      }
    }
  }
  return cells.back();
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(name.size() / 3, 1) + 1;
  if (name.size() > kLongestName) return best;
  for (std::string_view candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best_distance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string quotable(std::string_view text) {
  if (text.size() <= kLongestName) return std::string(text);
  std::size_t end = 60;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // whole letters
  return fmt::format("{}... ({} bytes)", text.substr(0, end), text.size());
}

void unknown_name(std::string_view kind, std::string_view name,
                  std::span<const std::string_view> candidates) {
  const std::string_view near = nearest_name(name, candidates);
  throw UsageError(fmt::format("unknown {} '{}'{} (known: {})", kind, quotable(name),
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near),
                               fmt::join(candidates, ", ")));
}

}  // namespace curnm
