#include "curnm/prediction/replay.h"

#include <numeric>

#include "curnm/base/error.h"
#include "curnm/base/interrupt.h"

namespace curnm {

void Replay::restart() {
  model_->forget();
  begin_at(0);
}

void Replay::begin_at(EventId events) {
  seen_ = events;
  before_part_.clear();
}

void Replay::observe(EventId end) {
  check_interrupt();
  const auto first = static_cast<std::size_t>(seen_);
  const auto count = static_cast<std::size_t>(end - seen_);
  std::vector<EventId> events(count);
  std::iota(events.begin(), events.end(), seen_);
  model_->observe({log_->src.span().subspan(first, count), log_->dst.span().subspan(first, count),
                   log_->time.span().subspan(first, count), events, seen_});
}

void Replay::advance_to(EventId end) {
  CURNM_ASSERT(end >= seen_);
  const EvalScope scope(*model_->model);
  if (!before_part_.empty()) model_->set_state(before_part_);
  before_part_.clear();
  for (; seen_ + batch_ <= end; seen_ += batch_) observe(seen_ + batch_);
  if (seen_ >= end) return;
  before_part_ = model_->state();
  observe(end);
}

}  // namespace curnm
