#pragma once

#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/evaluation/task.h"
#include "curnm/miners/miner.h"
#include "curnm/models/model.h"
#include "curnm/nn/adam.h"
#include "curnm/training/checkpoint.h"
#include "curnm/training/link_scorer.h"

namespace curnm {

inline constexpr std::array<std::string_view, 2> kPaths = {"fast", "plain"};

struct TrainOptions {
  std::string model = "tgn";
  std::string miner = "random";
  std::int64_t epochs = 400;
  std::int64_t batch = 200;
  double learning_rate = 1e-4;
  std::int64_t patience = 20;
  double tolerance = 1e-3;
  std::string select_on = "trans";
  std::uint64_t seed = 0;
  std::string device = "cpu";
  std::string path = "fast";

  template <class Visitor>
  void fields(Visitor&& visit) {
    visit(Field{.name = "model", .help = "model to train (curnm list)"}, model);
    visit(Field{.name = "miner", .help = "how negatives are chosen (curnm list)"}, miner);
    visit(Field{.name = "epochs",
                .help = "at most this many epochs",
                .min = 1,
                .max = 1e6,
                .symbol = "E_0"},
          epochs);
    visit(
        Field{.name = "batch", .help = "positives per batch", .min = 1, .max = 1e6, .symbol = "B"},
        batch);
    visit(Field{.name = "learning-rate", .help = "of Adam", .min = 1e-9, .max = 10}, learning_rate);
    visit(Field{.name = "patience",
                .help = "epochs without improvement before stopping",
                .min = 1,
                .max = 1e6},
          patience);
    visit(
        Field{.name = "tolerance", .help = "relative improvement that counts", .min = 0, .max = 1},
        tolerance);
    visit(Field{.name = "select-on",
                .help = "protocol whose validation AP decides",
                .choices = protocol_names()},
          select_on);
    visit(Field{.name = "seed", .help = "of all draws", .min = 0}, seed);
    visit(Field{.name = "device", .help = "cpu, cuda, cuda:1, ..."}, device);
    visit(Field{.name = "path",
                .help = "fast (fused kernels, on the CPU) or plain (tensor operations)",
                .choices = kPaths},
          path);
  }
};

/// The parts of a step, in their order, for the record of times.
enum class Stage { kPropose, kSample, kEmbed, kMine, kBackward, kOptimise, kObserve, kValidate };
inline constexpr std::array<std::string_view, 8> kStageNames = {
    "propose", "sample", "embed", "mine", "backward", "optimise", "observe", "validate"};

/// Named values, averaged over the batches that have them.
class Averages {
 public:
  void add(const std::map<std::string, double>& values);
  std::map<std::string, double> means() const;
  nlohmann::ordered_json to_json() const;
  static Averages from_json(const nlohmann::ordered_json& json);

 private:
  struct Sum {
    double value = 0;
    std::int64_t count = 0;
  };
  std::map<std::string, Sum> sums_;
};

/// One line of metrics.jsonl.
struct EpochRecord {
  std::int64_t epoch = 0;
  std::map<std::string, double> losses;  // means over the batches
  std::map<std::string, double> mining;  // of the miner: its measures and telemetry
  double validation_ap = 0;
  bool best = false;
  double seconds = 0;
  std::array<double, kStageNames.size()> stages{};  // seconds

  /// Without validation.
  double training_seconds() const {
    return seconds - stages[static_cast<std::size_t>(Stage::kValidate)];
  }
};
nlohmann::ordered_json to_json(const EpochRecord& record);

/// What decides the course of a training, besides the data, by parts: train, model, miner. Options
/// that the model or the miner has no use for are left out.
nlohmann::ordered_json options_json(const TrainOptions& train, const ModelOptions& model,
                                    const MinerOptions& miner);

/// Batch boundaries 0 = b_0 < b_1 < ... = events of an epoch: every inner one is shifted by the
/// same amount, drawn from the generator.
std::vector<std::int64_t> batch_boundaries(std::int64_t events, std::int64_t batch, Rng rng);

/// What watches a training: progress bars, logs, signals.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_batch(std::int64_t /*epoch*/, std::int64_t /*done*/, std::int64_t /*of*/) {}
  virtual void on_epoch(const EpochRecord&) {}
  /// Something that a person should know about this training, once.
  virtual void on_note(const std::string&) {}
  /// True: stop after the current batch.
  virtual bool stop_requested() { return false; }
};

