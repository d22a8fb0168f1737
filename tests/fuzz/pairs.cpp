#include "curnm/data/pair_table.h"
#include "fuzz/target.h"

// Tables of pairs to score, and JSON lines of them. What can be read as a network is a table of
// pairs, with as many rows.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = workspace().write("pairs.csv", text_of(data, size));
  std::int64_t rows = 0;
  const auto without_zone = value_or_error([&] {
    return for_each_pair(path, {}, [&](const PairRow& row) {
      require(row.time >= 0 && row.time < std::numeric_limits<double>::infinity(), "a bad time");
      ++rows;
    });
  });
  if (without_zone) require(rows > 0 && *without_zone <= rows, "another number of dates");
  const auto network = value_or_error([&] { return read_network(path, "csv"); });
  if (network) {
    require(without_zone.has_value(), "a network that is no table of pairs");
    require(network->events.size() == rows, "another number of rows");
  }
  return 0;
}

}  // namespace curnm::fuzz
