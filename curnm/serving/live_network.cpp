#include "curnm/serving/live_network.h"

#include <algorithm>
#include <charconv>

#include "curnm/base/error.h"
#include "curnm/base/names.h"

namespace curnm {
namespace {

constexpr Timestamp kNotYet = -kNever;

std::string kind_of(const std::string& name) { return name.substr(0, name.find(':') + 1); }

NodeId parse_number(std::string_view name) {
  NodeId node = kNoNode;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), node);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && node >= 0 ? node : kNoNode;
}

}  // namespace

LiveNetwork::LiveNetwork(const Dataset& base)
    : named_(!base.ids.empty()),
      has_node_features_(base.node_features.width > 0),
      num_nodes_(base.events.num_nodes),
      src_(base.events.src.begin(), base.events.src.end()),
      dst_(base.events.dst.begin(), base.events.dst.end()),
      time_(base.events.time.begin(), base.events.time.end()),
      indices_(base.events) {
  if (named_) {
    for (NodeId node = 0; node < num_nodes_; ++node) ids_.intern(base.ids.name(node));
  }
  if (named_ && base.events.size() > 0) {
    const std::string of_src = kind_of(base.ids.name(base.events.src.front()));
    const std::string of_dst = kind_of(base.ids.name(base.events.dst.front()));
    if (of_src != of_dst) {
      source_kind_ = of_src;
      destination_kind_ = of_dst;
    }
  }
  first_as_source_.assign(index(num_nodes_), kNotYet);
  first_as_destination_.assign(index(num_nodes_), kNotYet);
  for (EventId e = 0; e < base.events.size(); ++e) note(e);
  show_columns();
}

void LiveNetwork::show_columns() {
  log_ = {Column<NodeId>(src_, nullptr), Column<NodeId>(dst_, nullptr),
          Column<Timestamp>(std::span<const Timestamp>(time_), nullptr), num_nodes_};
}

EventId LiveNetwork::events_before(Timestamp t) const {
  return std::lower_bound(time_.begin(), time_.end(), t) - time_.begin();
}

NodeId LiveNetwork::find(std::string_view name, Role role) const {
  if (!named_) {
    const NodeId node = parse_number(name);
    return node < num_nodes_ ? node : kNoNode;
  }
  const NodeId node = ids_.find(name);
  const std::string& kind = role == Role::kSource ? source_kind_ : destination_kind_;
  return node != kNoNode || kind.empty() ? node : ids_.find(kind + std::string(name));
}

std::string LiveNetwork::name(NodeId node) const {
  return named_ ? std::string(ids_.name(node)) : std::to_string(node);
}

std::string LiveNetwork::resolved(std::string_view name, Role role) const {
  if (!named_) return std::string(name);
  if (const NodeId node = find(name, role); node != kNoNode) return std::string(ids_.name(node));
  const std::string& kind = role == Role::kSource ? source_kind_ : destination_kind_;
  return name.starts_with(kind) ? std::string(name) : kind + std::string(name);
}

void LiveNetwork::check_names(const StreamEvents& events) const {
  // As far as the numbers of new nodes may go: one far off would cost memory for all before it.
  const std::int64_t most = num_nodes_ + 2 * events.size();
  const auto check = [&](const std::string& name, Role role) {
    if (find(name, role) != kNoNode) return;
    if (has_node_features_) {
      fail("node '{}' is new: every node of this network has features, and its are not known",
           quotable(name));
    }
    if (named_) return;
    if (const NodeId node = parse_number(name); node == kNoNode || node >= most) {
      fail("node '{}': nodes of this network are the numbers 0 .. {}, new ones follow them",
           quotable(name), num_nodes_ - 1);
    }
  };
  for (std::size_t i = 0; i < events.time.size(); ++i) {
    check(events.src[i], Role::kSource);
    check(events.dst[i], Role::kDestination);
  }
}

NodeId LiveNetwork::number(std::string_view name) {
  const NodeId node = named_ ? ids_.intern(name) : parse_number(name);
  CURNM_ASSERT(node != kNoNode);
  num_nodes_ = std::max(num_nodes_, node + 1);
  if (std::ssize(first_as_source_) < num_nodes_) {
    first_as_source_.resize(index(num_nodes_), kNotYet);
    first_as_destination_.resize(index(num_nodes_), kNotYet);
  }
  return node;
}

/// Keeps account of roles. REQUIRES: all earlier events have been noted.
void LiveNetwork::note(EventId event) {
  const auto src = index(src_[index(event)]);
  const auto dst = index(dst_[index(event)]);
  const Timestamp t = time_[index(event)];
  if (first_as_source_[src] == kNotYet) first_as_source_[src] = t;
  if (first_as_destination_[dst] == kNotYet) first_as_destination_[dst] = t;
  const bool mixed = first_as_destination_[src] != kNotYet || first_as_source_[dst] != kNotYet;
  if (mixed) first_mixed_ = std::min(first_mixed_, event);
  if (src == dst) first_loop_ = std::min(first_loop_, event);
}

void LiveNetwork::append(std::string_view src, std::string_view dst, Timestamp time) {
  src_.push_back(number(src));
  dst_.push_back(number(dst));
  time_.push_back(time);
  const EventId event = std::ssize(time_) - 1;
  note(event);
  indices_.append(src_.back(), dst_.back(), time, event);
  show_columns();
}

std::vector<NodeId> LiveNetwork::destinations(Timestamp t, EventId least) const {
  const bool bipartite = first_mixed_ >= std::max(events_before(t), least);
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < num_nodes_; ++node) {
    if (first_as_destination_[index(node)] < t ||
        (!bipartite && first_as_source_[index(node)] < t)) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

bool LiveNetwork::has_loops(Timestamp t, EventId least) const {
  return first_loop_ < std::max(events_before(t), least);
}

std::vector<NodeId> LiveNetwork::choices(NodeId src, Timestamp t, EventId least,
                                         bool with_seen) const {
  const bool loops = has_loops(t, least);
  std::vector<NodeId> nodes = destinations(t, least);
  std::erase_if(nodes, [&](NodeId node) {
    if (node == src && !loops) return true;
    return !with_seen && indices_.pairs.last_before(src, node, t) != kNever;
  });
  return nodes;
}

}  // namespace curnm
