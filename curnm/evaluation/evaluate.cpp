#include "curnm/evaluation/evaluate.h"

#include "curnm/base/error.h"
#include "curnm/base/interrupt.h"

namespace curnm {
namespace {

/// Calls visit(batch, begin, end) for consecutive batches, of which several that evaluate together
/// each visit a stretch, and has the scorer observe each afterwards.
template <class Visit>
void replay(Scorer& scorer, const EventSet& positives, std::int64_t batch_size,
            const Visit& visit) {
  CURNM_ASSERT(batch_size > 0);
  const EvaluationTeam& team = scorer.team();
  const std::int64_t batches = (positives.size() + batch_size - 1) / batch_size;
  const std::int64_t first = batches * team.rank() / team.size() * batch_size;
  const std::int64_t last = batches * (team.rank() + 1) / team.size() * batch_size;
  for (std::int64_t begin = 0; begin < positives.size(); begin += batch_size) {
    check_interrupt();
    const std::int64_t end = std::min(begin + batch_size, positives.size());
    const EventBatch batch = positives.batch(begin, end);
    if (begin >= first && begin < last) visit(batch, begin, end);
    scorer.observe(batch);
  }
}

template <class To, class From>
void append(std::vector<To>& to, const From& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// The scores of all that evaluate together, in place of those of this one.
void join(const EvaluationTeam& team, std::vector<float>& scores) {
  if (team.size() == 1) return;
  const std::vector<double> all = team.join({scores.begin(), scores.end()});
  scores.assign(all.begin(), all.end());
}

}  // namespace

std::vector<ProtocolScores> score_protocols(Scorer& scorer, const EvaluationSet& set,
                                            std::span<const Protocol> asked,
                                            std::int64_t batch_size) {
  std::vector<ProtocolScores> scores;
  for (Protocol protocol : asked) scores.push_back({.protocol = protocol});
  replay(scorer, set.positives, batch_size,
         [&](const EventBatch& batch, std::int64_t begin, std::int64_t end) {
           // One query: positives first, then the negatives protocol by protocol.
           std::vector<NodeId> src(batch.src.begin(), batch.src.end());
           std::vector<NodeId> dst(batch.dst.begin(), batch.dst.end());
           std::vector<Timestamp> time(batch.time.begin(), batch.time.end());
           const auto first = static_cast<std::size_t>(begin);
           const auto size = static_cast<std::size_t>(end - begin);
           for (Protocol protocol : asked) {
             const Negatives& negatives = set.negatives[static_cast<std::size_t>(protocol)];
             append(src, std::span(negatives.src).subspan(first, size));
             append(dst, std::span(negatives.dst).subspan(first, size));
             append(time, batch.time);
           }
           const Scores all = scorer.score({src, dst, time}, batch.time.front());
           const auto add = [&](std::size_t p, std::span<const float> of_all, Contest& contest) {
             append(contest.positives, of_all.first(size));
             append(contest.negatives, of_all.subspan((p + 1) * size, size));
           };
           const std::vector<float> single = all.outputs > 1 ? all.single() : std::vector<float>();
           for (std::size_t p = 0; p < scores.size(); ++p) {
             add(p, all.of(question_of(scores[p].protocol)), scores[p].fitting);
             if (all.outputs > 1) add(p, single, scores[p].single);
           }
         });
  for (ProtocolScores& of_protocol : scores) {
    for (Contest* contest : {&of_protocol.fitting, &of_protocol.single}) {
      join(scorer.team(), contest->positives);
      join(scorer.team(), contest->negatives);
    }
  }
  return scores;
}

Scores score_in_blocks(Scorer& scorer, const Pairs& pairs, Timestamp now) {
  constexpr std::size_t kBlock = 4096;
  Scores scores;
  for (std::size_t first = 0; first < pairs.src.size(); first += kBlock) {
    check_interrupt();
    const std::size_t size = std::min(kBlock, pairs.src.size() - first);
    const Scores block =
        scorer.score({pairs.src.subspan(first, size), pairs.dst.subspan(first, size),
                      pairs.time.subspan(first, size)},
                     now);
    scores.outputs = block.outputs;
    append(scores.values, block.values);
  }
  return scores;
}

namespace {

/// Ranks each positive among those that others(i, source, time, take) passes to take(node), in
/// blocks.
template <class Others>
Ranking rank_positives(Scorer& scorer, const EventSet& positives, std::int64_t batch_size,
                       const Others& others) {
  constexpr std::size_t kBlock = 1 << 16;  // pairs
  std::vector<double> reciprocals;
  std::int64_t candidates = 0;  // most that one of these positives is ranked among
  replay(scorer, positives, batch_size,
         [&](const EventBatch& batch, std::int64_t begin, std::int64_t) {
           std::vector<NodeId> src;
           std::vector<NodeId> dst;
           std::vector<Timestamp> time;
           std::vector<std::size_t> starts;
           const auto rank = [&] {
             starts.push_back(dst.size());
             const std::vector<float> all =
                 score_in_blocks(scorer, {src, dst, time}, batch.time.front())
                     .of(Question::kDestination);
             for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
               const auto row = std::span(all).subspan(starts[i], starts[i + 1] - starts[i]);
               reciprocals.push_back(reciprocal_rank(row.front(), row.subspan(1)));
               candidates = std::max(candidates, std::ssize(row) - 1);
             }
             src.clear();
             dst.clear();
             time.clear();
             starts.clear();
           };
           for (std::size_t i = 0; i < batch.src.size(); ++i) {
             starts.push_back(dst.size());
             dst.push_back(batch.dst[i]);
             others(begin + static_cast<std::int64_t>(i), batch.src[i], batch.time[i],
                    [&](NodeId v) { dst.push_back(v); });
             src.resize(dst.size(), batch.src[i]);
             time.resize(dst.size(), batch.time[i]);
             if (dst.size() >= kBlock) rank();
           }
           if (!starts.empty()) rank();
         });
  Ranking ranking;
  for (const double most : scorer.team().join({static_cast<double>(candidates)})) {
    ranking.candidates = std::max(ranking.candidates, static_cast<std::int64_t>(most));
  }
  for (const double reciprocal : scorer.team().join(reciprocals)) {
    ranking.mrr += reciprocal;
    ranking.hits10 += reciprocal >= 0.1 ? 1 : 0;
  }
  ranking.mrr /= static_cast<double>(positives.size());
  ranking.hits10 /= static_cast<double>(positives.size());
  return ranking;
}

}  // namespace

Ranking rank_destinations(Scorer& scorer, const LinkTask& task, const RankingNegatives& negatives) {
  return rank_positives(scorer, set_of(task, negatives.part).positives, task.evaluation_batch(),
                        [&](std::int64_t i, NodeId, Timestamp, const auto& take) {
                          for (const NodeId v : negatives.of(i)) take(v);
                        });
}

Ranking rank_destinations(Scorer& scorer, const EvaluationSet& set, const RankingOptions& options) {
  DrawScratch scratch;
  return rank_positives(
      scorer, set.positives, options.batch_size,
      [&](std::int64_t i, NodeId u, Timestamp t, const auto& take) {
        Rng rng(options.seed, Stream::kRanking, 0, static_cast<std::uint64_t>(options.first + i));
        draw_absent(*set.pairs, set.destinations, u, t, options.others, rng, scratch, take);
      });
}

Ranking rank_destinations(Scorer& scorer, const EvaluationSet& set, const LinkTask& task,
                          std::int64_t others) {
  return rank_destinations(scorer, set,
                           {.others = others,
                            .seed = task.options().negative_seed,
                            .batch_size = task.evaluation_batch()});
}

}  // namespace curnm
