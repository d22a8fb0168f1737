#include "curnm/training/trainer.h"

#include <chrono>
#include <cmath>

#include "curnm/evaluation/evaluate.h"
#include "curnm/nn/tensors.h"
#include "curnm/training/snapshot_length.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

/// Adds the time since the last mark to a stage.
class StageClock {
 public:
  explicit StageClock(EpochRecord& record) : record_(record) {}
  void mark(Stage stage) {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    record_.stages[static_cast<std::size_t>(stage)] += seconds;
    record_.seconds += seconds;
    last_ = now;
  }

 private:
  EpochRecord& record_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

torch::Device parse_device(const std::string& name) {
  try {
    torch::Device device(name);
    torch::zeros({1}, torch::TensorOptions(device));
    return device;
  } catch (const c10::Error&) {
    throw UsageError(fmt::format("--device {} is no device that this LibTorch can use", name));
  }
}

Path path_of(const TrainOptions& options) {
  return options.path == "fast" ? Path::kFast : Path::kPlain;
}

ModelContext context_of(const LinkTask& task, const TrainOptions& options, std::int64_t snapshots,
                        torch::Device device) {
  const EventLog& train = task.train().log;
  return {.num_nodes = task.log().num_nodes,
          .edge_features = to_tensor(task.dataset().edge_features, device),
          .node_features = to_tensor(task.dataset().node_features, device),
          .first_time = train.time.front(),
          .last_time = train.time.back(),
          .snapshot_length = suitable_snapshot_length(train, snapshots),
          .seed = options.seed,
          .device = device,
          .path = path_of(options)};
}

ordered_json to_json(const std::vector<EpochRecord>& records) {
  ordered_json list = ordered_json::array();
  for (const EpochRecord& record : records) list.push_back(to_json(record));
  return list;
}

EpochRecord record_from_json(const ordered_json& json) {
  EpochRecord record{.epoch = json.at("epoch"),
                     .losses = json.at("losses"),
                     .mining = json.at("mining"),
                     .validation_ap = json.at("validation_ap"),
                     .best = json.at("best"),
                     .seconds = json.at("seconds")};
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    record.stages[stage] = json.at("stages").at(std::string(kStageNames[stage]));
  }
  return record;
}

}  // namespace

ordered_json to_json(const EpochRecord& record) {
  ordered_json stages;
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    stages[std::string(kStageNames[stage])] = record.stages[stage];
  }
  return {
      {"epoch", record.epoch}, {"losses", record.losses}, {"validation_ap", record.validation_ap},
      {"best", record.best},   {"mining", record.mining}, {"seconds", record.seconds},
      {"stages", stages}};
}

void Averages::add(const std::map<std::string, double>& values) {
  for (const auto& [name, value] : values) {
    Sum& sum = sums_[name];
    sum.value += value;
    ++sum.count;
  }
}

std::map<std::string, double> Averages::means() const {
  std::map<std::string, double> means;
  for (const auto& [name, sum] : sums_) means[name] = sum.value / static_cast<double>(sum.count);
  return means;
}

ordered_json Averages::to_json() const {
  ordered_json json = ordered_json::object();
  for (const auto& [name, sum] : sums_) json[name] = {sum.value, sum.count};
  return json;
}

Averages Averages::from_json(const ordered_json& json) {
  Averages averages;
  for (const auto& [name, sum] : json.items()) averages.sums_[name] = {sum.at(0), sum.at(1)};
  return averages;
}

