#include "curnm/sampling/links.h"

#include <bit>

#include "curnm/base/distinct_rows.h"

namespace curnm {
namespace {

/// Distinct (node, time) pairs, numbered in order of appearance. Open addressing: a step has
/// thousands.
class RootTable {
 public:
  explicit RootTable(std::size_t most)
      : slots_(std::bit_ceil(2 * most + 1), kFree), mask_(slots_.size() - 1) {}

  std::int64_t number(NodeId node, Timestamp time) {
    const std::uint64_t bits = bits_of(time);
    std::uint64_t hash = (bits ^ (static_cast<std::uint64_t>(node) << 32)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
    for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      std::int32_t& found = slots_[slot];
      if (found == kFree) {
        found = static_cast<std::int32_t>(nodes.size());
        nodes.push_back(node);
        times.push_back(time);
        return found;
      }
      if (nodes[index(found)] == node && times[index(found)] == time) return found;
    }
  }

  std::vector<NodeId> nodes;
  std::vector<Timestamp> times;

 private:
  static constexpr std::int32_t kFree = -1;
  std::vector<std::int32_t> slots_;
  std::size_t mask_;
};

}  // namespace

Links::Links(const EventBatch& positives, const Candidates& candidates)
    : num_positives_(positives.size()) {
  const auto width = static_cast<std::size_t>(candidates.width);
  const ExtraPairs& extra = candidates.extra;
  reserve(positives.src.size() + candidates.nodes.size() + extra.src.size());
  for (std::size_t i = 0; i < positives.src.size(); ++i) {
    add(positives.src[i], positives.dst[i], positives.time[i]);
  }
  for (std::size_t c = 0; c < candidates.nodes.size(); ++c) {
    const std::size_t i = c / width;
    owner_.push_back(static_cast<std::int64_t>(i));
    add(positives.src[i], candidates.nodes[c], positives.time[i]);
  }
  for (std::size_t x = 0; x < extra.src.size(); ++x) {
    add(extra.src[x], extra.dst[x], positives.time[index(extra.rows[x])]);
  }
  number_by_node_and_time();
}

Links::Links(const Pairs& pairs)
    : src_(pairs.src.begin(), pairs.src.end()),
      dst_(pairs.dst.begin(), pairs.dst.end()),
      time_(pairs.time.begin(), pairs.time.end()) {
  number_by_node_and_time();
}

template <class Number>
std::vector<std::int64_t> Links::number(std::span<const Number> src_ends,
                                        std::span<const Number> dst_ends, std::int64_t most) {
  DistinctRows roots(most);
  destination_.reserve(dst_ends.size());
  for (const Number end : dst_ends) destination_.push_back(roots.row(end));
  num_destinations_ = roots.size();
  DistinctRows sources(most);
  source_.reserve(src_ends.size());
  for (const Number end : src_ends) source_.push_back(sources.row(roots.row(end)));
  sources_.assign(sources.keys().begin(), sources.keys().end());
  return {roots.keys().begin(), roots.keys().end()};
}

std::vector<std::int64_t> Links::number(std::span<const std::int64_t> src_ends,
                                        std::span<const std::int64_t> dst_ends,
                                        std::span<const NodeId> nodes,
                                        std::span<const Timestamp> times) {
  std::vector<std::int64_t> roots = number(src_ends, dst_ends, std::ssize(nodes));
  for (const std::int64_t end : roots) {
    root_nodes_.push_back(nodes[index(end)]);
    root_times_.push_back(times[index(end)]);
  }
  return roots;
}

Links::Links(Timestamp t, std::span<const NodeId> src, std::span<const NodeId> dst,
             NodeId num_nodes)
    : src_(src.begin(), src.end()), dst_(dst.begin(), dst.end()), time_(src.size(), t) {
  const std::vector<std::int64_t> nodes = number(src, dst, num_nodes);
  root_nodes_.assign(nodes.begin(), nodes.end());
  root_times_.assign(nodes.size(), t);
}

void Links::reserve(std::size_t links) {
  src_.reserve(links);
  dst_.reserve(links);
  time_.reserve(links);
}

void Links::add(NodeId src, NodeId dst, Timestamp time) {
  src_.push_back(src);
  dst_.push_back(dst);
  time_.push_back(time);
}

void Links::number_by_node_and_time() {
  RootTable ends(2 * src_.size());
  std::vector<std::int64_t> src_ends;
  std::vector<std::int64_t> dst_ends;
  src_ends.reserve(src_.size());
  dst_ends.reserve(src_.size());
  for (std::size_t i = 0; i < src_.size(); ++i) {
    src_ends.push_back(ends.number(src_[i], time_[i]));
    dst_ends.push_back(ends.number(dst_[i], time_[i]));
  }
  number(src_ends, dst_ends, ends.nodes, ends.times);
}

Links::Part Links::with_candidates(std::span<const std::int64_t> chosen) const {
  Links part;
  part.num_positives_ = num_positives_;
  std::vector<std::int64_t> src_ends;
  std::vector<std::int64_t> dst_ends;
  const auto keep = [&](std::int64_t link) {
    part.add(src_[index(link)], dst_[index(link)], time_[index(link)]);
    src_ends.push_back(source_root(link));
    dst_ends.push_back(destination_[index(link)]);
  };
  part.reserve(index(num_positives_ + std::ssize(chosen) + extra().size));
  for (std::int64_t link = 0; link < num_positives_; ++link) keep(link);
  for (const std::int64_t candidate : chosen) {
    keep(candidates().begin + candidate);
    part.owner_.push_back(owner_[index(candidate)]);
  }
  for (std::int64_t link = extra().begin; link < size(); ++link) keep(link);
  std::vector<std::int64_t> roots = part.number(src_ends, dst_ends, root_nodes_, root_times_);
  return {std::move(part), std::move(roots)};
}

Links Links::with_own_destinations(std::int64_t n) const {
  Links twice;
  twice.num_destinations_ = 2 * n;
  for (int time = 0; time < 2; ++time) {
    for (std::int64_t link = 0; link < n; ++link) {
      twice.add(src_[index(link)], dst_[index(link)], time_[index(link)]);
      twice.destination_.push_back(std::ssize(twice.destination_));
      twice.source_.push_back(source_[index(link)]);
      twice.root_nodes_.push_back(dst_[index(link)]);
      twice.root_times_.push_back(time_[index(link)]);
    }
  }
  for (const std::int64_t root : sources_) {
    twice.sources_.push_back(std::ssize(twice.root_nodes_));
    twice.root_nodes_.push_back(root_nodes_[index(root)]);
    twice.root_times_.push_back(root_times_[index(root)]);
  }
  return twice;
}

}  // namespace curnm
