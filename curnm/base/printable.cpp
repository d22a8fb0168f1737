#include "curnm/base/printable.h"

#include <fmt/format.h>

#include <cstddef>

namespace curnm {
namespace {

/// The length of the UTF-8 character at the front; 0 if there is none.
std::size_t character_length(std::string_view bytes) {
  const auto at = [&](std::size_t j) {
    return j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U;
  };
  const unsigned lead = at(0);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  for (std::size_t j = 1; j < length; ++j) {
    if ((at(j) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = at(1);
  const bool too_long = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool no_character = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return too_long || no_character ? 0 : length;
}

/// The controls of ASCII and those of U+0080 to U+009F, which terminals obey as well.
bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

bool is_printable(std::string_view bytes) {
  while (!bytes.empty()) {
    const char first = bytes.front();
    if (first >= ' ' && first <= '~') {  // nearly all there is: worth a way without calls
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t length = character_length(bytes);
    if (length == 0 || is_control(bytes.substr(0, length))) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view bytes, std::size_t most, bool line_ends) {
  std::string shown;
  while (!bytes.empty()) {
    if (shown.size() >= most) return shown + "...";
    const std::size_t length = character_length(bytes);
    const std::string_view character = bytes.substr(0, length == 0 ? 1 : length);
    if (length > 0 && (!is_control(character) || (line_ends && character == "\n"))) {
      shown += character;
    } else {
      for (const char byte : character) {
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    bytes.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace curnm
