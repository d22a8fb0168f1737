#include "curnm/serving/live_network.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

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

LiveNetwork::LiveNetwork(const Dataset& base, const Keep& keep)
    : named_(!base.ids.empty()),
      has_node_features_(base.node_features.width > 0),
      num_nodes_(base.events.num_nodes),
      src_(base.events.src.begin(), base.events.src.end()),
      dst_(base.events.dst.begin(), base.events.dst.end()),
      time_(base.events.time.begin(), base.events.time.end()),
      keep_(keep),
      indices_(std::make_unique<Indices>(base.events)) {
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
  make_room_for_nodes();
  for (EventId e = 0; e < base.events.size(); ++e) note(e);
  show_columns();
}

void LiveNetwork::make_room_for_nodes() {
  if (std::ssize(first_as_source_) >= num_nodes_) return;
  first_as_source_.resize(index(num_nodes_), kNotYet);
  first_as_destination_.resize(index(num_nodes_), kNotYet);
  was_source_.resize(index(num_nodes_), 0);
  was_destination_.resize(index(num_nodes_), 0);
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

std::int64_t LiveNetwork::most_nodes_with(const StreamEvents& events, std::int64_t begin,
                                          std::int64_t end) const {
  if (has_node_features_) return num_nodes_;
  if (named_) return num_nodes_ + 2 * (end - begin);
  // Numbers may skip some, which are born as well.
  NodeId last = num_nodes_ - 1;
  for (std::int64_t i = begin; i < end; ++i) {
    last = std::max({last, parse_number(events.src[index(i)]), parse_number(events.dst[index(i)])});
  }
  return std::int64_t{last} + 1;
}

NodeId LiveNetwork::number(std::string_view name) {
  const NodeId node = named_ ? ids_.intern(name) : parse_number(name);
  CURNM_ASSERT(node != kNoNode);
  num_nodes_ = std::max(num_nodes_, node + 1);
  make_room_for_nodes();
  return node;
}

/// Keeps account of roles. REQUIRES: all earlier events have been noted.
void LiveNetwork::note(EventId event) {
  const auto src = index(src_[index(event)]);
  const auto dst = index(dst_[index(event)]);
  const Timestamp t = time_[index(event)];
  if (first_as_source_[src] == kNotYet) first_as_source_[src] = t;
  if (first_as_destination_[dst] == kNotYet) first_as_destination_[dst] = t;
  was_source_[src] = was_destination_[dst] = 1;
  const EventId of_stream = dropped_ + event;
  const bool mixed = was_destination_[src] != 0 || was_source_[dst] != 0;
  if (mixed) first_mixed_ = std::min(first_mixed_, of_stream);
  if (src == dst) first_loop_ = std::min(first_loop_, of_stream);
}

void LiveNetwork::append(std::string_view src, std::string_view dst, Timestamp time) {
  src_.push_back(number(src));
  dst_.push_back(number(dst));
  time_.push_back(time);
  const EventId event = std::ssize(time_) - 1;
  note(event);
  indices_->append(src_.back(), dst_.back(), time, event);
  show_columns();
}

std::vector<NodeId> LiveNetwork::destinations(Timestamp t, EventId least) const {
  const bool bipartite = first_mixed_ >= std::max(dropped_ + events_before(t), least);
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
  return first_loop_ < std::max(dropped_ + events_before(t), least);
}

std::vector<NodeId> LiveNetwork::choices(NodeId src, Timestamp t, EventId least,
                                         bool with_seen) const {
  const bool loops = has_loops(t, least);
  std::vector<NodeId> nodes = destinations(t, least);
  std::erase_if(nodes, [&](NodeId node) {
    if (node == src && !loops) return true;
    return !with_seen && indices_->pairs.last_before(src, node, t) != kNever;
  });
  return nodes;
}

// ------------------------------------------------------------------ forgetting

EventId LiveNetwork::first_kept_with(std::span<const Timestamp> more) const {
  const EventId known = events() + std::ssize(more);
  if (keep_.everything() || known == 0) return 0;
  const Timestamp newest = more.empty() ? time_.back() : more.back();
  const EventId first = keep_.first(known, newest, time_, dropped_);
  // Among the new ones if it is after all others.
  return std::max(first_kept_,
                  first < events() ? first : keep_.first(known, newest, more, events()));
}

/// The indices of a log from one of its events on.
std::unique_ptr<Indices> LiveNetwork::indices_from(const EventLog& log, EventId begin) const {
  std::vector<EventId> ids(index(log.size() - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return std::make_unique<Indices>(log, ids, select(log, ids));
}

/// How many events must be known for `first` to be the first one that is kept.
EventId LiveNetwork::known_when(EventId first, std::span<const Timestamp> more) const {
  const auto kept = [&](EventId known) {
    if (known > events()) return first_kept_with(more.first(index(known - events())));
    return keep_.first(known, time_[index(known - 1 - dropped_)], time_, dropped_);
  };
  EventId low = dropped_ + 1;
  EventId high = events() + std::ssize(more);
  while (low < high) {
    const EventId middle = low + (high - low) / 2;
    if (kept(middle) < first) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return high;
}

LiveNetwork::Rest LiveNetwork::rest(EventId first, std::span<const Timestamp> more,
                                    EventId droppable, std::int64_t batch) const {
  CURNM_ASSERT(first >= first_kept_ && first <= events());
  // Events at the newest time may still be met by others at the same time.
  const EventId earlier = time_.empty() ? 0 : events_before(time_.back());
  const EventId most = std::min({first - dropped_, droppable, earlier});
  const EventId cut = most / batch * batch;
  Rest rest{.dropped = dropped_ + cut, .first_kept = first, .kept_since = known_when(first, more)};
  rest.src.assign(src_.begin() + cut, src_.end());
  rest.dst.assign(dst_.begin() + cut, dst_.end());
  rest.time.assign(time_.begin() + cut, time_.end());
  const EventLog log{Column<NodeId>(rest.src, nullptr), Column<NodeId>(rest.dst, nullptr),
                     Column<Timestamp>(std::span<const Timestamp>(rest.time), nullptr), num_nodes_};
  const EventId begin = first - rest.dropped;
  rest.indices = indices_from(log, begin);
  rest.first_as_source.assign(index(num_nodes_), kNotYet);
  rest.first_as_destination.assign(index(num_nodes_), kNotYet);
  for (EventId e = log.size(); e-- > begin;) {  // the earliest is written last
    rest.first_as_source[index(log.src[e])] = log.time[e];
    rest.first_as_destination[index(log.dst[e])] = log.time[e];
  }
  return rest;
}

void LiveNetwork::put(Rest rest) {
  CURNM_ASSERT(rest.dropped + std::ssize(rest.time) == events());
  dropped_ = rest.dropped;
  first_kept_ = rest.first_kept;
  kept_since_ = rest.kept_since;
  src_ = std::move(rest.src);
  dst_ = std::move(rest.dst);
  time_ = std::move(rest.time);
  indices_ = std::move(rest.indices);
  first_as_source_ = std::move(rest.first_as_source);
  first_as_destination_ = std::move(rest.first_as_destination);
  show_columns();
}

LiveNetwork::Forgotten LiveNetwork::forgotten(NodeId base_nodes) const {
  Forgotten all{.dropped = dropped_,
                .first_kept = first_kept_,
                .first_mixed = first_mixed_,
                .first_loop = first_loop_,
                .was_source = was_source_,
                .was_destination = was_destination_};
  for (NodeId node = base_nodes; node < num_nodes_; ++node) all.born.push_back(name(node));
  return all;
}

void LiveNetwork::begin_resume(const Forgotten& forgotten) {
  CURNM_ASSERT(dropped_ == 0);
  for (const std::string& name : forgotten.born) number(name);
  // Of the base, the events that were still there.
  const auto gone = std::min<EventId>(forgotten.dropped, std::ssize(time_));
  src_.erase(src_.begin(), src_.begin() + gone);
  dst_.erase(dst_.begin(), dst_.begin() + gone);
  time_.erase(time_.begin(), time_.begin() + gone);
  dropped_ = forgotten.dropped;
  show_columns();
  indices_ = indices_from(log_, 0);
}

void LiveNetwork::finish_resume(const Forgotten& forgotten) {
  first_mixed_ = forgotten.first_mixed;
  first_loop_ = forgotten.first_loop;
  was_source_ = forgotten.was_source;
  was_destination_ = forgotten.was_destination;
  put(rest(forgotten.first_kept, /*more=*/{}, /*droppable=*/0, /*batch=*/1));
}

}  // namespace curnm
