#pragma once

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "curnm/experiments/result_set.h"
#include "curnm/experiments/statistics.h"

// Numbers as all reports write them. NaN is printed as a dash.

namespace curnm {

inline constexpr std::string_view kDash = "–";

std::string decimal(double value, int digits);
std::string signed_decimal(double value, int digits);  // "+1.20", "−0.35"
std::string mean_and_deviation(const Summary& summary, int digits);
std::string signed_mean_and_deviation(const Summary& summary, int digits);
std::string seconds_text(double seconds);  // three significant digits: "7.71", "446"
std::string p_text(const std::optional<double>& p);
std::string count_text(std::size_t count, std::string_view singular);  // "1 run", "2 runs"
std::string capitalised(std::string text);                             // "All nodes"
/// Says which of many variants are shown, where not all are (first_and_best).
std::string chosen_text(std::size_t all, std::size_t shown, std::string_view metric,
                        std::string_view how);
/// A string without quotes; bytes that are not UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& value);

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

/// For text and quoted attributes of HTML and SVG.
std::string html_escape(std::string_view text);

}  // namespace curnm
