#include "curnm/training/learner.h"

#include "curnm/nn/adam.h"
#include "curnm/nn/tensors.h"

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

Learner make_learner(const RunSpec& spec, const LinkTask& task) {
  const TrainOptions& train = spec.train;
  const Device device = find_device(train.device);
  Learner learner;
  learner.scales = fit_feature_scales(task, train.features);
  const Dataset& data = task.dataset();
  learner.model =
      make_model(train.model, spec.model,
                 {.num_nodes = task.log().num_nodes,
                  .edge_features = to_tensor(data.edge_features, learner.scales.edges, device),
                  .node_features = to_tensor(data.node_features, learner.scales.nodes, device),
                  .first_time = task.train().log.time.front(),
                  .last_time = task.train().log.time.back(),
                  .seed = train.seed,
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
  learner.decoder =
      make_decoder(train.decoder, spec.decoder,
                   {.num_nodes = task.log().num_nodes,
                    .training_span = task.train().log.time.back() - task.train().log.time.front(),
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
  return learner;
}

}  // namespace curnm
