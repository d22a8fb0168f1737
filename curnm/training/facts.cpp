#include "curnm/training/facts.h"

#include <algorithm>

#include "curnm/base/error.h"
#include "curnm/models/snapshot_length.h"
#include "curnm/training/trainer.h"

namespace curnm {
namespace {

/// Walks take time and, on small networks, overfit: less gain than this is not worth it.
constexpr double kWorthwhileGain = 0.002;

/// Passes on nothing but the wish to stop.
class StopOnly final : public TrainObserver {
 public:
  explicit StopOnly(TrainObserver& observer) : observer_(observer) {}
  bool stop_requested() override { return observer_.stop_requested(); }

 private:
  TrainObserver& observer_;
};

/// The best validation, by the metric of the run, in a short training of the model `light`. What
/// walks add is a fact about the network that other models share.
double best_validation(const RunSpec& run, const LinkTask& task, const char* walk,
                       TrainObserver& observer) {
  constexpr std::int64_t kEnoughEvents = 100'000;
  const std::int64_t epochs = std::clamp<std::int64_t>(kEnoughEvents / task.train().size(), 1, 10);
  RunSpec trial = resolve_run({{"model", "light"},
                               {"decoder", "pair"},
                               {"miner", "mixture"},
                               {"epochs", std::to_string(epochs)}});
  trial.decoder = run.decoder;
  set_given({{"walk", walk}}, trial.decoder);
  trial.train.goal = run.train.goal;
  trial.train.select_on = run.train.select_on;
  trial.train.features = run.train.features;
  trial.train.batch = run.train.batch;
  trial.train.seed = run.train.seed;
  trial.train.device = run.train.device;
  trial.train.path = run.train.path;
  Trainer trainer(task, make_learner(trial, task), trial.train);
  StopOnly stop(observer);
  if (trainer.run(stop) == TrainOutcome::kInterrupted) {
    fail("stopped while trying --walk on and off: the training had not begun");
  }
  double best = 0;
  for (const EpochRecord& record : trainer.records()) best = std::max(best, record.selected());
  return best;
}

bool try_walks(const RunSpec& run, const LinkTask& task, TrainObserver& observer) {
  const double without = best_validation(run, task, "off", observer);
  const double with = best_validation(run, task, "on", observer);
  const bool helps = with > without + kWorthwhileGain;
  observer.on_note(
      fmt::format("--walk auto is {}: a short trial validates at {:.4f} with walks, {:.4f} without",
                  helps ? "on" : "off", with, without));
  return helps;
}

}  // namespace

void complete(RunSpec& spec, const LinkTask& task, TrainObserver& observer) {
  RunFacts facts{.epochs = spec.train.epochs,
                 .walks_help = [&] { return try_walks(spec, task, observer); }};
  add_pace(task.train().log, facts);
  complete(spec, facts);
}

}  // namespace curnm
