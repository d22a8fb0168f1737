#include "curnm/prediction/follower.h"

#include "curnm/nn/tensor_file.h"
#include "curnm/nn/tensors.h"

namespace curnm {

FollowedNetwork followed(const TrainedModel& trained, const Dataset& events, const Past& past) {
  const Device device(trained.device);
  return {.log = events.events,
          .past = past,
          .num_nodes = events.events.num_nodes,
          .edge_features = to_tensor(events.edge_features, trained.scales.edges, device),
          .node_features = to_tensor(events.node_features, trained.scales.nodes, device)};
}

std::unique_ptr<Follower> make_follower(const TrainedModel& trained,
                                        const FollowedNetwork& network) {
  const Device device(trained.device);
  const std::shared_ptr<Model> model = make_model(trained.model, trained.model_options,
                                                  {.num_nodes = network.num_nodes,
                                                   .edge_features = network.edge_features,
                                                   .node_features = network.node_features,
                                                   .first_time = trained.first_time,
                                                   .last_time = trained.last_time,
                                                   .seed = trained.seed,
                                                   .input_seed = trained.input_seed,
                                                   .device = device,
                                                   .path = trained.path});
  const std::shared_ptr<Decoder> decoder =
      make_decoder(trained.decoder, trained.decoder_options,
                   {.num_nodes = network.num_nodes,
                    .training_span = trained.last_time - trained.first_time,
                    .width = model->width(),
                    .outputs = trained.outputs,
                    .seed = trained.seed,
                    .device = device,
                    .path = trained.path});
  trained.tensors->restore("model", *model);
  trained.tensors->restore("decoder", *decoder);
  LinkModel both{model, decoder};
  both.use(network.past);
  both.train(false);
  both.model->reuse_states();
  return std::make_unique<Follower>(std::move(both), network.log, trained.batch);
}

void begin_at(Follower& follower, const std::vector<Tensor>& saved, EventId events) {
  const NoGradGuard no_grad;
  std::vector<Tensor> state = follower.model.state();
  check_saved(state.size() == saved.size(), "the saved state is that of another model");
  for (std::size_t i = 0; i < state.size(); ++i) {
    check_saved(saved[i].dim() == state[i].dim() && saved[i].dim() > 0 &&
                    saved[i].sizes().slice(1) == state[i].sizes().slice(1) &&
                    saved[i].scalar_type() == state[i].scalar_type(),
                "the saved state is that of another model");
    if (state[i].size(0) < saved[i].size(0)) {
      state[i] = saved[i];  // not one row per node
    } else {
      state[i].narrow(0, 0, saved[i].size(0)).copy_(saved[i]);
    }
  }
  follower.model.set_state(state);
  follower.replay.begin_at(events);
}

void begin_at_saved_state(const TrainedModel& trained, Follower& follower) {
  begin_at(follower, trained.tensors->list("state"), trained.state_events);
}

}  // namespace curnm
