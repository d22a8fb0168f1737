#include "cli/print.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "curnm/base/error.h"
#include "curnm/base/printable.h"

namespace curnm::cli {

std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(std::abs(number));
  std::string out = number < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string figure_or_dash(double figure) {
  return std::isnan(figure) ? "-" : fmt::format("{:.4f}", figure);
}

std::string sparkline(std::span<const std::int64_t> counts) {
  constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::int64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  std::string line;
  for (std::int64_t count : counts) {
    // A count above 0 shows at least the lowest block.
    const std::int64_t level = most == 0 ? 0 : (count * 8 + most - 1) / most;
    line += kBlocks[static_cast<std::size_t>(level)];
  }
  return line;
}

std::string duration(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array<Unit, 5> kUnits = {
      {{365.25 * 86400, "years"}, {86400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "s"}}};
  for (const Unit& unit : kUnits) {
    if (seconds >= 2 * unit.seconds)
      return fmt::format("{:.1f} {}", seconds / unit.seconds, unit.name);
  }
  return fmt::format("{:g} s", seconds);
}

void print_notes(const Dataset& dataset) {
  for (const std::string& note : dataset.notes) say("note: {}\n", printable(note));
}

void print_saved(const Dataset& dataset, const std::string& folder) {
  fmt::print("{}: {} events, {} nodes, digest {}\n", folder, grouped(dataset.events.size()),
             grouped(dataset.events.num_nodes), dataset.digest());
}

}  // namespace curnm::cli
