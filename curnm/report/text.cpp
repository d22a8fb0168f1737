#include "curnm/report/text.h"

#include <cmath>

namespace curnm {
namespace {

/// Empty for fewer than two scores.
std::string deviation(const Summary& summary, int digits) {
  return std::isfinite(summary.std) ? " ± " + decimal(summary.std, digits) : "";
}

}  // namespace

std::string decimal(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kDash);
  return fmt::format("{:.{}f}", value, digits);
}

std::string signed_decimal(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kDash);
  const std::string magnitude = fmt::format("{:.{}f}", std::abs(value), digits);
  if (magnitude.find_first_not_of("0.") == std::string::npos) return magnitude;
  return (value < 0 ? "−" : "+") + magnitude;
}

std::string mean_and_deviation(const Summary& summary, int digits) {
  return decimal(summary.mean, digits) + deviation(summary, digits);
}

std::string signed_mean_and_deviation(const Summary& summary, int digits) {
  return signed_decimal(summary.mean, digits) + deviation(summary, digits);
}

std::string seconds_text(double seconds) {
  return decimal(seconds, seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0);
}

std::string p_text(const std::optional<double>& p) {
  if (!p) return std::string(kDash);
  return *p < 0.001 ? "< 0.001" : decimal(*p, 3);
}

std::string count_text(std::size_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string chosen_text(std::size_t all, std::size_t shown, std::string_view metric,
                        std::string_view how) {
  if (shown == all) return "";
  return fmt::format(" Of {} variants, the first and the {} best by validation {} are {}.", all,
                     shown - 1, metric, how);
}

std::string json_text(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

std::string html_escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace curnm