Trainer::Trainer(const LinkTask& task, const TrainOptions& options,
                 const ModelOptions& model_options, const MinerOptions& miner_options)
    : task_(task),
      options_(options),
      miner_options_(resolved(options.miner, miner_options, options.epochs)) {
  check_ranges(options_);
  const torch::Device device = parse_device(options.device);
  const ModelContext context = context_of(task, options, model_options.snapshots, device);
  model_options_ = resolved(options.model, model_options, context);
  model_ = make_model(options.model, model_options_, context);
  decoder_ = std::make_shared<EdgeDecoder>(model_options.width, path_of(options));
  initialise(*decoder_, Rng(options.seed, Stream::kInitialisation, /*epoch=*/1));
  decoder_->to(device);
  std::vector<torch::Tensor> parameters = model_->parameters();
  const auto append = [&](const torch::nn::Module& module) {
    for (const torch::Tensor& parameter : module.parameters()) parameters.push_back(parameter);
  };
  append(*decoder_);
  miner_ = make_miner(options.miner, miner_options_,
                      {.events = &task.train().log,
                       .graph = &task.train_graph(),
                       .pairs = &task.train_pairs(),
                       .partners = &task.train_partners(),
                       .destinations = task.train_destinations(),
                       .epochs = options.epochs,
                       .width = model_options.width,
                       .parameters = parameters,
                       .seed = options.seed,
                       .device = device,
                       .path = path_of(options)});
  const std::size_t decaying = parameters.size();
  append(*miner_);
  optimizer_ = std::make_unique<Adam>(
      std::move(parameters),
      AdamOptions{
          .learning_rate = options.learning_rate, .decaying = decaying, .path = path_of(options)});
}

std::vector<std::int64_t> batch_boundaries(std::int64_t events, std::int64_t batch, Rng rng) {
  const auto shift = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(batch)));
  std::vector<std::int64_t> bounds = {0};
  for (std::int64_t end = shift == 0 ? batch : shift; end < events; end += batch) {
    bounds.push_back(end);
  }
  bounds.push_back(events);
  return bounds;
}

std::vector<std::int64_t> Trainer::bounds() const {
  return batch_boundaries(
      task_.train().size(), options_.batch,
      Rng(options_.seed, Stream::kTraining, static_cast<std::uint64_t>(epoch_)));
}

void Trainer::skip(std::int64_t batches) {
  const std::vector<std::int64_t> bounds = this->bounds();
  if (position_ == 0) model_->forget();
  model_->look_at(task_.train_graph());
  for (; batches > 0 && position_ + 1 < bounds.size(); --batches, ++position_) {
    model_->observe(task_.train().batch(bounds[position_], bounds[position_ + 1]));
  }
}

/// The paper's loop. Returns false when the observer asked to stop.
bool Trainer::train_epoch(TrainObserver& observer) {
  const std::vector<std::int64_t> bounds = this->bounds();
  model_->look_at(task_.train_graph());
  model_->train();
  miner_->begin_epoch(epoch_);
  StageClock clock(current_);
  for (; position_ + 1 < bounds.size(); ++position_) {
    if (observer.stop_requested()) return false;
    const EventBatch batch = task_.train().batch(bounds[position_], bounds[position_ + 1]);
    // The key without a position is that of the boundaries. A batch only splits its own, so that
    // the + 1, which makes the first one that of the next epoch's boundaries, does no harm.
    const Rng key(options_.seed, Stream::kTraining, static_cast<std::uint64_t>(epoch_) + 1,
                  position_);

    const Candidates pool = miner_->propose(batch, key.split(0));
    clock.mark(Stage::kPropose);
    const BatchRoots roots(batch, pool);
    std::vector<Neighbors> neighbors =
        model_->sample(roots.roots(), batch.time.front(), key.split(1));
    clock.mark(Stage::kSample);
    const Embedded z(model_->embed_sampled(roots.roots(), std::move(neighbors), key.split(1)),
                     roots, path_of(options_));
    clock.mark(Stage::kEmbed);
    const Mined mined = miner_->mine(batch, pool, z, *decoder_);
    clock.mark(Stage::kMine);

    check_finite(mined);
    optimizer_->zero_grad();
    mined.loss.backward();
    clock.mark(Stage::kBackward);
    optimizer_->step(mined.decay);
    clock.mark(Stage::kOptimise);

    model_->observe(batch);  // memory and mail: positives only, after the step
    miner_->observe(batch, pool, mined);
    clock.mark(Stage::kObserve);
    losses_.add(mined.losses);
    measures_.add(mined.measures);
    observer.on_batch(epoch_, static_cast<std::int64_t>(position_) + 1,
                      static_cast<std::int64_t>(bounds.size()) - 1);
  }
  return true;
}

