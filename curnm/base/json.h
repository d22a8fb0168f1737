#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "curnm/base/error.h"

// The one way in which JSON of files becomes values: they may be damaged, or made to do harm.

namespace curnm {

/// Text that is not JSON, or more of it than any of our files has.
class BadJson : public Error {
 public:
  using Error::Error;
};

/// Parses one document. Throws BadJson ("byte 12 is not JSON", "it is nested more than 32 levels
/// deep"): copying and printing a value recurses, so deep ones would exhaust the stack.
nlohmann::ordered_json parse_json(std::string_view text);

/// The same for a whole file of at most 64 MB, which is read, not mapped.
nlohmann::ordered_json read_json(const std::filesystem::path& file);

/// What the JSON library found wrong, in words for users: without the name of its exception.
std::string json_reason(const nlohmann::json::exception& error);

/// A whole number between the two, inclusive. The library would also convert 4.5, and cut a number
/// that does not fit. Throws BadJson that names the key.
std::int64_t json_integer(const nlohmann::ordered_json& object, std::string_view key,
                          std::int64_t least, std::int64_t most);

/// A finite number. Throws BadJson that names the key.
double json_number(const nlohmann::ordered_json& object, std::string_view key);

/// A text. Throws BadJson that names the key.
std::string json_string(const nlohmann::ordered_json& object, std::string_view key);

}  // namespace curnm
