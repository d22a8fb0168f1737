#include "curnm/training/checkpoint.h"

#include "curnm/base/error.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/json.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

constexpr TensorFileKind kCheckpoint{
    .name = "checkpoint", .version = 3, .remedy = "its run can only be trained again"};
constexpr std::string_view kBest = "best/";

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
  Progress progress{.epoch = json_integer(document, "epoch", 0, trainer.options().epochs),
                    .current = epoch_from_json(document.at("current")),
                    .losses = Averages::from_json(document.at("losses")),
                    .measures = Averages::from_json(document.at("measures")),
                    .best = {.document = document.at("best")}};
  const std::vector<std::int64_t> bounds =
      batch_boundaries(trainer.task(), trainer.options(), progress.epoch);
  progress.batch =
      static_cast<std::size_t>(json_integer(document, "batch", 0, std::ssize(bounds) - 1));
  for (const ordered_json& record : document.at("records")) {
    progress.records.push_back(epoch_from_json(record));
    check_saved(progress.records.back().epoch + 1 == std::ssize(progress.records),
                "the record of an epoch is missing");
  }
  check_saved(std::ssize(progress.records) == progress.epoch, "the record of an epoch is missing");
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.starts_with(kBest)) progress.best.tensors[name.substr(kBest.size())] = tensor;
  }
  return progress;
}

/// May throw what the JSON library and LibTorch throw.
void restore_all(const TensorFile& checkpoint, const RunSpec& spec, Trainer& trainer) {
  check_origin(checkpoint, spec, trainer.task());
  Progress progress = read_progress(checkpoint, trainer);
  Learner& learner = trainer.learner();
  checkpoint.restore("model", *learner.model);
  checkpoint.restore("decoder", *learner.decoder);
  checkpoint.restore("miner", *learner.miner);
  learner.optimizer->set_state(checkpoint.list("optimizer"));
  learner.set_state(checkpoint.list("state"));
  learner.miner->set_state(checkpoint.list("miner_state"));
  const std::int64_t best_epoch =
      json_integer(checkpoint.document, "best_epoch", -1, progress.epoch - 1);
  if (best_epoch >= 0) check_best(progress.best, learner);
  trainer.early_stopping().restore(best_epoch, json_number(checkpoint.document, "best_metric"));
  trainer.progress() = std::move(progress);
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
                  {"current", to_json(progress.current)},
                  {"losses", progress.losses.to_json()},
                  {"measures", progress.measures.to_json()},
                  {"records", records},
                  {"best_epoch", trainer.early_stopping().best_epoch()},
                  {"best_metric", trainer.early_stopping().best_metric()},
                  {"best", progress.best.document}};
  const Learner& learner = trainer.learner();
  all.put("model", *learner.model);
  all.put("decoder", *learner.decoder);
  all.put("miner", *learner.miner);
  all.put("optimizer", learner.optimizer->state());
  all.put("state", learner.state());
  all.put("miner_state", learner.miner->state());
  for (const auto& [name, tensor] : progress.best.tensors) {
    all.tensors[std::string(kBest) + name] = tensor;
  }
  return all;
}

void restore(const TensorFile& checkpoint, const RunSpec& spec, Trainer& trainer) {
  const auto damaged = [](const std::string& reason) {
    return UnusableRun(
        fmt::format("the checkpoint is damaged: {}; {}", reason, kCheckpoint.remedy));
  };
  try {
    restore_all(checkpoint, spec, trainer);
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
