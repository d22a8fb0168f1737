#include "cli/networks.h"

#include "cli/fetch.h"
#include "cli/print.h"
#include "curnm/base/error.h"
#include "curnm/data/open.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

NamedNetwork opened(const std::string& data) {
  const Dataset dataset = open_dataset(data);
  return {.data = from_anywhere(data),
          .missing = "",
          .events = dataset.events.size(),
          .digest = dataset.digest()};
}

const CatalogEntry& catalogued(const std::string& name, const fs::path& folder) {
  try {
    return find_network(name);
  } catch (const Error& error) {
    fail("it is not in {}; {}", folder.string(), error.what());
  }
}

NamedNetwork fetched(const CatalogEntry& entry, const fs::path& folder) {
  fmt::print(stderr, "fetching {}\n", entry.name);
  const fs::path out = folder / entry.name;
  save_dataset(fetch_with_bar(entry, {.cache = default_cache()}), out, /*replace=*/false);
  return opened(out);
}

}  // namespace

NamedNetwork find_named_network(const std::string& name, const fs::path& folder, bool fetch) {
  try {
    if (is_synthetic(name)) return opened(name);
    if (fs::exists(folder / name)) return opened(folder / name);
    if (name.find('/') != std::string::npos) {
      if (fs::exists(name)) return opened(name);
      fail("there is no {}", name);
    }
    const CatalogEntry& entry = catalogued(name, folder);
    if (fs::exists(folder / entry.name)) return opened(folder / entry.name);
    if (fetch) return fetched(entry, folder);
    return {.data = folder / entry.name, .missing = "", .events = entry.events};
  } catch (const std::exception& error) {
    return {.data = "",
            .missing = fmt::format("the network {} cannot be had: {}", name, error.what())};
  }
}

}  // namespace curnm::cli
