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

/// The events from position() on. Valid until the next call.
EventBatch Replay::batch_to(EventId end) {
  const auto first = static_cast<std::size_t>(seen_);
  const auto count = static_cast<std::size_t>(end - seen_);
  numbers_.resize(count);
  std::iota(numbers_.begin(), numbers_.end(), seen_);
  return {log_->src.span().subspan(first, count), log_->dst.span().subspan(first, count),
          log_->time.span().subspan(first, count), numbers_, seen_};
}

void Replay::advance_to(EventId end) {
  CURNM_ASSERT(end >= seen_);
  const EvalScope scope(*model_->model);
  if (!before_part_.empty()) model_->undo(before_part_);
  before_part_.clear();
  for (; seen_ + batch_ <= end; seen_ += batch_) {
    check_interrupt();
    model_->observe(batch_to(seen_ + batch_));
  }
  if (seen_ >= end) return;
  check_interrupt();
  const EventBatch part = batch_to(end);
  before_part_ = model_->state_before(part);
  model_->observe(part);
}

}  // namespace curnm
