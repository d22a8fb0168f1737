#pragma once

#include <string>
#include <string_view>

namespace curnm {

/// Whether it is UTF-8 without zero bytes: what JSON can hold.
bool is_text(std::string_view bytes);

/// Whether it is UTF-8 without control characters: what a terminal can show as it is.
bool is_printable(std::string_view bytes);

/// Text from outside, for a message: control characters and what is not UTF-8 become \x1b, and of
/// more than `most` bytes only the beginning remains. `line_ends` keeps those.
std::string printable(std::string_view bytes, std::size_t most = 1000, bool line_ends = false);

}  // namespace curnm
