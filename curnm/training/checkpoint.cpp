#include "curnm/training/checkpoint.h"

#include "curnm/base/error.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/json.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

constexpr TensorFileKind kCheckpoint{
    .name = "checkpoint", .version = 4, .remedy = "its run can only be trained again"};
constexpr std::string_view kBest = "best/";
constexpr std::int64_t kMostRanks = 4096;

/// What each rank has of its own: its place in the stream with the state there, and what it has
/// counted in this epoch.
void put_own(TensorFile& file, const Trainer& trainer) {
  const Progress& progress = trainer.progress();
  file.document.update({{"current", to_json(progress.current)},
                        {"losses", progress.losses.to_json()},
                        {"measures", progress.measures.to_json()}});
  if (!trainer.ranks().alone()) file.document["seen"] = progress.seen;
  file.put("state", trainer.learner().state());
  file.put("miner_state", trainer.learner().miner->state());
}

std::string prefix_of_rank(std::int64_t rank) { return fmt::format("rank/{}/", rank); }

/// Adds to the checkpoint of rank 0 what the others have of their own.
void add_others(TensorFile& checkpoint, const Trainer& trainer) {
  TensorFile own;
  if (!trainer.ranks().first()) put_own(own, trainer);
  const std::vector<std::string> parts = trainer.ranks().group()->gather(packed(own));
  checkpoint.document["ranks"] = trainer.ranks().size();
  checkpoint.document["others"] = ordered_json::array();
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    TensorFile part = unpacked(parts[rank]);
    checkpoint.document["others"].push_back(std::move(part.document));
    for (auto& [name, tensor] : part.tensors) {
      checkpoint.tensors[prefix_of_rank(std::ssize(checkpoint.document["others"])) + name] = tensor;
    }
  }
}

/// What a rank has of its own.
TensorFile own_part(const TensorFile& checkpoint, int rank) {
  if (rank == 0) return checkpoint;
  TensorFile part{.document = checkpoint.document.at("others").at(index(rank - 1))};
  const std::string prefix = prefix_of_rank(rank);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.starts_with(prefix)) part.tensors[name.substr(prefix.size())] = tensor;
  }
  return part;
}

std::int64_t saved_ranks(const TensorFile& checkpoint) {
  return checkpoint.document.contains("ranks")
             ? json_integer(checkpoint.document, "ranks", 2, kMostRanks)
             : 1;
}

void check_origin(const TensorFile& checkpoint, const RunSpec& spec, const LinkTask& task) {
  const ordered_json& document = checkpoint.document;
  if (document.at("data_digest") != task.data_digest()) {
    fail<UnusableRun>("the checkpoint belongs to another data set (digest {}, this one has {})",
                      document.at("data_digest").get<std::string>(), task.data_digest());
  }
  const ordered_json present = options_json(spec);
  for (const auto& [part, options] : present.items()) {
    if (part == "task") continue;  // a test may use other options
    const ordered_json& written = document.at("options").at(part);
    for (const auto& [name, value] : options.items()) {
      if (!written.contains(name)) {
        fail<UnusableRun>("the checkpoint was written by an older program without --{}", name);
      }
      if (written[name] == value) continue;
      // A run that is extended goes on from a checkpoint with fewer epochs.
      if (part == "train" && name == "epochs" && written[name] < value) continue;
      fail<UnusableRun>("the checkpoint was written with {} {}, and not {}", name,
                        written[name].dump(), value.dump());
    }
  }
}

/// The state of the best epoch has to fit the model that it will be restored to.
void check_best(const TensorFile& best, const Learner& learner) {
  best.check("model", *learner.model);
  best.check("decoder", *learner.decoder);
  const std::vector<Tensor> state = learner.state();
  const std::vector<Tensor> saved = best.list("state");
  check_saved(saved.size() == state.size(), "the state of the best epoch is incomplete");
  for (std::size_t i = 0; i < state.size(); ++i) {
    check_saved(
        saved[i].dim() == state[i].dim() && saved[i].scalar_type() == state[i].scalar_type(),
        "the state of the best epoch is that of another model");
  }
}

/// How far the training had come, in the bounds of this run.
Progress read_progress(const TensorFile& checkpoint, const Trainer& trainer) {
  const ordered_json& document = checkpoint.document;
  Progress progress{.epoch = json_integer(document, "epoch", 0, trainer.options().epochs)};
  if (trainer.ranks().first()) progress.best.document = document.at("best");
  for (const ordered_json& record : document.at("records")) {
    progress.records.push_back(epoch_from_json(record));
    check_saved(progress.records.back().epoch + 1 == std::ssize(progress.records),
                "the record of an epoch is missing");
  }
  check_saved(std::ssize(progress.records) == progress.epoch, "the record of an epoch is missing");
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (!trainer.ranks().first() || !name.starts_with(kBest)) continue;
    progress.best.tensors[name.substr(kBest.size())] = tensor;
  }
  return progress;
}

