#include "curnm/fetch/fetch.h"

#include <string_view>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/data/reader.h"
#include "curnm/data/unpack.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

/// A complete download of the wrong content, which would make every later try fail too.
class BadDownload : public Error {
 public:
  using Error::Error;
};

Address address_of(const CatalogEntry& entry, const std::string& mirror) {
  const Address published = parse_address(std::string(entry.url));
  Address address = mirror.empty() ? published : parse_address(mirror);
  if (mirror.ends_with('/')) address = parse_address(mirror + published.file);
  if (address.file.empty()) address.file = entry.name;
  return address;
}

bool is_web_page(const fs::path& file) {
  const std::string text = read_beginning(file, 4096);
  const std::size_t start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return start != std::string_view::npos && text[start] == '<';
}

/// The table to read, in the folder or one below. ml_*.csv comes first: the original table beside
/// it does not say whether user 5 and item 5 are the same node.
fs::path find_event_table(const fs::path& folder) {
  std::vector<fs::path> prepared;
  std::vector<fs::path> original;
  const auto look = [&](const fs::path& place) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
      const std::string name = entry.path().filename().string();
      const bool is_table = name.ends_with(".csv") && !name.starts_with('.');
      if (!is_table || !entry.is_regular_file()) continue;
      (name.starts_with("ml_") ? prepared : original).push_back(entry.path());
    }
  };
  look(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) look(entry.path());
  }
  const std::vector<fs::path>& found = prepared.empty() ? original : prepared;
  if (found.size() == 1) return found.front();
  throw BadDownload(fmt::format("the archive has {} tables (.csv) instead of one", found.size()));
}

Dataset read_published(const fs::path& file, std::string_view format) {
  try {
    return read_network(file, format);
  } catch (const Error& error) {
    throw BadDownload(error.what());
  }
}

/// Archives are unpacked into a folder beside `scratch_name`.
Dataset read_download(const fs::path& file, const fs::path& scratch_name, std::string_view format,
                      const UnpackLimits& limits) {
  if (is_web_page(file)) throw BadDownload("it is a web page instead of data");
  if (!is_zip(file)) return read_published(file, format);
  // Never committed, hence always removed.
  const AtomicFolder scratch(scratch_name.string() + ".unpacked", /*replace=*/true);
  try {
    unpack_zip(file, scratch.staging(), limits);
  } catch (const DamagedArchive& damage) {
    throw BadDownload(damage.what());
  }
  return read_published(find_event_table(scratch.staging()), format);
}

/// Events must agree. Publications often count nodes by the largest id, so there may be fewer.
void check_counts(const CatalogEntry& entry, Dataset& dataset) {
  const EventLog& log = dataset.events;
  if (log.size() != entry.events || log.num_nodes > entry.nodes) {
    throw BadDownload(fmt::format("it has {} events and {} nodes, published are {} and {}",
                                  log.size(), log.num_nodes, entry.events, entry.nodes));
  }
  if (log.num_nodes < entry.nodes) {
    dataset.notes.push_back(
        fmt::format("{} of the {} published nodes have events", log.num_nodes, entry.nodes));
  }
}

Dataset read_entry(const CatalogEntry& entry, const fs::path& file, const fs::path& scratch_name,
                   const std::string& source, const UnpackLimits& limits) {
  Dataset dataset = read_download(file, scratch_name, entry.format, limits);
  check_counts(entry, dataset);
  dataset.name = entry.name;
  dataset.source = source;
  return dataset;
}

}  // namespace

Dataset fetch_network(const CatalogEntry& entry, const FetchOptions& options) {
  CURNM_ASSERT(!options.cache.empty());
  if (!options.file.empty()) {
    try {
      fs::create_directories(options.cache);
      return read_entry(entry, options.file, options.cache / options.file.filename(),
                        options.file.string(), options.unpack);
    } catch (const BadDownload& bad) {
      fail("{} is not the network {}: {}", options.file.string(), entry.name, bad.what());
    }
  }
  const Address address = address_of(entry, options.url);
  const fs::path file = options.cache / address.file;
  if (!is_downloaded(address, file)) download(address, file, options.download);
  try {
    return read_entry(entry, file, file, address.url, options.unpack);
  } catch (const BadDownload& bad) {
    remove_download(file);
    fail(
        "{} is not the network {}: {}; the download has been removed: try again, or name another "
        "address with --url",
        address.url, entry.name, bad.what());
  }
}

}  // namespace curnm
