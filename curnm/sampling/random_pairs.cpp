#include "curnm/sampling/random_pairs.h"

namespace curnm {

RandomPairs::RandomPairs(const History* pairs, std::vector<NodeId> destinations,
                         std::vector<NodeId> sources, Corruption corruption)
    : pairs_(pairs),
      destinations_(std::move(destinations)),
      sources_(std::move(sources)),
      corruption_(corruption) {}

void RandomPairs::add_of_source(NodeId source, std::int64_t i, Timestamp t, std::int64_t count,
                                RandomOrder& order, ExtraPairs& out) const {
  const std::size_t first = out.dst.size();
  const auto add = [&](NodeId destination) {
    out.rows.push_back(i);
    out.src.push_back(source);
    out.dst.push_back(destination);
  };
  std::int64_t found = 0;
  for (std::int64_t at = 0; at < order.size() && found < count; ++at) {
    const NodeId destination = destinations_[index(order.at(at))];
    if (pairs_->occurs_at(source, destination, t)) continue;
    add(destination);
    ++found;
  }
  // If too few are left, repeat those found; if every destination is an event, take any.
  for (std::int64_t k = found; k < count; ++k) {
    add(found > 0 ? out.dst[first + index(k % found)] : destinations_[index(order.at(0))]);
  }
}

void RandomPairs::add(const EventBatch& batch, std::int64_t i, std::int64_t share,
                      EventDraws& draws, ExtraPairs& out) const {
  const auto row = index(i);
  // With an odd number, every other event replaces one more.
  std::int64_t replaced = 0;
  if (corruption_ == Corruption::kBoth) replaced = share;
  if (corruption_ == Corruption::kHalf) replaced = (share + batch.events[row] % 2) / 2;
  add_of_source(batch.src[row], i, batch.time[row], share - replaced, draws.destinations(), out);
  if (replaced == 0) return;
  // One other source for all of them: each further one would need another embedding.
  const NodeId other = sources_[draws.other_source().below(sources_.size())];
  add_of_source(other, i, batch.time[row], replaced, draws.destinations(), out);
}

ExtraPairs RandomPairs::draw(const EventBatch& batch, std::int64_t count, const Rng& key) const {
  ExtraPairs pairs;
  EventDraws draws;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    draws.restart(key, batch.events[index(i)], std::ssize(destinations_));
    add(batch, i, share(count, batch.offset + i, batch.whole_size()), draws, pairs);
  }
  return pairs;
}

}  // namespace curnm
