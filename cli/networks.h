#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "curnm/experiments/result_set.h"

namespace curnm::cli {

/// A network that an experiment names.
struct NamedNetwork {
  std::string data;         // as `open_dataset` takes it; "" where it cannot be had
  std::string missing;      // why it cannot
  std::int64_t events = 0;  // 0: unknown
  std::string digest = {};  // of the data; "" while it is not here
};

/// The name that the results of a network are known by: that of the catalogue (uci for UCI), unless
/// the folder of networks has one that is called so.
std::string network_name(const std::string& name, const std::filesystem::path& folder);

/// Looks for the network in the folder of networks (or takes it as a path or synthetic[:preset]);
/// one of the catalogue that is not there is downloaded into it, if `fetch`. Never throws: an
/// experiment goes on without a network that cannot be had.
NamedNetwork find_named_network(const std::string& name, const std::filesystem::path& folder,
                                bool fetch);

/// Throws Error where a store has results on other data under that name: tables would mix them.
void refuse_other_data(const std::string& name, const NamedNetwork& network,
                       const ResultSet& known);

}  // namespace curnm::cli
