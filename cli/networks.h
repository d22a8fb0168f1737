#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "curnm/data/reader.h"
#include "curnm/experiments/result_set.h"

namespace curnm::cli {

/// A network that an experiment names.
struct NamedNetwork {
  std::string data;         // as `open_dataset` takes it; "" if it is not available
  std::string missing;      // why it is not available
  std::int64_t events = 0;  // 0: unknown
  std::string digest = {};  // of the data; "" if it is not present
};

/// The name under which results of a network are stored: the catalogue's spelling (uci for UCI),
/// unless the data folder has a network spelled this way.
std::string network_name(const std::string& name, const std::filesystem::path& folder);

/// Looks for the network in the data folder (or takes it as a path or synthetic[:preset]); with
/// `fetch`, a published network that is not there is downloaded into it. An experiment continues
/// without a network that is not available; UsageError is thrown for options of reading alone.
NamedNetwork find_named_network(const std::string& name, const std::filesystem::path& folder,
                                bool fetch, const ReadOptions& read = {});

/// Throws Error where a store has results on other data under that name: tables would mix them.
void refuse_other_data(const std::string& name, const NamedNetwork& network,
                       const ResultSet& known);

}  // namespace curnm::cli
