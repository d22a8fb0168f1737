#include "curnm/base/json.h"

#include <cmath>

#include "curnm/base/files.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

constexpr int kMostLevels = 32;  // ours have up to six
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

const ordered_json& member(const ordered_json& object, std::string_view key) {
  if (!object.is_object()) throw BadJson("it is not an object");
  const auto found = object.find(key);
  if (found == object.end()) fail<BadJson>("'{}' is missing", key);
  return *found;
}

[[noreturn]] void wrong_kind(std::string_view key, const ordered_json& value, const char* wanted) {
  constexpr std::size_t kLongest = 40;
  std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (text.size() > kLongest) text = value.type_name();
  fail<BadJson>("'{}' is {} instead of {}", key, text, wanted);
}

}  // namespace

ordered_json parse_json(std::string_view text) {
  const auto limit = [](int depth, ordered_json::parse_event_t event, ordered_json&) {
    const bool begins = event == ordered_json::parse_event_t::array_start ||
                        event == ordered_json::parse_event_t::object_start;
    if (begins && depth >= kMostLevels)
      fail<BadJson>("it is nested more than {} levels deep", kMostLevels);
    return true;
  };
  try {
    return ordered_json::parse(text, limit);
  } catch (const nlohmann::json::parse_error& error) {
    fail<BadJson>("byte {} is not JSON", error.byte);
  } catch (const nlohmann::json::exception& error) {  // 1e999
    fail<BadJson>("{}", json_reason(error));
  }
}

ordered_json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file, kMostBytes));
}

std::string json_reason(const nlohmann::json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.find("] ");
  return std::string(text.starts_with('[') && end != text.npos ? text.substr(end + 2) : text);
}

std::int64_t json_integer(const ordered_json& object, std::string_view key, std::int64_t least,
                          std::int64_t most) {
  const ordered_json& value = member(object, key);
  if (!value.is_number_integer()) wrong_kind(key, value, "a whole number");
  const bool fits = !value.is_number_unsigned() || value.get<std::uint64_t>() >> 63 == 0;
  const auto number = value.get<std::int64_t>();
  if (!fits || number < least || number > most) {
    fail<BadJson>("'{}' is {}, which is not between {} and {}", key, value.dump(), least, most);
  }
  return number;
}

double json_number(const ordered_json& object, std::string_view key) {
  const ordered_json& value = member(object, key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) wrong_kind(key, value, "a number");
  return value.get<double>();
}

std::string json_string(const ordered_json& object, std::string_view key) {
  const ordered_json& value = member(object, key);
  if (!value.is_string()) wrong_kind(key, value, "a text");
  return value.get<std::string>();
}

}  // namespace curnm
