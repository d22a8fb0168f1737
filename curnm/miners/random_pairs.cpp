#include "curnm/miners/random_pairs.h"

#include <set>

namespace curnm {

RandomPairs::RandomPairs(const MinerContext& context, std::string corrupt)
    : destinations_(context.pairs, context.destinations), corrupt_(std::move(corrupt)) {
  if (keeps_sources()) return;
  const std::set<NodeId> sources(context.events->src.begin(), context.events->src.end());
  sources_.assign(sources.begin(), sources.end());
}

ExtraPairs RandomPairs::draw(const EventBatch& batch, std::int64_t count, const Rng& key) const {
  ExtraPairs pairs;
  DrawScratch scratch;
  std::vector<NodeId> drawn;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    Rng rng = key.split(row);
    const auto add = [&](NodeId source, std::int64_t share) {
      drawn.resize(static_cast<std::size_t>(share));
      destinations_.draw(source, batch.time[row], drawn, rng, scratch);
      for (NodeId destination : drawn) {
        pairs.rows.push_back(i);
        pairs.src.push_back(source);
        pairs.dst.push_back(destination);
      }
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