void Trainer::check_finite(const Mined& mined) const {
  const double loss = mined.loss.item<double>();
  if (std::isfinite(loss)) return;
  if (epoch_ == 0 && position_ == 0) {
    fail("the loss of the very first batch is no number: times or features may be too large");
  }
  fail("the loss became {} in epoch {}, batch {}{}. A smaller --learning-rate usually helps", loss,
       epoch_, position_, epoch_ > 0 ? "; the last checkpoint is unharmed" : "");
}

/// Validation AP, from the state at the end of training; leaves that state.
double Trainer::validate() {
  const std::vector<torch::Tensor> train_end = model_->state();
  model_->look_at(task_.graph());
  LinkScorer scorer = this->scorer();
  const Protocol asked[] = {find_entry("protocol", protocols(), options_.select_on).protocol};
  const std::vector<ProtocolScores> scores =
      score_protocols(scorer, task_.validation(), asked, task_.evaluation_batch());
  model_->set_state(train_end);
  return link_metrics(scores[0].positives, scores[0].negatives, task_.evaluation_batch()).ap;
}

bool Trainer::improved(double metric) const {
  return best_epoch_ < 0 || metric > best_metric_ * (1 + options_.tolerance);
}

void Trainer::finish_epoch(TrainObserver& observer) {
  StageClock clock(current_);
  current_.epoch = epoch_;
  current_.losses = losses_.means();
  current_.mining = measures_.means();
  current_.mining.merge(miner_->telemetry());
  losses_ = measures_ = {};
  current_.validation_ap = validate();
  if (improved(current_.validation_ap)) {
    current_.best = true;
    best_epoch_ = epoch_;
    best_metric_ = current_.validation_ap;
    best_ = {};
    best_.put("model", *model_);
    best_.put("decoder", *decoder_);
    best_.put("state", model_->state());
  }
  miner_->end_epoch(current_.validation_ap);
  clock.mark(Stage::kValidate);
  records_.push_back(current_);
  current_ = {};
  ++epoch_;
  position_ = 0;
  observer.on_epoch(records_.back());
}

TrainOutcome Trainer::run(TrainObserver& observer) {
  if (epoch_ == 0 && position_ == 0) {
    for (const std::string& note : miner_->notes()) observer.on_note(note);
  }
  while (epoch_ < options_.epochs) {
    if (best_epoch_ >= 0 && epoch_ - best_epoch_ > options_.patience) {
      return TrainOutcome::kStoppedEarly;
    }
    if (position_ == 0) model_->forget();
    if (!train_epoch(observer)) return TrainOutcome::kInterrupted;
    finish_epoch(observer);
  }
  return TrainOutcome::kFinished;
}

void Trainer::restore_best_weights() {
  if (best_epoch_ < 0) fail("the run has not finished an epoch yet: there is nothing to evaluate");
  best_.restore("model", *model_);
  best_.restore("decoder", *decoder_);
  model_->look_at(task_.graph());
  before_part_.clear();
}

void Trainer::restore_best() {
  restore_best_weights();
  model_->set_state(best_.list("state"));
  seen_ = task_.split().first_validation;
}

void Trainer::start_over() {
  restore_best_weights();
  model_->forget();
  seen_ = 0;
}

