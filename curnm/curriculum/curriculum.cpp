#include "curnm/curriculum/curriculum.h"

#include <algorithm>
#include <numeric>

#include "curnm/base/error.h"

namespace curnm {

double trend(Trend schedule, std::int64_t e, std::int64_t length) {
  const double progress = static_cast<double>(e) / static_cast<double>(length);
  if (schedule == Trend::kConstant) return 0.5;
  return schedule == Trend::kIncreasing ? std::min(progress, 1.0) : std::max(0.0, 1 - progress);
}

bool caches(double pi, double tau) {
  constexpr double kRounding = 1e-9;  // accumulated over many small steps
  return pi <= tau + kRounding;
}

bool improves(double metric, std::span<const double> recent) {
  if (recent.empty()) return false;
  const double sum = std::accumulate(recent.begin(), recent.end(), 0.0);
  return metric > sum / static_cast<double>(recent.size());
}

double next_pi(double pi, bool improved, const CurnmOptions& options) {
  double step = 0;
  if (options.pi_strategy == PiStrategy::kLinear ||
      (options.pi_strategy == PiStrategy::kAdaptive && improved)) {
    step = -options.shrink;
  } else if (options.pi_strategy == PiStrategy::kAdaptive && options.plateau == Plateau::kRaise) {
    step = options.shrink;
  }
  return std::clamp(pi + step, options.pi_min, 1.0);
}

double random_weight(double pi, const CurnmOptions& options) {
  double weight = pi;
  if (options.delta_schedule == Trend::kConstant) weight = 0.5;
  if (options.delta_schedule == Trend::kIncreasing) weight = 1 - pi;
  return std::clamp(weight, options.delta_min, options.delta_max);
}

Curriculum::Curriculum(const CurnmOptions& options) : options_(options), pi_(options.pi) {}

Difficulty Curriculum::difficulty() const {
  return {.pi = pi_,
          .delta = options_.ablate == Ablation::kRandom ? 0 : random_weight(pi_, options_),
          .alpha = options_.alpha_max * trend(options_.alpha_schedule, e_, options_.alpha_epochs),
          .beta = trend(options_.beta_schedule, e_, options_.beta_epochs),
          .caching = options_.ablate != Ablation::kCache && caches(pi_, options_.tau)};
}

void Curriculum::record(double metric) {
  pi_ = next_pi(pi_, improves(metric, recent_), options_);
  recent_.push_back(metric);
  if (recent_.size() > kWindow) recent_.erase(recent_.begin());
  ++e_;
}

std::optional<double> Curriculum::last_metric() const {
  return recent_.empty() ? std::nullopt : std::optional(recent_.back());
}

std::vector<double> Curriculum::state() const {
  std::vector<double> state = {pi_, static_cast<double>(e_)};
  state.insert(state.end(), recent_.begin(), recent_.end());
  return state;
}

void Curriculum::set_state(std::span<const double> state) {
  constexpr double kMostEpochs = 1e9;
  check_saved(state.size() >= 2 && state.size() <= 2 + kWindow && state[0] >= 0 && state[0] <= 1 &&
                  state[1] >= 0 && state[1] <= kMostEpochs,
              "the saved curriculum is none");
  pi_ = state[0];
  e_ = static_cast<std::int64_t>(state[1]);
  recent_.assign(state.begin() + 2, state.end());
}

}  // namespace curnm
