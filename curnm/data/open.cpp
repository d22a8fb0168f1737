#include "curnm/data/open.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/base/printable.h"
#include "curnm/data/catalog.h"
#include "curnm/data/reader.h"
#include "curnm/data/synthetic.h"

namespace curnm {

constexpr std::string_view kSyntheticPrefix = "synthetic";

bool is_synthetic(std::string_view data) {
  return data == kSyntheticPrefix || data.starts_with("synthetic:");
}

std::string from_anywhere(const std::string& data) {
  if (!is_text(data)) fail("the path of a network has to be UTF-8, so that a run can name it");
  return is_synthetic(data) ? data : std::filesystem::absolute(data).lexically_normal().string();
}

bool is_raw(const std::string& data) { return !is_synthetic(data) && !is_dataset(data); }

Dataset open_dataset(std::string_view data, const ReadOptions& options) {
  if (options != ReadOptions{} && !is_raw(std::string(data))) {
    throw UsageError(fmt::format(
        "the options of reading are for raw tables, and {} is {}", data,
        is_synthetic(data) ? "generated" : "imported already (give them to `curnm import`)"));
  }
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
  return is_dataset(path) ? load_dataset(path) : read_network(path, "auto", options);
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

namespace {

/// The events among which the first difference is: "the first difference is among the events 11 to
/// 20". Empty if there is none, or too little is known.
std::string first_difference(const Dataset& dataset, const KnownNetwork& known) {
  const std::int64_t events = known.extent.events;
  const std::int64_t count = std::ssize(known.stretches);
  if (count == 0 || events < count || dataset.events.size() < events) return "";
  const StretchDigests now = dataset.stretch_digests(events);
  if (now.size() != known.stretches.size()) return "";
  const auto [at, ignored] = std::ranges::mismatch(now, known.stretches);
  if (at == now.end()) return "";
  const std::int64_t i = at - now.begin();
  const EventId first = stretch_begin(i, count, events) + 1;
  const EventId last = stretch_begin(i + 1, count, events);
  if (first == last) return fmt::format("event {} is the first that differs", first);
  return fmt::format("the first event that differs is between {} and {}", first, last);
}

/// A single feature is named instead of all of them, where that is known.
std::vector<std::string> differing_columns(const Dataset& dataset, const ColumnDigests& known) {
  const ColumnDigests columns = dataset.column_digests();
  std::vector<std::string> differing;
  const auto is_one_of_several = [](const std::string& name) {
    return std::isdigit(static_cast<unsigned char>(name.back())) != 0;
  };
  for (const auto& [name, digest] : known) {
    const auto found = columns.find(name);
    if (found == columns.end() || found->second != digest) differing.push_back(name);
  }
  for (const auto& [name, digest] : columns) {
    // Older records have features as a whole.
    if (!known.contains(name) && !is_one_of_several(name)) differing.push_back(name);
  }
  const auto stands_alone = [&](const std::string& all) {
    return std::ranges::any_of(differing, [&](const std::string& name) {
      return is_one_of_several(name) && name.starts_with(all.substr(0, all.size() - 1) + " ");
    });
  };
  std::vector<std::string> named;
  for (const std::string& name : differing) {
    if (is_one_of_several(name) || !stands_alone(name)) named.push_back(name);
  }
  constexpr std::size_t kMostNamed = 8;
  if (named.size() > kMostNamed) {
    const std::size_t more = named.size() - kMostNamed;
    named.resize(kMostNamed);
    named.push_back(fmt::format("{} more", more));
  }
  return named;
}

}  // namespace

std::string difference(const Dataset& dataset, const KnownNetwork& known) {
  const Extent now = dataset.extent();
  std::vector<std::string> parts;
  if (known.extent.events > 0 && now.events != known.extent.events) {
    parts.push_back(fmt::format("it has {} events instead of {}", now.events, known.extent.events));
  }
  if (known.extent.nodes > 0 && now.nodes != known.extent.nodes) {
    parts.push_back(fmt::format("it has {} nodes instead of {}", now.nodes, known.extent.nodes));
  }
  if (parts.empty() && !known.columns.empty()) {
    parts.push_back(fmt::format("as many events and nodes, but another {}",
                                fmt::join(differing_columns(dataset, known.columns), ", ")));
  }
  if (parts.empty()) parts.emplace_back("as many events and nodes, but other contents");
  if (std::string where = first_difference(dataset, known); !where.empty()) {
    parts.push_back(std::move(where));
  }
  return fmt::format("{} (digest {} instead of {})", fmt::join(parts, ", "), dataset.digest(),
                     known.digest);
}

}  // namespace curnm
