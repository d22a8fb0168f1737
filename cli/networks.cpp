#include "cli/networks.h"

#include <algorithm>

#include "cli/fetch.h"
#include "cli/print.h"
#include "curnm/base/error.h"
#include "curnm/base/printable.h"
#include "curnm/data/open.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

NamedNetwork opened(const std::string& data, const ReadOptions& read = {}) {
  const Dataset dataset = open_dataset(data, read);
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
  say("fetching {}\n", entry.name);
  const fs::path out = folder / entry.name;
  try {
    save_dataset(fetch_with_bar(entry, {.cache = default_cache()}), out, /*replace=*/false);
  } catch (const Error&) {
    if (!fs::exists(out)) throw;  // otherwise another process was faster
  }
  return opened(out);
}

}  // namespace

std::string network_name(const std::string& name, const fs::path& folder) {
  if (!is_text(name))
    fail<UsageError>("the name of a network has to be UTF-8, so that results can have it");
  std::error_code unusable;
  const CatalogEntry* published = look_up_network(name);
  if (published == nullptr || fs::exists(folder / name, unusable)) return name;
  return std::string(published->name);
}

NamedNetwork find_named_network(const std::string& name, const fs::path& folder, bool fetch,
                                const ReadOptions& read) {
  try {
    if (is_synthetic(name)) return opened(name, read);
    if (fs::exists(folder / name)) return opened(folder / name, read);
    if (name.find('/') != std::string::npos) {
      if (fs::exists(name)) return opened(name, read);
      fail("there is no {}", name);
    }
    if (fs::exists(name) && !is_catalogued(name)) {
      fail("it is not in {}; did you mean ./{}?", folder.string(), name);
    }
    const CatalogEntry& entry = catalogued(name, folder);
    if (fs::exists(folder / entry.name)) return opened(folder / entry.name, read);
    if (read != ReadOptions{}) {
      throw UsageError(fmt::format(
          "the options of reading are for raw tables, and {} is a published network", name));
    }
    if (fetch) return fetched(entry, folder);
    return {.data = folder / entry.name, .missing = "", .events = entry.events};
  } catch (const std::exception& error) {
    const bool misread = dynamic_cast<const UsageError*>(&error) != nullptr;
    if (misread && read != ReadOptions{}) throw;
    return {.data = "",
            .missing = fmt::format("the network {} cannot be had: {}", name, error.what())};
  }
}

void refuse_other_data(const std::string& name, const NamedNetwork& network,
                       const ResultSet& known) {
  const bool differs = std::ranges::any_of(known.runs, [&](const RunResult& run) {
    return run.network == name && run.state == RunState::kDone && !network.digest.empty() &&
           run.data_digest != network.digest;
  });
  if (!differs) return;
  fail(
      "{} is not what it was, or is read in another way: the store has results on other data under "
      "the name {}. Choose another --store, or give this network another name",
      network.data, name);
}

}  // namespace curnm::cli
