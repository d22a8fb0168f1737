#include "curnm/training/benchmark.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "curnm/kernels/gemm.h"
#include "curnm/nn/linear.h"
#include "curnm/training/trainer.h"

namespace curnm {
namespace {

std::atomic<double> counted = 0;

/// 2·m·k·n of a product [.,m,k] x [.,k,n].
double product_flops(const Tensor& a, const Tensor& b) {
  return 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.size(-1));
}

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  const char* name = call.name();
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  std::size_t first = 0;
  if (is("aten::addmm") || is("aten::addmm_") || is("aten::baddbmm")) {
    first = 1;
  } else if (!is("aten::mm") && !is("aten::bmm")) {
    return nullptr;
  }
  const auto inputs = call.inputs();
  counted = counted + product_flops(inputs[first].toTensor(), inputs[first + 1].toTensor());
  return nullptr;
}

/// Counts the operations of all matrix products during its lifetime, LibTorch's and ours.
class FlopCounter {
 public:
  FlopCounter()
      : handle_(at::addGlobalCallback(at::RecordFunctionCallback(count).needsInputs(true))),
        before_(kernels::multiplied_flops()) {
    counted = 0;
  }
  ~FlopCounter() { at::removeCallback(handle_); }
  FlopCounter(const FlopCounter&) = delete;
  FlopCounter& operator=(const FlopCounter&) = delete;

  double flops() const { return counted + kernels::multiplied_flops() - before_; }

 private:
  std::uint64_t handle_;
  double before_;
};

}  // namespace

double gemm_gflops() {
  constexpr std::int64_t kSize = 1000;  // not a power of two, which would cause cache conflicts
  const Tensor a = at::rand({kSize, kSize});
  const Tensor b = at::rand({kSize, kSize});
  double best = 0;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Tensor c = matrix_product(a, b);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2e-9 * kSize * kSize * kSize / seconds.count());
  }
  return best;
}

StepTimes measure_steps(const LinkTask& task, const RunSpec& spec, std::int64_t steps) {
  constexpr std::int64_t kUsual = 50;
  constexpr std::int64_t kWarm = 20;
  constexpr std::int64_t kCounted = 4;
  const std::vector<std::int64_t> bounds = batch_boundaries(task, spec.train, /*epoch=*/0);
  const std::int64_t all = std::ssize(bounds) - 1;
  const std::int64_t start = all / 2;
  const std::int64_t room = all - start - kCounted;
  if (steps == 0) steps = std::clamp<std::int64_t>(room, 1, kUsual);
  if (steps > room) {
    fail(
        "an epoch has {} steps, of which {} come after its first half and {} count operations: "
        "no room to measure {}; try fewer --steps or a smaller --batch",
        all, all - start, kCounted, steps);
  }
  Learner learner = make_learner(spec, task);
  TrainingStep step(learner, spec.train.seed, spec.train.path);
  learner.forget();
  learner.miner->begin_epoch(0);
  EpochRecord record;
  const auto batch = [&](std::int64_t i) {
    return task.train().batch(bounds[index(i)], bounds[index(i) + 1]);
  };
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    StageClock clock(record);
    for (std::int64_t i = begin; i < end; ++i) step.run(batch(i), /*epoch=*/0, clock);
  };
  const std::int64_t warm = std::max<std::int64_t>(start - kWarm, 0);
  for (std::int64_t i = 0; i < warm; ++i) learner.observe(batch(i));
  run(warm, start);
  record = {};
  run(start, start + steps);
  StepTimes times{.steps = steps};
  for (std::size_t stage = 0; stage < kStepStages; ++stage) {
    times.stages[stage] = 1e3 * record.stages[stage] / static_cast<double>(steps);
    times.ms += times.stages[stage];
  }
  const FlopCounter counter;
  run(start + steps, start + steps + kCounted);
  times.gflop = 1e-9 * counter.flops() / kCounted;
  return times;
}

}  // namespace curnm
