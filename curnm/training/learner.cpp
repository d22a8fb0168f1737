#include "curnm/training/learner.h"

#include "curnm/base/error.h"
#include "curnm/data/open.h"
#include "curnm/nn/adam.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/nn/tensors.h"
#include "curnm/prediction/trained_model.h"

namespace curnm {

Device find_device(const std::string& name) {
  try {
    const Device device(name);
    at::zeros({1}, at::TensorOptions(device));
    return device;
  } catch (const c10::Error&) {
    throw OptionError(
        OptionError::Kind::kValue, "device",
        name.starts_with("cuda") && !at::hasCUDA()
            ? fmt::format(
                  "--device {}: this LibTorch is built without CUDA; one with it comes from "
                  "pytorch.org, and curnm is built with it by -DCMAKE_PREFIX_PATH=LIBTORCH "
                  "(--device cpu always works)",
                  name)
            : fmt::format("--device {}: this LibTorch has no such device (cpu always works)",
                          name));
  }
}

std::vector<Tensor> parameters_of(const Learner& learner) {
  std::vector<Tensor> all = learner.model->parameters();
  for (const Module* module : {static_cast<const Module*>(learner.decoder.get()),
                               static_cast<const Module*>(learner.miner.get())}) {
    for (const Tensor& parameter : module->parameters()) all.push_back(parameter);
  }
  return all;
}

namespace {

/// Throws where a model cannot go on with this network.
void check_init(const TrainedModel& init, const Dataset& data) {
  const auto check_width = [&](const char* kind, std::int64_t now, std::int64_t then) {
    if (now == then) return;
    fail<UnusableRun>(
        "{} has {} {} features, and the model to begin from was trained with {}: a warm start "
        "needs "
        "the same ones",
        data.name, now, kind, then);
  };
  check_width("edge", data.edge_features.width, init.edge_features);
  check_width("node", data.node_features.width, init.node_features.width);
  if (is_same_network(data, init.data_digest, init.extent, /*grown=*/true)) return;
  fail<UnusableRun>(
      "{} does not begin with the network of the model to begin from: {}; new events may only come "
      "after the old ones",
      data.name, difference(data, {init.data_digest, init.extent}));
}

/// The weights of the model that a warm start begins from. The optimiser and the miner begin anew.
void restore_weights(const TrainedModel& init, Learner& learner) {
  if (learner.decoder->outputs() != init.outputs) {
    throw OptionError(
        OptionError::Kind::kConflict, "init",
        fmt::format("--init: the model to begin from has {} output(s), and this miner teaches {}: "
                    "{}",
                    init.outputs, learner.decoder->outputs(),
                    init.outputs == 1
                        ? "choose --outputs single, or another --miner"
                        : "choose --miner curnm or mixture with --outputs questions"));
  }
  init.tensors->restore("model", *learner.model);
  init.tensors->restore("decoder", *learner.decoder);
}

}  // namespace

TrainingTimes training_times(const RunSpec& spec, const LinkTask& task) {
  if (spec.init != nullptr) return {spec.init->first_time, spec.init->last_time};
  return {task.train().log.time.front(), task.train().log.time.back()};
}

std::uint64_t input_seed(const RunSpec& spec) {
  return spec.init != nullptr ? spec.init->input_seed : spec.train.seed;
}

Learner make_learner(const RunSpec& spec, const LinkTask& task) {
  const TrainOptions& train = spec.train;
  const Device device = find_device(train.device);
  Learner learner;
  const Dataset& data = task.dataset();
  if (spec.init != nullptr) check_init(*spec.init, data);
  learner.scales =
      spec.init != nullptr ? spec.init->scales : fit_feature_scales(task, train.features);
  const TrainingTimes times = training_times(spec, task);
  learner.model =
      make_model(train.model, spec.model,
                 {.num_nodes = task.log().num_nodes,
                  .edge_features = to_tensor(data.edge_features, learner.scales.edges, device),
                  .node_features = to_tensor(data.node_features, learner.scales.nodes, device),
                  .first_time = times.first,
                  .last_time = times.last,
                  .seed = train.seed,
                  .input_seed = input_seed(spec),
                  .device = device,
                  .path = train.path});
  const std::int64_t width = learner.model->width();
  learner.miner = make_miner(train.miner, spec.miner,
                             {.events = &task.train().log,
                              .past = task.train_past(),
                              .destinations = task.train_destinations(),
                              .epochs = train.epochs,
                              .width = width,
                              .seed = train.seed,
                              .device = device,
                              .path = train.path});
  learner.decoder = make_decoder(train.decoder, spec.decoder,
                                 {.num_nodes = task.log().num_nodes,
                                  .training_span = times.last - times.first,
                                  .width = width,
                                  .outputs = num_outputs(*learner.miner),
                                  .seed = train.seed,
                                  .device = device,
                                  .path = train.path});
  std::vector<Tensor> parameters = parameters_of(learner);
  // The gates of a miner do not decay.
  const std::size_t theta = parameters.size() - learner.miner->parameters().size();
  learner.optimizer = std::make_unique<Adam>(std::move(parameters),
                                             AdamOptions{.learning_rate = train.learning_rate,
                                                         .weight_decay = train.weight_decay,
                                                         .decaying = theta,
                                                         .path = train.path});
  learner.use(task.train_past());
  learner.fit(typical_links(task.train().log, task.train_destinations(), train.seed));
  if (spec.init != nullptr) restore_weights(*spec.init, learner);
  return learner;
}

}  // namespace curnm
