#include "curnm/evaluation/negatives.h"

#include <algorithm>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/graph/distinct_nodes.h"

namespace curnm {
namespace {

constexpr std::array<ProtocolEntry, 5> kProtocols = {{
    {name_of(Protocol::kRandom), "source kept, any destination", Protocol::kRandom},
    {name_of(Protocol::kHistorical), "pairs seen before, now absent", Protocol::kHistorical},
    {name_of(Protocol::kInductive), "pairs first seen in the evaluated period, now absent",
     Protocol::kInductive},
    {name_of(Protocol::kTrans), "half random pairs, half historical (the paper's figure)",
     Protocol::kTrans},
    {name_of(Protocol::kSourceHistorical), "source kept, one of its own former partners",
     Protocol::kSourceHistorical},
}};

}  // namespace

std::span<const ProtocolEntry> protocols() { return kProtocols; }

std::span<const Protocol> all_protocols() {
  static constexpr auto kAll = [] {
    std::array<Protocol, kProtocols.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kProtocols[i].protocol;
    return all;
  }();
  return kAll;
}

/// One batch of positives while its negatives are being drawn. Rows fill up from `filled`.
struct NegativeSampler::Batch {
  const History& events;
  std::span<const NodeId> src;
  std::span<const Timestamp> time;
  std::span<NodeId> negative_src;
  std::span<NodeId> negative_dst;
  Collisions collisions;
  Rng rng;
  DrawScratch scratch;
  std::int64_t filled = 0;
  std::int64_t unavoidable = 0;
  std::int64_t genuine = 0;
  bool standing_in = false;  // what is put now is not what the protocol asks for