enum class TrainOutcome { kFinished, kStoppedEarly, kInterrupted };

/// Trains one model with one miner on one task.
///
/// All of its progress is in `checkpoint()`: a trainer that is given one continues to the same
/// bits, on the fast path with any number of threads.
class Trainer {
 public:
  /// REQUIRES: the task outlives the trainer. Throws UsageError for impossible options.
  Trainer(const LinkTask& task, const TrainOptions& options, const ModelOptions& model_options,
          const MinerOptions& miner_options = {});

  /// Trains until the epochs are over, validation stops improving, or the observer asks to stop.
  /// Throws Error when the loss is no longer a number.
  TrainOutcome run(TrainObserver& observer);

  /// Shows the model the events of the next `batches` of this epoch without learning from them: to
  /// measure what comes later in a long stream.
  void skip(std::int64_t batches);
  /// Batches of the epoch that is under way.
  std::int64_t batches() const { return std::ssize(bounds()) - 1; }

  /// The best weights, and the state that belongs to them at the end of training.
  void restore_best();
  /// The best weights, and a state that knows nothing yet. The one at the end of training would not
  /// do for who asks: it has not seen the events of hidden nodes.
  void start_over();
  /// Shows the model what happened before event `end` of the log, from where it stands.
  /// REQUIRES: `end` does not decrease since the last restore.
  void advance_to(EventId end);

  Checkpoint checkpoint() const;
  /// Throws Error for a checkpoint of another data set or with other options.
  void resume(const Checkpoint& checkpoint);
  /// Only what `start_over` needs, also where the network has more nodes by now. Throws as
  /// `resume`.
  void take_best(const Checkpoint& checkpoint);

  Model& model() { return *model_; }
  EdgeDecoder& decoder() { return *decoder_; }
  const NegativeMiner& miner() const { return *miner_; }
  LinkScorer scorer() { return LinkScorer(*model_, *decoder_, options_.seed); }
  const LinkTask& task() const { return task_; }
  const TrainOptions& options() const { return options_; }
  /// Resolved: nothing is left open.
  const ModelOptions& model_options() const { return model_options_; }
  const MinerOptions& miner_options() const { return miner_options_; }
  const std::vector<EpochRecord>& records() const { return records_; }
  /// The record of the epoch that is under way: times so far.
  const EpochRecord& current() const { return current_; }
  std::int64_t best_epoch() const { return best_epoch_; }

 private:
  std::vector<std::int64_t> bounds() const;
  bool train_epoch(TrainObserver& observer);
  void check_finite(const Mined& mined) const;
  double validate();
  void finish_epoch(TrainObserver& observer);
  bool improved(double metric) const;
  void check_origin(const Checkpoint& checkpoint) const;
  void restore_best_weights();

  const LinkTask& task_;
  TrainOptions options_;
  ModelOptions model_options_;
  MinerOptions miner_options_;
  std::shared_ptr<Model> model_;
  std::shared_ptr<EdgeDecoder> decoder_;
  std::shared_ptr<NegativeMiner> miner_;
  std::unique_ptr<Adam> optimizer_;

  std::int64_t epoch_ = 0;
  std::size_t position_ = 0;  // batches of this epoch that are done
  EpochRecord current_;
  Averages losses_;  // of this epoch
  Averages measures_;
  std::vector<EpochRecord> records_;
  std::int64_t best_epoch_ = -1;
  double best_metric_ = 0;
  Checkpoint best_;   // weights and state of the best epoch
  EventId seen_ = 0;  // events of the log before this one are known to the restored state
  std::vector<torch::Tensor> before_part_;  // that state, while part of a batch has been added
};

}  // namespace curnm
