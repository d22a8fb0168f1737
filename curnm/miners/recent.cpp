#include <algorithm>
#include <utility>

#include "curnm/miners/fields.h"
#include "curnm/miners/miner.h"
#include "curnm/sampling/random_destinations.h"

namespace curnm {
namespace {

struct RecentOptions {
  std::int64_t negatives = 1;

  void fields(const FieldVisitor& visit) { visit(kNegativesField, negatives); }
};

/// The latest partners of a source: the most recent distinct members of H_{u,t}, filled up with
/// random destinations.
class RecentMiner final : public NegativeMiner {
 public:
  RecentMiner(const RecentOptions& options, const MinerContext& context)
      : width_(options.negatives),
        graph_(context.past.graph),
        partners_(context.past.partners),
        destinations_(context.past.partners, context.destinations) {}

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    Candidates candidates{.width = width_};
    const auto width = static_cast<std::size_t>(width_);
    candidates.nodes.resize(batch.src.size() * width);
    DrawScratch scratch;
    for (std::size_t i = 0; i < batch.src.size(); ++i) {
      const auto row = std::span(candidates.nodes).subspan(i * width, width);
      const std::size_t found = most_recent(batch.src[i], batch.time[i], row);
      Rng rng = key.split(static_cast<std::uint64_t>(batch.events[i]));
      destinations_.draw(batch.src[i], batch.time[i], row, rng, scratch, found);
    }
    return candidates;
  }

 private:
  /// The newest distinct partners of u before t that are not partners at t, newest first; ties go
  /// to the later event.
  std::size_t most_recent(NodeId u, Timestamp t, std::span<NodeId> out) const {
    const TemporalGraph::Range past = graph_->before(u, t);
    const auto partners = graph_->partners();
    std::size_t found = 0;
    NodeId last = kNoNode;  // shortcut: sources often repeat their last partner
    for (std::int64_t at = past.end - 1; at >= past.begin && found < out.size(); --at) {
      const NodeId v = partners[static_cast<std::size_t>(at)];
      if (std::exchange(last, v) == v) continue;
      const auto taken = out.first(found);
      if (std::find(taken.begin(), taken.end(), v) != taken.end()) continue;
      if (!partners_->occurs_at(u, v, t)) out[found++] = v;
    }
    return found;
  }

  std::int64_t width_;
  const TemporalGraph* graph_;
  const History* partners_;
  RandomDestinations destinations_;
};

}  // namespace

MinerEntry recent_miner() {
  return {{.name = "recent",
           .summary = "the partners that the source met last",
           .defaults = RecentOptions{}},
          [](const Options& options, const MinerContext& context) {
            return std::make_shared<RecentMiner>(options.as<RecentOptions>(), context);
          }};
}

}  // namespace curnm
