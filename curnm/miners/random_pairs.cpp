#include "curnm/miners/random_pairs.h"

#include "curnm/graph/distinct_nodes.h"

namespace curnm {

namespace {
constexpr std::uint64_t kOtherSource = 1;  // part of a row's key; its own draws are destinations
}  // namespace

RandomPairs::RandomPairs(const MinerContext& context, std::string corrupt)
    : destinations_(context.pairs, context.destinations), corrupt_(std::move(corrupt)) {
  if (keeps_sources()) return;
  sources_ = distinct_nodes({context.events->src.begin(), context.events->src.end()});
}

ExtraPairs RandomPairs::draw(const EventBatch& batch, std::int64_t count, const Rng& key) const {
  ExtraPairs pairs;
  DrawScratch scratch;
  std::vector<NodeId> drawn;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    const Rng of_row = key.split(row);
    const auto add = [&](NodeId source, std::int64_t share) {
      drawn.resize(static_cast<std::size_t>(share));
      Rng rng = of_row;
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
    if (replaced > 0) add(sources_[of_row.split(kOtherSource).below(sources_.size())], replaced);
  }
  return pairs;
}

}  // namespace curnm
