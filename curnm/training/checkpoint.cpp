#include "curnm/training/checkpoint.h"

#include "curnm/base/error.h"
#include "curnm/base/file_lock.h"

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
      fail<UnusableRun>("the checkpoint was written with {} {}, and not {}", name,
                        written[name].dump(), value.dump());
    }
  }
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
  check_origin(checkpoint, spec, trainer.task());
  const ordered_json& document = checkpoint.document;
  Learner& learner = trainer.learner();
  checkpoint.restore("model", *learner.model);
  checkpoint.restore("decoder", *learner.decoder);
  checkpoint.restore("miner", *learner.miner);
  learner.optimizer->set_state(checkpoint.list("optimizer"));
  learner.set_state(checkpoint.list("state"));
  learner.miner->set_state(checkpoint.list("miner_state"));

  Progress progress{.epoch = document.at("epoch"),
                    .batch = document.at("batch"),
                    .current = epoch_from_json(document.at("current")),
                    .losses = Averages::from_json(document.at("losses")),
                    .measures = Averages::from_json(document.at("measures")),
                    .best = {.document = document.at("best")}};
  for (const ordered_json& record : document.at("records")) {
    progress.records.push_back(epoch_from_json(record));
  }
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.starts_with(kBest)) progress.best.tensors[name.substr(kBest.size())] = tensor;
  }
  trainer.progress() = std::move(progress);
  trainer.early_stopping().restore(document.at("best_epoch"), document.at("best_metric"));
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
