#include "curnm/training/link_scorer.h"

#include <cmath>

#include "curnm/base/distinct_rows.h"
#include "curnm/base/error.h"
#include "curnm/nn/tensors.h"
#include "curnm/sampling/questions.h"

namespace curnm {
namespace {

/// The sources of pairs, or their destinations: the embeddings among them, and whose is which.
struct Ends {
  Ends(const torch::Tensor& z, const std::vector<std::int64_t>& rows) {
    DistinctRows distinct(z.size(0));
    std::vector<std::int64_t> numbers;
    for (std::int64_t row : rows) numbers.push_back(distinct.row(row));
    h = z.index_select(0, to_tensor(distinct.keys(), z.device()));
    of_pair = to_tensor(numbers, z.device());
  }
  torch::Tensor h;        // [n,D]
  torch::Tensor of_pair;  // [P]: rows of h
};

}  // namespace

LinkScorer::LinkScorer(Model& model, EdgeDecoder& decoder, std::uint64_t seed)
    : model_(model), decoder_(decoder), seed_(seed) {}

std::vector<float> LinkScorer::score(const Pairs& pairs, Timestamp now) {
  const EvalScope scope(model_);
  Questions asked;
  std::vector<std::int64_t> source_rows;
  std::vector<std::int64_t> destination_rows;
  for (std::size_t i = 0; i < pairs.src.size(); ++i) {
    source_rows.push_back(asked.row(pairs.src[i], pairs.time[i]));
    destination_rows.push_back(asked.row(pairs.dst[i], pairs.time[i]));
  }
  const Rng key(seed_, Stream::kEvaluationNeighbors);
  const torch::Tensor z = model_.embed(asked.roots(), now, key);
  const LinkFunction link = decoder_.function();
  const Ends sources(z, source_rows);
  const Ends destinations(z, destination_rows);
  const torch::Tensor logits = link.logits(link.source(sources.h), sources.of_pair,
                                           link.destination(destinations.h), destinations.of_pair)
                                   .to(torch::kCPU)
                                   .contiguous();
  const float* values = logits.data_ptr<float>();
  const std::vector<float> scores(values, values + pairs.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isfinite(scores[i])) continue;
    fail(
        "the score of a link at time {} is {}: the training has diverged (a smaller "
        "--learning-rate usually helps), features are too large, or the time is far outside of the "
        "data",
        pairs.time[i], scores[i]);
  }
  return scores;
}

}  // namespace curnm
