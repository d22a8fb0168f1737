#include <array>

#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/data/readers.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

// In the order in which they are tried: the most specific first.
constexpr std::array<Reader, 4> kReaders = {{
    {"dyglib", "ml_X.csv with ml_X.npy and ml_X_node.npy", recognises_dyglib, read_dyglib},
    {"tgl", "a folder with edges.csv and edge_features.npy, node_features.npy", recognises_tgl,
     read_tgl},
    {"jodie", "user_id,item_id,timestamp,state_label,features...", recognises_jodie, read_jodie},
    {"csv", "src,dst,time[,label][,features...], any delimiter, .gz too", recognises_csv, read_csv},
}};

const Reader& recognise(const fs::path& path) {
  for (const Reader& reader : kReaders) {
    if (reader.recognises(path)) return reader;
  }
  fail(
      "{} is no known kind of network: expected a table (csv, tsv, .gz) or a folder with edges.csv "
      "or ml_*.csv",
      path.string());
}

}  // namespace

std::span<const Reader> readers() { return kReaders; }

Dataset read_network(const fs::path& path, std::string_view format, const ReadOptions& options) {
  std::error_code error;
  if (!fs::exists(path, error)) fail("{} does not exist", path.string());
  const Reader& reader =
      format == "auto" ? recognise(path) : find_entry("format", readers(), format);
  if (reader.name != "csv" && options != ReadOptions{}) {
    throw UsageError(fmt::format(
        "the column options are for plain tables; {} is read as '{}' (--format csv forces it)",
        path.string(), reader.name));
  }
  Dataset dataset = reader.read(path, options);
  dataset.format = reader.name;
  dataset.source = path.string();
  return dataset;
}

}  // namespace curnm
