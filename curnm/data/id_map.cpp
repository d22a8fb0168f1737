#include "curnm/data/id_map.h"

#include <algorithm>
#include <utility>

#include "curnm/base/digest.h"
#include "curnm/base/error.h"
#include "curnm/base/names.h"

namespace curnm {

std::string IdMap::name(NodeId node) const {
  if (empty()) return std::to_string(node);
  return {text.data() + offsets[node], text.data() + offsets[node + 1]};
}

NodeNames::NodeNames(const IdMap& ids, NodeId num_nodes) {
  for (NodeId node = 0; node < num_nodes; ++node) nodes_.emplace(ids.name(node), node);
}

NodeId NodeNames::find_known(std::string_view name) const {
  const auto found = nodes_.find(std::string(name));
  return found == nodes_.end() ? kNoNode : found->second;
}

NodeId NodeNames::find(std::string_view name) const {
  if (const NodeId node = find_known(name); node != kNoNode) return node;
  std::vector<std::string_view> known;
  for (const auto& [other, node] : nodes_) known.push_back(other);
  std::sort(known.begin(), known.end());
  const std::string_view near = nearest_name(name, known);
  fail("node '{}' is not in the network{}", quotable(name),
       near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

bool are_valid(const IdMap& ids) {
  return std::is_sorted(ids.offsets.begin(), ids.offsets.end()) && ids.offsets.front() == 0 &&
         ids.offsets.back() == ids.text.size();
}

NodeId IdTable::intern(std::string_view name) {
  if (offsets_.size() * 2 > slots_.size()) grow();
  NodeId& node = slots_[slot(name)];
  if (node == kNoNode) {
    if (size() == capacity_) fail("more than {} distinct nodes are not supported", capacity_);
    node = size();
    text_.insert(text_.end(), name.begin(), name.end());
    offsets_.push_back(static_cast<std::int64_t>(text_.size()));
  }
  return node;
}

std::string_view IdTable::name(NodeId node) const {
  const auto row = static_cast<std::size_t>(node);
  return {text_.data() + offsets_[row],
          static_cast<std::size_t>(offsets_[row + 1] - offsets_[row])};
}

IdMap IdTable::finish() {
  slots_.clear();
  return {std::exchange(offsets_, {0}), std::exchange(text_, {})};
}

std::size_t IdTable::slot(std::string_view wanted) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash64(wanted) & mask;
  while (slots_[at] != kNoNode && name(slots_[at]) != wanted) at = (at + 1) & mask;
  return at;
}

void IdTable::grow() {
  slots_.assign(std::max<std::size_t>(64, slots_.size() * 2), kNoNode);
  for (NodeId node = 0; node < size(); ++node) slots_[slot(name(node))] = node;
}

}  // namespace curnm
