#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "curnm/data/dataset.h"

namespace curnm::cli {

/// Progress, notes and complaints, to stderr. If they cannot be written (full disk, closed
/// terminal), the work continues without them.
template <class... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  const std::string said = fmt::format(text, std::forward<Values>(values)...);
  [[maybe_unused]] const std::size_t written = std::fwrite(said.data(), 1, said.size(), stderr);
}

/// 1234567 as 1,234,567.
std::string grouped(std::int64_t number);

/// With four digits, or "-" for NaN: what was not measured.
std::string figure_or_dash(double figure);

/// Counts as a row of blocks: ▁▂▃▅█.
std::string sparkline(std::span<const std::int64_t> counts);

/// A duration in the unit that a person would choose: 3.2 days.
std::string duration(double seconds);

/// Notes about how a data set was read go to stderr, one line each.
void print_notes(const Dataset& dataset);

/// What was written and where.
void print_saved(const Dataset& dataset, const std::string& folder);

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace curnm::cli
