#include "curnm/curriculum/pool.h"

#include <algorithm>
#include <cmath>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"

namespace curnm {

PoolShape early_pool(std::int64_t size, double gamma_hist) {
  const auto historical =
      static_cast<std::int64_t>(std::lround(gamma_hist * static_cast<double>(size)));
  return {.historical = historical, .random = size - historical};
}

PoolShape late_pool(std::int64_t size, double gamma_hist) {
  PoolShape shape = early_pool(size / 2, gamma_hist);
  shape.hard = size - size / 2;
  return shape;
}

/// One row of the candidates while it is filled.
struct NegativePool::Row {
  NodeId u;
  Timestamp t;
  std::span<NodeId> nodes;         // [M]
  std::span<CandidateKind> kinds;  // [M]
  std::span<Timestamp> met;        // [M]
  std::span<Timestamp> seen;       // [M]
};

NegativePool::NegativePool(const History* partners, const TemporalGraph* graph,
                           std::vector<NodeId> destinations, std::int64_t size, double gamma_hist)
    : partners_(partners),
      graph_(graph),
      destinations_(std::move(destinations)),
      early_(early_pool(size, gamma_hist)),
      late_(late_pool(size, gamma_hist)) {}

Candidates NegativePool::build(const EventBatch& batch, const HardCache* late, const Rng& key,
                               const Beside& beside) const {
  // Both take random nodes from the same order, so both must order the same nodes.
  CURNM_ASSERT(beside.count == 0 ||
               std::ranges::equal(beside.pairs->destinations(), destinations_));
  Candidates pool{.width = early_.size()};
  const auto width = static_cast<std::size_t>(pool.width);
  const std::size_t slots = batch.src.size() * width;
  pool.nodes.resize(slots);
  pool.kinds.resize(slots);
  pool.met.resize(slots);
  pool.seen.resize(slots);
  pool.late.resize(batch.src.size());
  std::vector<ExtraPairs> extra(batch.src.size());
  parallel_for(batch.size(), /*grain=*/32, [&](std::int64_t begin, std::int64_t end) {
    EventDraws draws;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      draws.restart(key, batch.events[i], std::ssize(destinations_));
      const auto part = [&](auto& values) { return std::span(values).subspan(i * width, width); };
      const Row row{batch.src[i],     batch.time[i],  part(pool.nodes),
                    part(pool.kinds), part(pool.met), part(pool.seen)};
      const auto position = batch.first + static_cast<std::int64_t>(i);
      const bool cached = late != nullptr && late->has(position);
      pool.late[i] = cached ? 1 : 0;
      fill(row, cached ? late_ : early_, cached ? late->nodes(position) : std::span<const NodeId>(),
           draws);
      if (beside.count == 0) continue;
      const auto at = static_cast<std::int64_t>(i);
      beside.pairs->add(batch, at,
                        RandomPairs::share(beside.count, batch.offset + at, batch.whole_size()),
                        draws, extra[i]);
    }
  });
  for (const ExtraPairs& of_row : extra) pool.extra.append(of_row);
  return pool;
}

void NegativePool::fill(const Row& row, const PoolShape& shape, std::span<const NodeId> hard,
                        EventDraws& draws) const {
  std::size_t size = 0;
  const auto add = [&](NodeId node, CandidateKind kind, Timestamp met) {
    row.nodes[size] = node;
    row.kinds[size] = kind;
    row.met[size] = met;
    row.seen[size] = graph_->last_seen(node, row.t);
    ++size;
  };
  const auto is_new = [&](NodeId node) {
    const auto taken = row.nodes.first(size);
    return std::find(taken.begin(), taken.end(), node) == taken.end();
  };
  for (NodeId node : hard) {
    add(node, CandidateKind::kHard, partners_->last_before(row.u, node, row.t));
  }
  std::vector<Partner> partners(static_cast<std::size_t>(shape.historical));
  Rng of_partners = draws.partners();
  const std::int64_t met =
      partners_->draw(row.u, row.t, of_partners, draws.scratch, partners, is_new);
  for (const Partner& partner : std::span(partners).first(static_cast<std::size_t>(met))) {
    add(partner.node, CandidateKind::kHistorical, partner.last);
  }
  const auto add_random = [&](NodeId node) {
    add(node, CandidateKind::kRandom, partners_->last_before(row.u, node, row.t));
  };
  RandomOrder& order = draws.destinations();
  for (std::int64_t at = 0; at < order.size() && size < row.nodes.size(); ++at) {
    const NodeId node = destinations_[index(order.at(at))];
    if (is_new(node) && !partners_->occurs_at(row.u, node, row.t)) add_random(node);
  }
  const std::size_t distinct = size;
  while (size < row.nodes.size()) {
    if (distinct == 0) {
      add_random(destinations_[index(order.at(static_cast<std::int64_t>(size) % order.size()))]);
    } else {
      const std::size_t again = size - distinct;
      add(row.nodes[again], row.kinds[again], row.met[again]);
    }
  }
}

}  // namespace curnm
