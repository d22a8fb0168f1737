#include "curnm/base/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace curnm {

std::string digest(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string digest(std::string_view text) { return digest(std::as_bytes(std::span(text))); }

std::uint64_t hash64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace curnm
