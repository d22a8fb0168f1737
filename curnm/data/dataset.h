#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/column.h"
#include "curnm/data/id_map.h"
#include "curnm/graph/event_log.h"

namespace curnm {

/// The size of a network.
struct Extent {
  std::int64_t events = 0;
  NodeId nodes = 0;
};

/// From the keys `events` and `nodes` of a record. Throws BadJson.
Extent extent_from_json(const nlohmann::ordered_json& json);
/// The digest of each column that a data set has, by a word for it: time, id text, edge features;
/// of several features also that of each: edge feature 2.
using ColumnDigests = std::map<std::string, std::string>;
/// Digests of the first events in stretches of equal length, to say where two networks part.
using StretchDigests = std::vector<std::string>;
/// Where stretch i of `count` begins.
constexpr EventId stretch_begin(std::int64_t i, std::int64_t count, std::int64_t events) {
  return i * (events / count) + i * (events % count) / count;
}

/// A temporal network with everything that belongs to it. Optional columns are empty when absent.
struct Dataset {
  std::string name;
  std::string source;  // the file or folder it was read from, or how it was made
  std::string format;  // of that source
  EventLog events;
  Column<float> labels;         // [E]
  Column<std::uint8_t> roll;    // [E]: 0 train, 1 validation, 2 test, if the source has a split
  FeatureMatrix edge_features;  // [E,F]
  FeatureMatrix node_features;  // [N,F]
  IdMap ids;
  Column<std::int32_t> communities;  // [N]: planted truth of synthetic networks, -1 without one
  std::vector<std::string> notes;    // remarks for the user about how the source was read

  /// Identifies the content, whatever file it came from.
  std::string digest() const;
  ColumnDigests column_digests() const;
  /// Of everything that belongs to the first `events` events, which exist.
  StretchDigests stretch_digests(std::int64_t events) const;

  Extent extent() const { return {events.size(), events.num_nodes}; }
  /// The data set before it grew: its first events and nodes. REQUIRES: at least that many exist.
  /// The first events should refer to the first nodes only.
  Dataset head(const Extent& extent) const;
};

/// Writes a folder: meta.json and one raw little-endian file per column. The folder appears
/// complete or not at all. An existing data set is replaced only with `force`, anything else never.
void save_dataset(const Dataset& dataset, const std::filesystem::path& folder, bool force);
/// Throws the Error that save_dataset would throw because of an existing target: call it before
/// long work.
void check_target(const std::filesystem::path& folder, bool force);

/// Maps a folder that `save_dataset` wrote. Checks version, sizes, digests and the log's
/// invariants; throws Error naming the file that is damaged.
Dataset load_dataset(const std::filesystem::path& folder);

/// Does the folder look like a curnm data set? (`load_dataset` may still find it damaged.)
bool is_dataset(const std::filesystem::path& folder);

}  // namespace curnm
