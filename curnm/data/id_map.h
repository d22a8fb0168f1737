#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "curnm/base/column.h"
#include "curnm/base/types.h"

namespace curnm {

/// Outside names of the nodes. Empty for networks that name their nodes 0 .. N-1 themselves.
struct IdMap {
  Column<std::int64_t> offsets;  // [N+1]: name n is text[offsets[n] .. offsets[n+1])
  Column<char> text;

  bool empty() const { return offsets.empty(); }
  /// The outside name of a node (its number where there is no map).
  std::string name(NodeId node) const;
};

/// Whether offsets and text fit together. REQUIRES: it is not empty.
bool are_valid(const IdMap& ids);

/// Finds nodes by their outside names. Built in O(N).
class NodeNames {
 public:
  NodeNames(const IdMap& ids, NodeId num_nodes);
  /// Throws Error for a name that the network does not have, with the nearest that it has.
  NodeId find(std::string_view name) const;
  /// The same; kNoNode for such a name.
  NodeId find_known(std::string_view name) const;

 private:
  std::unordered_map<std::string, NodeId> nodes_;
};

/// Gives outside names dense numbers in the order of their first appearance.
class IdTable {
 public:
  explicit IdTable(NodeId capacity = std::numeric_limits<NodeId>::max()) : capacity_(capacity) {}

  /// The number of a name, new or known. Throws Error when the numbers run out.
  NodeId intern(std::string_view name);
  /// The number of a known name, otherwise kNoNode.
  NodeId find(std::string_view name) const { return slots_.empty() ? kNoNode : slots_[slot(name)]; }
  NodeId size() const { return static_cast<NodeId>(offsets_.size()) - 1; }
  std::string_view name(NodeId node) const;

  /// Moves the names out; the table is empty afterwards.
  IdMap finish();

 private:
  std::size_t slot(std::string_view name) const;
  void grow();

  NodeId capacity_;
  std::vector<std::int64_t> offsets_ = {0};
  std::vector<char> text_;
  std::vector<NodeId> slots_;  // open addressing, a power of two
};

}  // namespace curnm
