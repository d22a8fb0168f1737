#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace curnm {

/// XXH3-128 as 32 hexadecimal digits: detects accidental changes, does not protect against an
/// adversary.
std::string digest(std::span<const std::byte> bytes);
std::string digest(std::string_view text);

/// XXH3-64, for hash tables.
std::uint64_t hash64(std::string_view text);

}  // namespace curnm
