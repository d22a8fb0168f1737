#include "curnm/miners/random_pairs.h"

#include <algorithm>
#include <set>

namespace curnm {

RandomPairs::RandomPairs(const MinerContext& context, std::string corrupt)
    : events_(context.pairs),
      destinations_(context.pairs, context.destinations),
      corrupt_(std::move(corrupt)) {
  if (keeps_sources()) return;
  const std::set<NodeId> sources(context.events->src.begin(), context.events->src.end());
  sources_.assign(sources.begin(), sources.end());
}

ExtraPairs RandomPairs::draw(const EventBatch& batch, std::int64_t count, const Candidates& pool,
                             const Rng& key) const {
  ExtraPairs pairs;
  DrawScratch scratch;
  std::vector<NodeId> list;  // of one positive
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    Rng rng = key.split(row);
    list.clear();
    for (std::int64_t j = i * pool.width; j < (i + 1) * pool.width; ++j) {
      const auto slot = static_cast<std::size_t>(j);
      if (pool.kinds[slot] == CandidateKind::kRandom) list.push_back(pool.nodes[slot]);
    }
    const auto add = [&](NodeId source, std::int64_t share) {
      const auto add_pair = [&](NodeId destination) {
        pairs.rows.push_back(i);
        pairs.src.push_back(source);
        pairs.dst.push_back(destination);
        --share;
      };
      for (NodeId destination : list) {
        if (share == 0) return;
        if (!events_->occurs_at(source, destination, batch.time[row])) add_pair(destination);
      }
      const std::size_t known = list.size();
      list.resize(known + static_cast<std::size_t>(share));
      destinations_.draw(source, batch.time[row], std::span(list).subspan(known), rng, scratch);
      std::for_each(list.begin() + static_cast<std::ptrdiff_t>(known), list.end(), add_pair);
    };
    const std::int64_t share = count / batch.size() + (i < count % batch.size() ? 1 : 0);
    // Every other one of the batch, not of the positive, which may have a single one.
    const std::int64_t first = pairs.size();
    const std::int64_t replaced = keeps_sources()      ? 0
                                  : corrupt_ == "half" ? (first + share) / 2 - first / 2
                                                       : share;
    add(batch.src[row], share - replaced);
    // One other source for all of them: each further one would be one more embedding.
    if (replaced > 0) add(sources_[rng.below(sources_.size())], replaced);
  }
  return pairs;
}

}  // namespace curnm
