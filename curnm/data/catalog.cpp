#include "curnm/data/catalog.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "curnm/base/names.h"

namespace curnm {
namespace {

// The counts are the paper's, except `nodes`. Its |V| is mostly one more than there are nodes (a
// row of padding); that of LASTFM is exact, and that of MOOC counts the students without the items.
//
// The addresses are those that public programs use. No test depends on them.
// The zips hold ml_X.csv, ml_X.npy and ml_X_node.npy, mostly with the original X.csv. REDDIT comes
// from its first publishers: the zip of it is packed with Deflate64, which libarchive cannot read.
constexpr std::array<CatalogEntry, 12> kCatalog = {{
    {"uci", "messages between students",
     "https://zenodo.org/records/7213796/files/uci.zip?download=1", 59835, 1899, 1900},
    {"USLegis", "co-sponsored bills in the US senate",
     "https://zenodo.org/records/7213796/files/USLegis.zip?download=1", 60396, 225, 226},
    {"CanParl", "members of the Canadian parliament who vote alike",
     "https://zenodo.org/records/7213796/files/CanParl.zip?download=1", 74478, 734, 735},
    {"enron", "e-mails between employees",
     "https://zenodo.org/records/7213796/files/enron.zip?download=1", 125235, 184, 185},
    {"WIKI", "users who edit Wikipedia pages",
     "https://zenodo.org/records/7213796/files/wikipedia.zip?download=1", 157474, 9227, 9228},
    {"MOOC", "students who use the items of an online course",
     "https://zenodo.org/records/7213796/files/mooc.zip?download=1", 411749, 7144, 7047},
    {"UNtrade", "trade in food between nations",
     "https://zenodo.org/records/7213796/files/UNtrade.zip?download=1", 507497, 255, 256},
    {"REDDIT", "users who post to subreddits", "https://snap.stanford.edu/jodie/reddit.csv", 672447,
     10984, 10985},
    {"myket", "users who install Android applications",
     "https://raw.githubusercontent.com/erfanloghmani/myket-android-application-market-dataset/"
     "main/data_int_index/myket.csv",
     694121, 17988, 17989},
    {"UNvote", "nations that vote alike in the UN assembly",
     "https://zenodo.org/records/7213796/files/UNvote.zip?download=1", 1035742, 201, 202},
    {"LASTFM", "users who listen to songs",
     "https://zenodo.org/records/7213796/files/lastfm.zip?download=1", 1293103, 1980, 1980},
    {"Flights", "flights between airports",
     "https://zenodo.org/records/7213796/files/Flights.zip?download=1", 1927145, 13169, 13170},
}};

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::span<const CatalogEntry> catalog() { return kCatalog; }

bool is_catalogued(std::string_view name) {
  return std::ranges::find(kCatalog, name, &CatalogEntry::name) != kCatalog.end();
}

const CatalogEntry* look_up_network(std::string_view name) {
  const auto found = std::ranges::find_if(
      kCatalog, [&](const CatalogEntry& entry) { return same_name(entry.name, name); });
  return found == kCatalog.end() ? nullptr : &*found;
}

const CatalogEntry& find_network(std::string_view name) {
  const CatalogEntry* entry = look_up_network(name);
  return entry != nullptr ? *entry : find_entry("network", catalog(), name);  // throws
}

std::int64_t published_density_nodes(std::string_view dataset_name, std::int64_t events) {
  const CatalogEntry* entry = look_up_network(dataset_name);
  return entry != nullptr && entry->events == events ? entry->paper_nodes : 0;
}

}  // namespace curnm
