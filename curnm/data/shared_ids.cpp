#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "curnm/data/event_table.h"

// Tables where the same number may mean a user on the left and an item on the right.

namespace curnm {
namespace {

bool are_whole_numbers(const IdTable& ids) {
  for (NodeId node = 0; node < ids.size(); ++node) {
    std::string_view name = ids.name(node);
    if (name.ends_with(".0")) name.remove_suffix(2);  // as pandas writes a column with empty cells
    const bool digits = std::ranges::all_of(
        name, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    if (!digits) return false;
  }
  return true;
}

std::uint64_t pair_of(NodeId a, NodeId b) {
  return static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint64_t>(b);
}

/// Whether links are answered (a to b and b to a) clearly more often than pairs drawn with the same
/// numbers of partners would be.
bool are_answered(const EventTable& table) {
  std::vector<std::uint64_t> pairs;  // distinct and sorted
  for (std::size_t i = 0; i < table.src.size(); ++i) {
    if (table.src[i] != table.dst[i]) pairs.push_back(pair_of(table.src[i], table.dst[i]));
  }
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  const auto nodes = static_cast<std::size_t>(table.ids.size());
  std::vector<double> out(nodes, 0);
  std::vector<double> in(nodes, 0);
  const auto src = [](std::uint64_t pair) { return static_cast<std::size_t>(pair >> 32); };
  const auto dst = [](std::uint64_t pair) { return static_cast<std::size_t>(pair & 0xffffffff); };
  for (const std::uint64_t pair : pairs) {
    ++out[src(pair)];
    ++in[dst(pair)];
  }
  double answered = 0;
  double by_chance = 0;
  for (const std::uint64_t pair : pairs) {
    const auto a = src(pair);
    const auto b = dst(pair);
    answered +=
        std::ranges::binary_search(pairs, pair_of(static_cast<NodeId>(b), static_cast<NodeId>(a)));
    by_chance += out[b] * in[a] / static_cast<double>(pairs.size());
  }
  return answered > by_chance + 4 * std::sqrt(by_chance);
}

}  // namespace

void note_shared_ids(EventTable& table) {
  std::vector<bool> is_src(static_cast<std::size_t>(table.ids.size()), false);
  std::vector<bool> is_dst(is_src.size(), false);
  for (const NodeId node : table.src) is_src[static_cast<std::size_t>(node)] = true;
  for (const NodeId node : table.dst) is_dst[static_cast<std::size_t>(node)] = true;
  std::int64_t both = 0;
  for (std::size_t node = 0; node < is_src.size(); ++node) both += is_src[node] && is_dst[node];
  if (both == 0 || !are_whole_numbers(table.ids) || are_answered(table)) return;
  table.notes.push_back(fmt::format(
      "{} of {} ids are in both columns and taken for the same nodes, though links do not run both "
      "ways more often than by chance; if 5 is one node on the left and another on the right: "
      "--separate-ids on (off: as now, without this note)",
      both, table.ids.size()));
}

}  // namespace curnm
