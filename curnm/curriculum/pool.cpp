#include "curnm/curriculum/pool.h"

#include <algorithm>
#include <cmath>

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
      destinations_(partners, std::move(destinations)),
      early_(early_pool(size, gamma_hist)),
      late_(late_pool(size, gamma_hist)) {}

Candidates NegativePool::build(const EventBatch& batch, const HardCache* late,
                               const Rng& key) const {
  Candidates pool{.width = early_.size()};
  const auto width = static_cast<std::size_t>(pool.width);
  const std::size_t slots = batch.src.size() * width;
  pool.nodes.resize(slots);
  pool.kinds.resize(slots);
  pool.met.resize(slots);
  pool.seen.resize(slots);
  parallel_for(batch.size(), /*grain=*/32, [&](std::int64_t begin, std::int64_t end) {
    DrawScratch scratch;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto part = [&](auto& values) { return std::span(values).subspan(i * width, width); };
      const Row row{batch.src[i],     batch.time[i],  part(pool.nodes),
                    part(pool.kinds), part(pool.met), part(pool.seen)};
      const auto event = batch.first + static_cast<std::int64_t>(i);
      const bool cached = late != nullptr && late->has(event);
      fill(row, cached ? late_ : early_, cached ? late->nodes(event) : std::span<const NodeId>(),
           key.split(i), scratch);
    }
  });
  return pool;
}

void NegativePool::fill(const Row& row, const PoolShape& shape, std::span<const NodeId> hard,
                        Rng rng, DrawScratch& scratch) const {
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
  Rng of_partners = rng.split(0);  // rng itself is for the random ones
  const std::int64_t met = partners_->draw(row.u, row.t, of_partners, scratch, partners, is_new);
  for (const Partner& partner : std::span(partners).first(static_cast<std::size_t>(met))) {
    add(partner.node, CandidateKind::kHistorical, partner.last);
  }
  const auto add_random = [&](NodeId node) {
    add(node, CandidateKind::kRandom, partners_->last_before(row.u, node, row.t));
  };
  // It does not ask twice about what it has taken, so `is_new` may see that in the row.
  draw_absent(*partners_, destinations_.all(), row.u, row.t,
              static_cast<std::int64_t>(row.nodes.size() - size), rng, scratch, is_new, add_random);
  const std::size_t distinct = size;
  while (size < row.nodes.size()) {
    if (distinct == 0) {
      add_random(destinations_.any(rng));
    } else {
      const std::size_t again = size - distinct;
      add(row.nodes[again], row.kinds[again], row.met[again]);
    }
  }
}

}  // namespace curnm