void Trainer::advance_to(EventId end) {
  const EvalScope scope(*model_);
  const auto observe = [&](EventId last) {
    std::vector<EventId> ids;
    for (EventId e = seen_; e < last; ++e) ids.push_back(e);
    const EventSet events(task_.log(), std::move(ids));
    model_->observe(events.batch(0, events.size()));
  };
  // Whole batches stay; a part of one is undone before the next call, so that the state at any
  // event does not depend on where there were stops on the way.
  if (!before_part_.empty()) model_->set_state(before_part_);
  before_part_.clear();
  const std::int64_t batch = task_.evaluation_batch();
  for (; seen_ + batch <= end; seen_ += batch) observe(seen_ + batch);
  if (seen_ >= end) return;
  before_part_ = model_->state();
  observe(end);
}

ordered_json options_json(const TrainOptions& train, const ModelOptions& model,
                          const MinerOptions& miner) {
  const ModelEntry& model_entry = find_entry("model", models(), train.model);
  const MinerEntry& miner_entry = find_entry("miner", miners(), train.miner);
  return {{"train", to_json(train)},
          {"model", to_json(model, {model_entry.options.begin(), model_entry.options.end()})},
          {"miner", to_json(miner, miner_entry.options())}};
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint all;
  all.document = {{"options", options_json(options_, model_options_, miner_options_)},
                  {"data_digest", task_.data_digest()},
                  {"epoch", epoch_},
                  {"position", position_},
                  {"current", to_json(current_)},
                  {"losses", losses_.to_json()},
                  {"measures", measures_.to_json()},
                  {"records", to_json(records_)},
                  {"best_epoch", best_epoch_},
                  {"best_metric", best_metric_},
                  {"best", best_.document}};
  all.put("model", *model_);
  all.put("decoder", *decoder_);
  all.put("miner", *miner_);
  all.put("optimizer", optimizer_->state());
  all.put("model_state", model_->state());
  all.put("miner_state", miner_->state());
  for (const auto& [name, tensor] : best_.tensors) all.tensors["best/" + name] = tensor;
  return all;
}

void Trainer::check_origin(const Checkpoint& checkpoint) const {
  const ordered_json& document = checkpoint.document;
  if (document.at("data_digest") != task_.data_digest()) {
    fail<UnusableRun>("the checkpoint belongs to another data set (digest {}, this one has {})",
                      document.at("data_digest").get<std::string>(), task_.data_digest());
  }
  // One of an older program may lack options that it did not have, and name some without use.
  const ordered_json present = options_json(options_, model_options_, miner_options_);
  for (const auto& [part, options] : present.items()) {
    const ordered_json& written = document.at("options").at(part);
    for (const auto& [name, value] : options.items()) {
      if (!written.contains(name) || written[name] == value) continue;
      fail<UnusableRun>("the checkpoint was written with {} {}, and not {}", name,
                        written[name].dump(), value.dump());
    }
  }
}

void Trainer::take_best(const Checkpoint& checkpoint) {
  check_origin(checkpoint);
  const ordered_json& document = checkpoint.document;
  best_epoch_ = document.at("best_epoch");
  best_metric_ = document.at("best_metric");
  best_ = {.document = document.at("best")};
  constexpr std::string_view kBest = "best/";
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.starts_with(kBest)) best_.tensors[name.substr(kBest.size())] = tensor;
  }
}

void Trainer::resume(const Checkpoint& checkpoint) {
  take_best(checkpoint);
  const ordered_json& document = checkpoint.document;
  checkpoint.restore("model", *model_);
  checkpoint.restore("decoder", *decoder_);
  checkpoint.restore("miner", *miner_);
  optimizer_->set_state(checkpoint.list("optimizer"));
  model_->set_state(checkpoint.list("model_state"));
  miner_->set_state(checkpoint.list("miner_state"));
  epoch_ = document.at("epoch");
  position_ = document.at("position");
  current_ = record_from_json(document.at("current"));
  losses_ = Averages::from_json(document.at("losses"));
  measures_ = Averages::from_json(document.at("measures"));
  records_.clear();
  for (const ordered_json& record : document.at("records")) {
    records_.push_back(record_from_json(record));
  }
}

}  // namespace curnm
