#include "curnm/sampling/negative_kinds.h"

#include <algorithm>
#include <cmath>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/graph/distinct_nodes.h"

namespace curnm {
namespace {

constexpr std::uint64_t kFractions = 100;  // keys of draws about numbers, beyond those of the kinds

}  // namespace

/// The positive that negatives are drawn for, and where they go.
struct NegativeKinds::Row {
  std::int64_t at;  // in the batch
  NodeId u;
  Timestamp t;
  Rng key;
  DrawScratch& scratch;
  ExtraPairs& out;

  void add(CandidateKind kind, NodeId src, NodeId dst) {
    out.rows.push_back(at);
    out.src.push_back(src);
    out.dst.push_back(dst);
    out.kinds.push_back(kind);
  }
};

NegativeKinds::NegativeKinds(const EventLog& events, const Past& past,
                             std::vector<NodeId> destinations)
    : events_(events),
      past_(past),
      sources_(distinct_nodes({events.src.begin(), events.src.end()})),
      destinations_(std::move(destinations)) {}

void NegativeKinds::add(CandidateKind kind, std::int64_t count, Row& row) const {
  Rng rng = row.key.split(static_cast<std::uint64_t>(kind));
  const History& pairs = *past_.pairs;
  // Draws that miss are repeated, so often that only a network without any answer gives fewer.
  constexpr int kTries = 32;
  const auto repeat = [&](const auto& try_one) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (int tries = 0; tries < kTries && !try_one(); ++tries) {
      }
    }
  };
  const auto add_absent = [&](NodeId src, NodeId dst) {
    if (pairs.occurs_at(src, dst, row.t)) return false;
    row.add(kind, src, dst);
    return true;
  };
  const auto add_random = [&] {
    draw_absent(pairs, destinations_, row.u, row.t, count, rng, row.scratch,
                [&](NodeId v) { row.add(kind, row.u, v); });
  };
  switch (kind) {
    case CandidateKind::kRandom:
      add_random();
      return;
    case CandidateKind::kHistorical: {
      std::vector<Partner> partners(index(count));
      const std::int64_t found = past_.partners->draw(row.u, row.t, rng, row.scratch, partners);
      for (std::int64_t i = 0; i < found; ++i) row.add(kind, row.u, partners[index(i)].node);
      // Whoever has no former partner is asked about anyone, as in the evaluation.
      if (found == 0) add_random();
      return;
    }
    case CandidateKind::kPopular: {
      constexpr EventId kNewest = 256;
      const auto times = events_.time.span();
      const EventId now = std::lower_bound(times.begin(), times.end(), row.t) - times.begin();
      const EventId from = std::max<EventId>(now - kNewest, 0);
      if (from == now) return;
      repeat([&] {
        const auto e = from + static_cast<EventId>(rng.below(index(now - from)));
        return add_absent(row.u, events_.dst[e]);
      });
      return;
    }
    case CandidateKind::kRandomPair:
      repeat([&] {
        const NodeId src = sources_[rng.below(sources_.size())];
        return add_absent(src, destinations_[rng.below(destinations_.size())]);
      });
      return;
    case CandidateKind::kFormerPair: {
      const PairId former = pairs.pairs_before(row.t);
      if (former == 0) return;
      repeat([&] {
        const auto pair = static_cast<PairId>(rng.below(index(former)));
        return add_absent(pairs.src(pair), pairs.dst(pair));
      });
      return;
    }
    case CandidateKind::kNewPair: {
      const PairId former = pairs.pairs_before(row.t);
      if (former == 0) return;
      // An evaluated period is about a fifth as long as what came before it. At an instant within
      // it, each of the pairs that met first since it began is as likely as the others.
      constexpr double kPeriod = 0.2;
      repeat([&] {
        const double since = kPeriod * static_cast<double>(former) * rng.uniform();
        const PairId pair = former - 1 - static_cast<PairId>(since * rng.uniform());
        return add_absent(pairs.src(pair), pairs.dst(pair));
      });
      return;
    }
    case CandidateKind::kHard:
      break;
  }
  CURNM_ASSERT(kind != CandidateKind::kHard);
}

ExtraPairs NegativeKinds::draw(const EventBatch& batch, const KindCounts& counts,
                               const Rng& key) const {
  std::vector<ExtraPairs> of_rows(batch.src.size());
  parallel_for(batch.size(), /*grain=*/32, [&](std::int64_t begin, std::int64_t end) {
    DrawScratch scratch;
    for (std::int64_t i = begin; i < end; ++i) {
      const Timestamp t = batch.time[index(i)];
      Row row{.at = i,
              .u = batch.src[index(i)],
              .t = t,
              .key = key.split(static_cast<std::uint64_t>(batch.events[index(i)])),
              .scratch = scratch,
              .out = of_rows[index(i)]};
      for (std::size_t kind = 0; kind < counts.size(); ++kind) {
        const double whole = std::floor(counts[kind]);
        Rng rng = row.key.split(kFractions + kind);
        const auto count =
            static_cast<std::int64_t>(whole) + (rng.uniform() < counts[kind] - whole ? 1 : 0);
        if (count > 0) add(static_cast<CandidateKind>(kind), count, row);
      }
    }
  });
  ExtraPairs all;
  for (const ExtraPairs& of_row : of_rows) all.append(of_row);
  return all;
}

}  // namespace curnm
