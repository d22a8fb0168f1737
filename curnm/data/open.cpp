#include "curnm/data/open.h"

#include <filesystem>

#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/data/catalog.h"
#include "curnm/data/reader.h"
#include "curnm/data/synthetic.h"
#include "curnm/data/text_file.h"

namespace curnm {

constexpr std::string_view kSyntheticPrefix = "synthetic";

bool is_synthetic(std::string_view data) {
  return data == kSyntheticPrefix || data.starts_with("synthetic:");
}

std::string from_anywhere(const std::string& data) {
  if (!is_text(data)) fail("the path of a network has to be UTF-8, so that a run can name it");
  return is_synthetic(data) ? data : std::filesystem::absolute(data).lexically_normal().string();
}

Dataset open_dataset(std::string_view data) {
  if (is_synthetic(data)) {
    const std::string_view preset = data == kSyntheticPrefix
                                        ? synthetic_presets().front().name
                                        : data.substr(kSyntheticPrefix.size() + 1);
    const SyntheticPreset& found = find_entry("preset", synthetic_presets(), preset);
    return generate(found.options, found.name);
  }
  const std::filesystem::path path(data);
  const std::string name = path.filename().string();
  std::error_code ignored;
  if (is_catalogued(name) && !std::filesystem::exists(path, ignored)) {
    fail("{} does not exist; `curnm fetch {}` downloads that network into data/{}", data, name,
         name);
  }
  return is_dataset(path) ? load_dataset(path) : read_network(path);
}

bool is_same_network(const Dataset& dataset, const std::string& digest, const Extent& extent,
                     bool grown) {
  const Extent now = dataset.extent();
  if (dataset.digest() == digest) {
    const bool unknown = extent.events == 0;
    return unknown || (now.events == extent.events && now.nodes == extent.nodes);
  }
  return grown && extent.events > 0 && now.events > extent.events && now.nodes >= extent.nodes &&
         dataset.head(extent).digest() == digest;
}

}  // namespace curnm
