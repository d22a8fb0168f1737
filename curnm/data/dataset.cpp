#include "curnm/data/dataset.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "curnm/base/digest.h"
#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/base/json.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view kFormat = "curnm-dataset";
constexpr int kVersion = 1;
constexpr std::int64_t kMostEvents = std::int64_t{1} << 40;
static_assert(std::endian::native == std::endian::little,
              "columns are stored as they are in memory");

template <class T>
std::span<const std::byte> bytes_of(const Column<T>& column) {
  return std::as_bytes(column.span());
}

struct ColumnSpec {
  const char* file;
  std::int64_t rows = 0;  // required if the column is present; kAnyRows for the text of the names
  std::int64_t width = 1;
  bool required = false;
  bool per_event = false;
};
constexpr std::int64_t kAnyRows = -1;

/// Calls visit(spec, column) for every column that the format knows: the one list from which
/// saving, loading and the digest come.
template <class AnyDataset, class Visit>
void for_each_column(AnyDataset& d, std::int64_t events, const Visit& visit) {
  const std::int64_t nodes = d.events.num_nodes;
  using Spec = ColumnSpec;
  const auto of_events = [&](Spec spec, auto& column) {
    spec.rows = events;
    spec.per_event = true;
    visit(spec, column);
  };
  of_events({.file = "time.f64", .required = true}, d.events.time);
  of_events({.file = "src.i32", .required = true}, d.events.src);
  of_events({.file = "dst.i32", .required = true}, d.events.dst);
  of_events({.file = "labels.f32"}, d.labels);
  of_events({.file = "roll.u8"}, d.roll);
  of_events({.file = "edge_features.f32", .width = d.edge_features.width}, d.edge_features.values);
  visit(Spec{"node_features.f32", nodes, d.node_features.width}, d.node_features.values);
  visit(Spec{"communities.i32", nodes}, d.communities);
  visit(Spec{"id_offsets.i64", nodes + 1}, d.ids.offsets);
  visit(Spec{"id_text.txt", kAnyRows}, d.ids.text);
}

/// The digest of a whole network, from those of its columns in the order of the list above.
class NetworkDigest {
 public:
  explicit NetworkDigest(NodeId nodes) : text_(fmt::format("nodes {}\n", nodes)) {}
  void add(const ColumnSpec& spec, std::string_view column_digest) {
    text_ += fmt::format("{} {} {}\n", spec.file, spec.width, column_digest);
  }
  std::string finish() const { return digest(text_); }

 private:
  std::string text_;
};

ordered_json describe(const Dataset& dataset) {
  NetworkDigest whole(dataset.events.num_nodes);
  ordered_json columns = ordered_json::object();
  for_each_column(dataset, dataset.events.size(), [&](const ColumnSpec& spec, const auto& column) {
    if (column.empty()) return;
    const std::string column_digest = digest(bytes_of(column));
    whole.add(spec, column_digest);
    columns[spec.file] = {{"bytes", bytes_of(column).size()}, {"digest", column_digest}};
  });
  return {{"format", kFormat},
          {"version", kVersion},
          {"name", dataset.name},
          {"source", dataset.source},
          {"source_format", dataset.format},
          {"nodes", dataset.events.num_nodes},
          {"events", dataset.events.size()},
          {"edge_feature_width", dataset.edge_features.width},
          {"node_feature_width", dataset.node_features.width},
          {"digest", whole.finish()},
          {"notes", dataset.notes},
          {"columns", columns}};
}

/// The document of meta.json. Throws Error for anything else.
ordered_json parse_meta(const fs::path& file) {
  ordered_json meta;
  try {
    meta = read_json(file);
  } catch (const BadJson& error) {
    fail("{} does not describe a curnm data set: {}", file.string(), error.what());
  }
  if (!meta.is_object() || meta.value("format", ordered_json()) != kFormat) {
    fail("{} does not describe a curnm data set", file.string());
  }
  return meta;
}

/// A folder that may be replaced: a curnm data set, complete or not.
bool is_replaceable(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return true;
  if (fs::is_directory(folder, error) && fs::is_empty(folder, error)) return true;
  if (!is_dataset(folder)) return false;
  try {
    parse_meta(folder / "meta.json");
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A field of meta.json, with an error that says which one is missing or of the wrong kind.
template <class T>
T field(const ordered_json& json, const fs::path& file, const char* key) {
  try {
    return json.at(key).get<T>();
  } catch (const nlohmann::json::exception&) {
    fail("{}: the field '{}' is missing or damaged; import the network again", file.string(), key);
  }
}

/// A whole number; the JSON library would also convert 4.5 or a number that does not fit.
std::int64_t integer(const ordered_json& json, const fs::path& file, const char* key) {
  const auto value = field<ordered_json>(json, file, key);
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63)) {
    fail("{}: the field '{}' is {} instead of a whole number; import the network again",
         file.string(), key, value.dump());
  }
  return value.get<std::int64_t>();
}

