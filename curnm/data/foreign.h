#pragma once

#include <filesystem>
#include <string_view>

namespace curnm {

/// Throws Error where the first bytes are those of a kind of file that is known but not read, or of
/// no text at all. The message has the command that converts it.
void refuse_foreign(std::string_view bytes, const std::filesystem::path& path);

}  // namespace curnm
