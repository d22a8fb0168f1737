#include "curnm/data/open.h"

#include <filesystem>

#include "curnm/base/names.h"
#include "curnm/data/reader.h"
#include "curnm/data/synthetic.h"

namespace curnm {

constexpr std::string_view kSynthetic = "synthetic";

bool is_synthetic(std::string_view data) {
  return data == kSynthetic || data.starts_with("synthetic:");
}

std::string from_anywhere(const std::string& data) {
  return is_synthetic(data) ? data : std::filesystem::absolute(data).lexically_normal().string();
}

Dataset open_dataset(std::string_view data) {
  if (is_synthetic(data)) {
    const std::string_view preset =
        data == kSynthetic ? synthetic_presets().front().name : data.substr(kSynthetic.size() + 1);
    const SyntheticPreset& found = find_entry("preset", synthetic_presets(), preset);
    return generate(found.options, found.name);
  }
  const std::filesystem::path path(data);
  return is_dataset(path) ? load_dataset(path) : read_network(path);
}

}  // namespace curnm