ordered_json read_meta(const fs::path& folder) {
  const fs::path file = folder / "meta.json";
  ordered_json meta = parse_meta(file);
  const std::int64_t version = integer(meta, file, "version");
  if (version > kVersion) {
    fail("{}: written by a newer curnm (format version {}, this one reads up to {}); update curnm",
         file.string(), version, kVersion);
  }
  if (version < 1) fail("{}: format version {} does not exist", file.string(), version);
  return meta;
}

/// Maps one column after checking it against its entry {bytes, digest} in meta.json.
template <class T>
Column<T> map_column(const fs::path& file, const ColumnSpec& spec, std::int64_t expected_bytes,
                     std::string_view expected_digest) {
  const auto mapped = MappedFile::open(file);
  const std::span<const std::byte> bytes = mapped->bytes();
  const auto size = static_cast<std::int64_t>(bytes.size());
  const bool right_rows = spec.rows == kAnyRows ||
                          size == spec.rows * spec.width * static_cast<std::int64_t>(sizeof(T));
  if (size != expected_bytes || !right_rows) {
    fail(
        "{} is truncated or damaged: {} bytes do not fit its description in meta.json; import the "
        "network again",
        file.string(), size);
  }
  if (digest(bytes) != expected_digest) {
    fail("{} is damaged: its digest differs from the one in meta.json; import the network again",
         file.string());
  }
  return {{reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)}, mapped};
}

void check_ids(const IdMap& ids, const fs::path& folder) {
  if (ids.empty()) return;
  if (!are_valid(ids)) {
    fail("{}: the offsets of the node names are damaged; import the network again",
         folder.string());
  }
}

void check_finite(const Column<float>& values, const fs::path& folder, const char* name) {
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) {
    fail("{}: {} has values that are not finite", folder.string(), name);
  }
}

}  // namespace

Extent extent_from_json(const ordered_json& json) {
  return {json_integer(json, "events", 1, kMostEvents),
          static_cast<NodeId>(json_integer(json, "nodes", 1, std::numeric_limits<NodeId>::max()))};
}

std::string Dataset::digest() const { return describe(*this)["digest"]; }

ColumnDigests Dataset::column_digests() const {
  ColumnDigests digests;
  for_each_column(*this, events.size(), [&](const ColumnSpec& spec, const auto& column) {
    if (column.empty()) return;
    const std::string_view file = spec.file;
    std::string word(file.substr(0, file.find('.')));  // edge_features
    std::ranges::replace(word, '_', ' ');
    digests[word] = curnm::digest(bytes_of(column));
    constexpr std::int64_t kMostFeatures = 256;
    if (spec.width < 2 || spec.width > kMostFeatures) return;
    word.pop_back();  // edge feature
    std::vector<std::decay_t<decltype(column[0])>> values(index(column.size() / spec.width));
    for (std::int64_t feature = 0; feature < spec.width; ++feature) {
      for (std::size_t row = 0; row < values.size(); ++row) {
        values[row] = column[static_cast<std::int64_t>(row) * spec.width + feature];
      }
      digests[fmt::format("{} {}", word, feature + 1)] =
          curnm::digest(std::as_bytes(std::span(values)));
    }
  });
  return digests;
}

StretchDigests Dataset::stretch_digests(std::int64_t first) const {
  CURNM_ASSERT(first >= 0 && first <= events.size());
  const std::int64_t count = std::min<std::int64_t>(64, first);
  StretchDigests digests;
  for (std::int64_t i = 0; i < count; ++i) {
    const EventId begin = stretch_begin(i, count, first);
    const EventId length = stretch_begin(i + 1, count, first) - begin;
    std::string of_columns;
    for_each_column(*this, events.size(), [&](const ColumnSpec& spec, const auto& column) {
      if (!spec.per_event || column.empty()) return;
      const auto rows =
          column.span().subspan(index(begin * spec.width), index(length * spec.width));
      of_columns += curnm::digest(std::as_bytes(rows));
    });
    digests.push_back(curnm::digest(of_columns));
  }
  return digests;
}