/// The rank's place in the stream, in the bounds of this run, and the state there.
void restore_own(const TensorFile& checkpoint, Trainer& trainer, Progress& progress) {
  const TensorFile own = own_part(checkpoint, trainer.ranks().rank());
  progress.batch = static_cast<std::size_t>(json_integer(
      checkpoint.document, "batch", 0, static_cast<std::int64_t>(trainer.steps(progress.epoch))));
  progress.current = epoch_from_json(own.document.at("current"));
  progress.losses = Averages::from_json(own.document.at("losses"));
  progress.measures = Averages::from_json(own.document.at("measures"));
  if (!trainer.ranks().alone()) {
    progress.seen = json_integer(own.document, "seen", 0, trainer.task().train().size());
  }
  trainer.learner().set_state(own.list("state"));
  trainer.learner().miner->set_state(own.list("miner_state"));
}

/// For a checkpoint of another number of ranks: the epoch begins again, and every rank's state
/// comes from the events before its place. What all ranks had in common is kept.
std::vector<std::string> begin_epoch_again(const TensorFile& checkpoint, Trainer& trainer,
                                           Progress& progress) {
  NegativeMiner& miner = *trainer.learner().miner;
  miner.set_state(checkpoint.list("miner_state"));
  miner.set_counters(std::vector<double>(miner.counters().size(), 0.0));
  progress.seen = -1;
  std::vector<std::string> notes = {fmt::format(
      "the checkpoint is of {} rank(s), and there are {} now: weights, optimiser, curriculum and "
      "best epoch go on; the memories do not, and are filled again by observing events without "
      "learning from them",
      saved_ranks(checkpoint), trainer.ranks().size())};
  const std::int64_t batch = json_integer(checkpoint.document, "batch", 0, INT64_MAX);
  if (batch > 0) {
    notes.push_back(fmt::format("epoch {} begins again, though {} of its steps were done",
                                progress.epoch, batch));
  }
  return notes;
}

/// May throw what the JSON library and LibTorch throw.
std::vector<std::string> restore_all(const TensorFile& checkpoint, const RunSpec& spec,
                                     Trainer& trainer) {
  check_origin(checkpoint, spec, trainer.task());
  Progress progress = read_progress(checkpoint, trainer);
  Learner& learner = trainer.learner();
  checkpoint.restore("model", *learner.model);
  checkpoint.restore("decoder", *learner.decoder);
  checkpoint.restore("miner", *learner.miner);
  learner.optimizer->set_state(checkpoint.list("optimizer"));
  std::vector<std::string> notes;
  if (saved_ranks(checkpoint) == trainer.ranks().size()) {
    restore_own(checkpoint, trainer, progress);
  } else {
    notes = begin_epoch_again(checkpoint, trainer, progress);
  }
  const std::int64_t best_epoch =
      json_integer(checkpoint.document, "best_epoch", -1, progress.epoch - 1);
  if (best_epoch >= 0 && trainer.ranks().first()) check_best(progress.best, learner);
  trainer.early_stopping().restore(best_epoch, json_number(checkpoint.document, "best_metric"));
  trainer.progress() = std::move(progress);
  return notes;
}

}  // namespace

TensorFile checkpoint_of(const Trainer& trainer, const RunSpec& spec) {
  const Progress& progress = trainer.progress();
  ordered_json records = ordered_json::array();
  for (const EpochRecord& record : progress.records) records.push_back(to_json(record));
  TensorFile all;
  all.document = {{"options", options_json(spec)},
                  {"data_digest", trainer.task().data_digest()},
                  {"epoch", progress.epoch},
                  {"batch", progress.batch},
                  {"records", records},
                  {"best_epoch", trainer.early_stopping().best_epoch()},
                  {"best_metric", trainer.early_stopping().best_metric()},
                  {"best", progress.best.document}};
  const Learner& learner = trainer.learner();
  all.put("model", *learner.model);
  all.put("decoder", *learner.decoder);
  all.put("miner", *learner.miner);
  all.put("optimizer", learner.optimizer->state());
  put_own(all, trainer);
  for (const auto& [name, tensor] : progress.best.tensors) {
    all.tensors[std::string(kBest) + name] = tensor;
  }
  if (!trainer.ranks().alone()) add_others(all, trainer);
  return all;
}

std::vector<std::string> restore(const TensorFile& checkpoint, const RunSpec& spec,
                                 Trainer& trainer) {
  const auto damaged = [](const std::string& reason) {
    return UnusableRun(
        fmt::format("the checkpoint is damaged: {}; {}", reason, kCheckpoint.remedy));
  };
  try {
    return restore_all(checkpoint, spec, trainer);
  } catch (const BadJson& error) {
    throw damaged(error.what());
  } catch (const nlohmann::json::exception& error) {
    throw damaged(json_reason(error));
  } catch (const c10::Error&) {
    throw damaged("a tensor has another shape or type");
  }
}

void save_checkpoint(const TensorFile& checkpoint, const std::filesystem::path& file) {
  save_tensors(checkpoint, kCheckpoint, file);
}

TensorFile load_checkpoint(const std::filesystem::path& file) {
  return load_tensors(kCheckpoint, file);
}

TensorFile read_checkpoint(const RunFolder& folder) {
  if (!std::filesystem::exists(folder.checkpoint())) {
    if (is_locked(folder.options())) {
      fail("{} has no checkpoint yet: its first epoch is being trained", folder.path().string());
    }
    fail("{0} has no checkpoint yet: `curnm train --resume {0}` goes on with its training",
         folder.path().string());
  }
  return load_checkpoint(folder.checkpoint());
}

}  // namespace curnm
