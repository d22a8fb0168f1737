#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace curnm {

/// A network of the paper's evaluation: where it is published, and the counts that identify it.
struct CatalogEntry {
  std::string_view name;  // as in the paper's table
  std::string_view summary;
  std::string_view url;              // a table, or a zip with one
  std::int64_t events = 0;           // |E|
  std::int64_t nodes = 0;            // that have events
  std::int64_t paper_nodes = 0;      // |V| of the paper's table
  std::string_view format = "auto";  // for `read_network`
};

/// All of them, in the order of the paper's table.
std::span<const CatalogEntry> catalog();

/// Whether an entry has exactly this name.
bool is_catalogued(std::string_view name);
/// Looks up a name, ignoring case; null if there is none.
const CatalogEntry* look_up_network(std::string_view name);
/// The same, but throws UsageError with the nearest name for an unknown one.
const CatalogEntry& find_network(std::string_view name);

/// The |V| that the paper used for its density, if a data set has the name (ignoring case) and the
/// number of events of one of its networks; else 0.
std::int64_t published_density_nodes(std::string_view dataset_name, std::int64_t events);

}  // namespace curnm