Dataset Dataset::head(const Extent& extent) const {
  CURNM_ASSERT(extent.events >= 0 && extent.events <= events.size());
  CURNM_ASSERT(extent.nodes >= 0 && extent.nodes <= events.num_nodes);
  Dataset first = *this;
  first.events.num_nodes = extent.nodes;
  for_each_column(first, extent.events, [&](const ColumnSpec& spec, auto& column) {
    if (!column.empty() && spec.rows != kAnyRows) column = column.head(spec.rows * spec.width);
  });
  if (!first.ids.empty()) first.ids.text = ids.text.head(first.ids.offsets.back());
  return first;
}

bool is_dataset(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "meta.json", error);
}

void check_target(const fs::path& folder, bool force) {
  if (!is_replaceable(folder)) {
    fail("{} exists and is not a curnm data set; it is left alone", folder.string());
  }
  std::error_code unusable;  // ignored: AtomicFolder reports the reason
  if (!force && fs::exists(folder, unusable)) {
    fail("{} exists already; pass --force to replace it", folder.string());
  }
}

void save_dataset(const Dataset& dataset, const fs::path& folder, bool force) {
  check_target(folder, force);
  AtomicFolder output(folder, force);
  for_each_column(dataset, dataset.events.size(), [&](const ColumnSpec& spec, const auto& column) {
    if (column.empty()) return;
    CURNM_ASSERT(spec.rows == kAnyRows || column.size() == spec.rows * spec.width);
    write_file(output.staging() / spec.file, bytes_of(column));
  });
  // Names and paths need not be valid UTF-8; JSON must be.
  const std::string meta = describe(dataset).dump(2, ' ', /*ensure_ascii=*/false,
                                                  ordered_json::error_handler_t::replace);
  write_file(output.staging() / "meta.json", meta + "\n");
  output.commit();
}

Dataset load_dataset(const fs::path& folder) {
  const ordered_json meta = read_meta(folder);
  const fs::path file = folder / "meta.json";
  const auto count = [&](const char* key, std::int64_t limit) {
    const std::int64_t value = integer(meta, file, key);
    if (value < 0 || value > limit) fail("{}: '{}' is {}", file.string(), key, value);
    return value;
  };
  Dataset d{.name = field<std::string>(meta, file, "name"),
            .source = field<std::string>(meta, file, "source"),
            .format = field<std::string>(meta, file, "source_format"),
            .notes = field<std::vector<std::string>>(meta, file, "notes")};
  d.events.num_nodes = static_cast<NodeId>(count("nodes", std::numeric_limits<NodeId>::max()));
  const std::int64_t events = count("events", kMostEvents);
  d.edge_features.width = count("edge_feature_width", 1 << 20);
  d.node_features.width = count("node_feature_width", 1 << 20);

  const auto columns = field<ordered_json>(meta, file, "columns");
  NetworkDigest whole(d.events.num_nodes);
  for_each_column(d, events, [&]<class T>(const ColumnSpec& spec, Column<T>& column) {
    if (!columns.contains(spec.file)) {
      if (spec.required && events > 0)
        fail("{}: the column {} is missing", file.string(), spec.file);
      return;
    }
    const auto entry = field<ordered_json>(columns, file, spec.file);
    const auto column_digest = field<std::string>(entry, file, "digest");
    whole.add(spec, column_digest);
    column = map_column<T>(folder / spec.file, spec, integer(entry, file, "bytes"), column_digest);
  });
  if ((d.edge_features.width == 0) != d.edge_features.values.empty() ||
      (d.node_features.width == 0) != d.node_features.values.empty()) {
    fail("{}: the widths of the features do not fit their columns; import the network again",
         file.string());
  }
  if (whole.finish() != field<std::string>(meta, file, "digest")) {
    fail("{}: the digest of the whole network differs; import the network again", file.string());
  }
  try {
    validate(d.events);
  } catch (const Error& error) {
    fail("{}: {}", folder.string(), error.what());
  }
  check_ids(d.ids, folder);
  if (std::any_of(d.roll.begin(), d.roll.end(), [](std::uint8_t part) { return part > 2; })) {
    fail("{}: roll.u8 has parts other than 0, 1 and 2", folder.string());
  }
  check_finite(d.edge_features.values, folder, "edge_features.f32");
  check_finite(d.node_features.values, folder, "node_features.f32");
  return d;
}

}  // namespace curnm
