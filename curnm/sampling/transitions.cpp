#include "curnm/sampling/transitions.h"

#include <algorithm>

namespace curnm {

template <class Take>
void Transitions::follow(NodeId src, NodeId dst, Timestamp time, NewestOfNodes& newest,
                         const Take& take) {
  const auto meet = [&](NodeId node, NodeId partner) {
    Newest& own = newest[index(node)];
    if (own.time < time) own = {.time = time, .before = own.partner};
    own.partner = ++own.events <= kMostAtOnce ? partner : kNoNode;
    if (own.before != kNoNode) take(own.before, partner);
  };
  meet(src, dst);
  if (src != dst) meet(dst, src);
}

EventLog Transitions::all(const EventLog& log, NewestOfNodes& newest) {
  newest.resize(index(log.num_nodes));
  std::vector<NodeId> from;
  std::vector<NodeId> to;
  std::vector<Timestamp> times;
  for (EventId e = 0; e < log.size(); ++e) {
    follow(log.src[e], log.dst[e], log.time[e], newest, [&](NodeId p, NodeId y) {
      from.push_back(p);
      to.push_back(y);
      times.push_back(log.time[e]);
    });
  }
  return {std::move(from), std::move(to), std::move(times), log.num_nodes};
}

Transitions::Transitions(const EventLog& log) : history_(all(log, newest_)) {}

void Transitions::append(NodeId src, NodeId dst, Timestamp time) {
  const NodeId most = std::max(src, dst);
  newest_.resize(std::max(newest_.size(), index(most) + 1));
  history_.add_node(most);
  follow(src, dst, time, newest_, [&](NodeId p, NodeId y) { history_.append(p, y, time); });
}

}  // namespace curnm
