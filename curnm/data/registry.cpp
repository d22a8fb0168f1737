#include <algorithm>
#include <array>

#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/data/readers.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

// In the order in which they are tried: the most specific first.
constexpr std::array<Reader, 5> kReaders = {{
    {"dyglib", "ml_X.csv with ml_X.npy and ml_X_node.npy", recognises_dyglib, read_dyglib},
    {"tgl", "a folder with edges.csv and edge_features.npy, node_features.npy", recognises_tgl,
     read_tgl},
    {"jodie", "user_id,item_id,timestamp,state_label,features...", recognises_jodie, read_jodie,
     ReadUse::kCells},
    {"jsonl", "one JSON object per line, its keys as in a table", recognises_jsonl, read_table,
     ReadUse::kAll},
    {"csv", "src,dst,time[,label][,features...], any delimiter; .gz, .bz2 and .zst too",
     recognises_csv, read_table, ReadUse::kAll},
}};

const Reader& recognise(const fs::path& path) {
  for (const Reader& reader : kReaders) {
    if (reader.recognises(path)) return reader;
  }
  fail(
      "{} is no known kind of network: expected a table (csv, tsv, jsonl, compressed or not) or a "
      "folder with edges.csv or ml_*.csv",
      path.string());
}

}  // namespace

void ReadOptions::fields(const FieldVisitor& visit) {
  visit({.name = "src-column", .help = "column of the sources, by name or number"}, src_column);
  visit({.name = "dst-column", .help = "column of the destinations"}, dst_column);
  visit({.name = "time-column", .help = "column of the times"}, time_column);
  visit({.name = "drop-columns", .help = "columns to leave out: a,b"}, drop_columns);
  visit({.name = "category-columns", .help = "features whose numbers are codes: a,b"},
        category_columns);
  visit({.name = "separate-ids",
         .help = "source 5 and destination 5 are different nodes; auto: where the header names two "
                 "kinds"},
        separate_ids);
  visit({.name = "empty", .help = "empty cells: an error, 0, or the row is left out"}, empty);
  visit({.name = "node-features", .help = "table of node features, ids in its first column"},
        node_features);
  visit({.name = "unpack-limit",
         .help = "MB that a compressed table may have; 0: 100 times its size",
         .min = 0,
         .max = 1e9},
        unpack_limit);
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

std::span<const Reader> readers() { return kReaders; }

Dataset read_network(const fs::path& path, std::string_view format, const ReadOptions& options) {
  std::error_code error;
  if (!fs::exists(path, error)) fail("{} does not exist", path.string());
  const Reader& reader =
      format == "auto" ? recognise(path) : find_entry("format", readers(), format);
  ReadOptions usable;
  usable.unpack_limit = options.unpack_limit;
  if (reader.uses == ReadUse::kCells) {
    usable.empty = options.empty;
    usable.node_features = options.node_features;
  }
  if (reader.uses != ReadUse::kAll && options != usable) {
    throw UsageError(fmt::format(
        "the options of reading are for plain tables; {} is read as '{}' (--format csv forces it)",
        path.string(), reader.name));
  }
  Dataset dataset = reader.read(path, options);
  dataset.format = reader.name;
  dataset.source = path.string();
  return dataset;
}

}  // namespace curnm