  std::int64_t size() const { return static_cast<std::int64_t>(src.size()); }
  void put(NodeId u, NodeId v) {
    const auto row = static_cast<std::size_t>(filled++);
    if (!standing_in && !events.occurs_at(u, v, time[row])) ++genuine;
    negative_src[row] = u;
    negative_dst[row] = v;
  }
};

NegativeSampler::NegativeSampler(const EvaluationHistories& histories, Timestamp observed_until)
    : histories_(histories), observed_until_(observed_until) {
  const History& universe = *histories.universe;
  for (PairId pair = 0; pair < universe.num_pairs(); ++pair) {
    sources_.push_back(universe.src(pair));
    destinations_.push_back(universe.dst(pair));
  }
  sources_ = distinct_nodes(std::move(sources_));
  destinations_ = distinct_nodes(std::move(destinations_));
  if (destinations_.size() < 2) {
    fail("no negative exists: the evaluated events have {} destination(s)", destinations_.size());
  }
}

/// The source of the row's positive with a destination that is not its partner at that time.
void NegativeSampler::random_destination(Batch& batch, std::int64_t row) const {
  const NodeId u = batch.src[static_cast<std::size_t>(row)];
  const Timestamp t = batch.time[static_cast<std::size_t>(row)];
  if (batch.collisions != Collisions::kAllowed) {
    const auto put = [&](NodeId v) { batch.put(u, v); };
    if (draw_absent(*histories_.full, destinations_, u, t, 1, batch.rng, batch.scratch, put) == 1) {
      return;
    }
    ++batch.unavoidable;
  }
  batch.put(u, destinations_[batch.rng.below(destinations_.size())]);
}

/// Adds a pair with both endpoints random, or returns false if every pair must be avoided.
bool NegativeSampler::random_pair(Batch& batch, Avoid avoid) const {
  const Timestamp now = batch.time[static_cast<std::size_t>(batch.filled)];
  const Timestamp from = avoid == Avoid::kEventInBatch ? batch.time.front() : now;
  const Timestamp to = avoid == Avoid::kEventInBatch ? batch.time.back() : now;
  const auto columns = static_cast<std::int64_t>(destinations_.size());
  const auto cells = static_cast<std::int64_t>(sources_.size()) * columns;
  const auto source = [&](std::int64_t cell) {
    return sources_[static_cast<std::size_t>(cell / columns)];
  };
  const auto destination = [&](std::int64_t cell) {
    return destinations_[static_cast<std::size_t>(cell % columns)];
  };
  const auto allowed = [&](std::int64_t cell) {
    if (avoid == Avoid::kNothing) return true;
    const PairId pair = histories_.full->find(source(cell), destination(cell));
    return pair == kNoPair || !histories_.full->occurs_within(pair, from, to);
  };
  return draw_distinct(0, cells, 1, batch.rng, batch.scratch, allowed,
                       [&](std::int64_t cell) { batch.put(source(cell), destination(cell)); }) == 1;
}

/// Adds random pairs; if nothing is left to choose from, relaxes what is avoided.
void NegativeSampler::random_pairs(Batch& batch, std::int64_t rows, Avoid avoid) const {
  for (std::int64_t i = 0; i < rows; ++i) {
    if (random_pair(batch, avoid)) continue;
    if (avoid == Avoid::kEventInBatch && random_pair(batch, Avoid::kEventNow)) continue;
    ++batch.unavoidable;
    random_pair(batch, Avoid::kNothing);
  }
}

/// Pairs `first` and later of the universe that exist before the batch and are absent from it.
void NegativeSampler::seen_pairs(Batch& batch, std::int64_t rows, PairId first) const {
  const Timestamp from = batch.time.front();
  const Timestamp to = batch.time.back();
  std::vector<PairId> drawn;
  drawn.reserve(static_cast<std::size_t>(rows));
  draw_distinct(
      first, histories_.universe->pairs_before(from), rows, batch.rng, batch.scratch,
      [&](std::int64_t pair) {
        return !histories_.universe->occurs_within(static_cast<PairId>(pair), from, to);
      },
      [&](std::int64_t pair) { drawn.push_back(static_cast<PairId>(pair)); });
  batch.standing_in = true;
  random_pairs(batch, rows - static_cast<std::int64_t>(drawn.size()), Avoid::kEventInBatch);
  batch.standing_in = false;
  for (PairId pair : drawn)
    batch.put(histories_.universe->src(pair), histories_.universe->dst(pair));
}

void NegativeSampler::source_historical(Batch& batch) const {
  for (std::int64_t row = 0; row < batch.size(); ++row) {
    const NodeId u = batch.src[static_cast<std::size_t>(row)];
    Partner partner;
    if (histories_.partners->draw(u, batch.time[static_cast<std::size_t>(row)], batch.rng,
                                  batch.scratch, {&partner, 1}) == 1) {
      batch.put(u, partner.node);
    } else {
      batch.standing_in = true;
      random_destination(batch, row);
      batch.standing_in = false;
    }
  }
}

Negatives NegativeSampler::draw(const EventLog& positives, Protocol protocol,
                                const NegativeOptions& options) const {
  const std::int64_t batch_size = options.batch_size;
  CURNM_ASSERT(batch_size > 0);
  const std::int64_t total = positives.size();
  Negatives negatives{.src = std::vector<NodeId>(static_cast<std::size_t>(total)),
                      .dst = std::vector<NodeId>(static_cast<std::size_t>(total))};
  const std::int64_t batches = (total + batch_size - 1) / batch_size;
  std::vector<std::int64_t> unavoidable(static_cast<std::size_t>(batches), 0);
  std::vector<std::int64_t> genuine(static_cast<std::size_t>(batches), 0);
  parallel_for(batches, /*grain=*/4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const auto first = static_cast<std::size_t>(b * batch_size);
      const auto size = static_cast<std::size_t>(std::min(batch_size, total - b * batch_size));
      Batch batch{
          .events = *histories_.full,
          .src = positives.src.span().subspan(first, size),
          .time = positives.time.span().subspan(first, size),
          .negative_src = std::span(negatives.src).subspan(first, size),
          .negative_dst = std::span(negatives.dst).subspan(first, size),
          .collisions = options.collisions,
          .rng = Rng(options.seed, Stream::kEvaluation, static_cast<std::uint64_t>(protocol),
                     static_cast<std::uint64_t>(options.first_batch + b))};
      switch (protocol) {
        case Protocol::kRandom:
          for (std::int64_t row = 0; row < batch.size(); ++row) random_destination(batch, row);
          break;
        case Protocol::kHistorical:
          seen_pairs(batch, batch.size(), /*first=*/0);
          break;
        case Protocol::kInductive:
          seen_pairs(batch, batch.size(), histories_.universe->pairs_before(observed_until_));
          break;
        case Protocol::kTrans:
          random_pairs(
              batch, batch.size() / 2,
              options.collisions == Collisions::kNowhere ? Avoid::kEventNow : Avoid::kNothing);
          seen_pairs(batch, batch.size() - batch.size() / 2, /*first=*/0);
          break;
        case Protocol::kSourceHistorical:
          source_historical(batch);
          break;
      }
      unavoidable[static_cast<std::size_t>(b)] = batch.unavoidable;
      genuine[static_cast<std::size_t>(b)] = batch.genuine;
    }
  });
  negatives.unavoidable = std::accumulate(unavoidable.begin(), unavoidable.end(), std::int64_t{0});
  negatives.genuine = std::accumulate(genuine.begin(), genuine.end(), std::int64_t{0});
  return negatives;
}

}  // namespace curnm
