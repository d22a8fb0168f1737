#pragma once

#include <cstdint>
#include <span>

namespace curnm {

/// Average precision of scores against labels, as scikit-learn defines it: the sum over distinct
/// scores, from the highest, of (recall gained) x (precision there). Ties count as one step.
/// REQUIRES: at least one positive. NaN if any score is NaN.
double average_precision(std::span<const float> positives, std::span<const float> negatives);

/// Area under the ROC curve: the share of (positive, negative) pairs in the right order, ties
/// counting half.
double roc_auc(std::span<const float> positives, std::span<const float> negatives);

/// 1 / rank of a positive among its negatives; ties share the mean of their ranks.
double reciprocal_rank(float positive, std::span<const float> negatives);

/// AP and AUC both ways: the mean over consecutive batches (the papers' figure, in which a short
/// last batch counts fully) and over all scores at once.
struct LinkMetrics {
  double ap = 0;
  double auc = 0;
  double ap_global = 0;
  double auc_global = 0;
};
LinkMetrics link_metrics(std::span<const float> positives, std::span<const float> negatives,
                         std::int64_t batch_size);

}  // namespace curnm
