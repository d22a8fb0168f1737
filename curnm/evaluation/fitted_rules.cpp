#include "curnm/evaluation/fitted_rules.h"

#include <algorithm>
#include <cmath>

#include "curnm/evaluation/metrics.h"
#include "curnm/sampling/negative_kinds.h"
#include "curnm/sampling/pair_statistics.h"

namespace curnm {
namespace {

constexpr std::size_t kWidth = kPairStatistics.size();
using Row = std::span<const float>;

/// Standardised statistics of some training events and of as many negatives for each question.
struct Examples {
  AgeScale ages;
  Standardisation scale;
  std::vector<float> positives;  // [n,kWidth]
  std::array<std::vector<float>, kQuestions.size()> negatives;

  explicit Examples(const LinkTask& task) : ages(AgeScale::of(task.train().log.time.span())) {
    constexpr std::int64_t kMost = 5000;
    const EventLog& log = task.train().log;
    std::vector<EventId> chosen;
    const std::int64_t count = std::min(kMost, log.size());
    for (std::int64_t i = 0; i < count; ++i) chosen.push_back(i * log.size() / count);
    const EventLog some = select(log, chosen);
    const EventBatch batch{some.src.span(), some.dst.span(), some.time.span(), chosen};
    KindCounts counts = {};
    for (const CandidateKind kind :
         {CandidateKind::kRandom, CandidateKind::kHistorical, CandidateKind::kRandomPair,
          CandidateKind::kFormerPair, CandidateKind::kNewPair}) {
      counts[static_cast<std::size_t>(kind)] = 1;
    }
    const ExtraPairs drawn =
        NegativeKinds(log, task.train_past(), task.train_destinations())
            .draw(batch, counts, Rng(task.options().negative_seed, Stream::kFittedRules));
    const PairStatistics statistics(task.train_past(), ages);
    positives =
        statistics.of_pairs(Links(Pairs{some.src.span(), some.dst.span(), some.time.span()}));
    scale = Standardisation::of(positives, kWidth);
    scale.apply(positives);
    for (const Question question : kQuestions) {
      std::vector<NodeId> src;
      std::vector<NodeId> dst;
      std::vector<Timestamp> time;
      for (std::size_t i = 0; i < drawn.rows.size(); ++i) {
        if (!teaches(drawn.kinds[i], question)) continue;
        src.push_back(drawn.src[i]);
        dst.push_back(drawn.dst[i]);
        time.push_back(batch.time[index(drawn.rows[i])]);
      }
      std::vector<float>& rows = negatives[static_cast<std::size_t>(question)];
      rows = statistics.of_pairs(Links(Pairs{src, dst, time}));
      scale.apply(rows);
    }
  }
};

template <class Visit>
void for_each_row(std::span<const float> rows, const Visit& visit) {
  for (std::size_t at = 0; at < rows.size(); at += kWidth) visit(rows.subspan(at, kWidth));
}

/// A weighted sum of standardised statistics for each question.
using Weights = std::array<std::array<double, kWidth>, kQuestions.size()>;

class LinearRule final : public Scorer {
 public:
  LinearRule(const LinkTask& task, const Examples& examples, const Weights& weights)
      : task_(task), ages_(examples.ages), scale_(examples.scale), weights_(weights) {}

  Scores score(const Pairs& pairs, Timestamp) override {
    std::vector<float> rows = PairStatistics(task_.past(), ages_).of_pairs(Links(pairs));
    scale_.apply(rows);
    Scores scores{.outputs = std::ssize(kQuestions)};
    scores.values.reserve(pairs.src.size() * kQuestions.size());
    for_each_row(rows, [&](Row row) {
      for (const auto& weights : weights_) {
        double sum = 0;
        for (std::size_t i = 0; i < kWidth; ++i) sum += weights[i] * row[i];
        scores.values.push_back(static_cast<float>(sum));
      }
    });
    return scores;
  }

 private:
  const LinkTask& task_;
  AgeScale ages_;
  Standardisation scale_;
  Weights weights_;
};

std::vector<float> column(std::span<const float> rows, std::size_t at) {
  std::vector<float> values;
  for_each_row(rows, [&](Row row) { values.push_back(row[at]); });
  return values;
}

/// Gradient descent on the mean of both classes' losses: seven weights and a bias, which no ranking
/// needs afterwards.
std::array<double, kWidth> fit_logistic(std::span<const float> positives,
                                        std::span<const float> negatives,
                                        std::span<const std::size_t> inputs) {
  constexpr int kSteps = 300;
  constexpr double kRate = 0.5;
  std::array<double, kWidth> weights = {};
  double bias = 0;
  for (int step = 0; step < kSteps; ++step) {
    std::array<double, kWidth> gradient = {};
    double bias_gradient = 0;
    const auto add = [&](std::span<const float> rows, double target) {
      const double share = 1 / static_cast<double>(rows.size() / kWidth);
      for_each_row(rows, [&](Row row) {
        double logit = bias;
        for (const std::size_t i : inputs) logit += weights[i] * row[i];
        const double error = share * (1 / (1 + std::exp(-logit)) - target);
        for (const std::size_t i : inputs) gradient[i] += error * row[i];
        bias_gradient += error;
      });
    };
    add(positives, 1);
    add(negatives, 0);
    for (const std::size_t i : inputs) weights[i] -= kRate * gradient[i];
    bias -= kRate * bias_gradient;
  }
  return weights;
}

}  // namespace

std::unique_ptr<Scorer> best_statistic(const LinkTask& task) {
  const Examples examples(task);
  Weights weights = {};
  for (const Question question : kQuestions) {
    const auto q = static_cast<std::size_t>(question);
    if (examples.negatives[q].empty()) continue;
    std::size_t best = 0;
    double best_gain = -1;
    double sign = 1;
    for (std::size_t at = 0; at < kWidth; ++at) {
      const double auc = roc_auc(column(examples.positives, at), column(examples.negatives[q], at));
      if (std::abs(auc - 0.5) <= best_gain) continue;
      best_gain = std::abs(auc - 0.5);
      best = at;
      sign = auc >= 0.5 ? 1 : -1;
    }
    weights[q][best] = sign;
  }
  return std::make_unique<LinearRule>(task, examples, weights);
}

std::unique_ptr<Scorer> age_regression(const LinkTask& task) {
  std::vector<std::size_t> ages;
  for (std::size_t at = 0; at < kWidth; ++at) {
    if (kPairStatistics[at].name.starts_with("age_")) ages.push_back(at);
  }
  const Examples examples(task);
  Weights weights = {};
  for (const Question question : kQuestions) {
    const auto q = static_cast<std::size_t>(question);
    if (!examples.negatives[q].empty()) {
      weights[q] = fit_logistic(examples.positives, examples.negatives[q], ages);
    }
  }
  return std::make_unique<LinearRule>(task, examples, weights);
}

}  // namespace curnm
