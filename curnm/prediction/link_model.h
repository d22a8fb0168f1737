#pragma once

#include "curnm/base/error.h"
#include "curnm/decoders/decoder.h"
#include "curnm/models/model.h"

namespace curnm {

/// A model and its decoder: together they score links, and follow the stream of events.
struct LinkModel {
  std::shared_ptr<Model> model;
  std::shared_ptr<Decoder> decoder;

  /// Sets where the past is looked up.
  void use(const Past& past) {
    model->use(past);
    decoder->use(past);
  }
  void fit(const TypicalLinks& typical) {
    model->fit(typical);
    decoder->fit(typical);
  }
  void train(bool on = true) {
    model->train(on);
    decoder->train(on);
  }

  // The state of the stream: that of the model, then that of the decoder.
  void observe(const EventBatch& batch) {
    model->observe(batch);
    decoder->observe(batch);
  }
  void forget() {
    model->forget();
    decoder->forget();
  }
  std::vector<Tensor> state() const {
    std::vector<Tensor> all = model->state();
    const std::vector<Tensor> of_decoder = decoder->state();
    CURNM_ASSERT(std::ssize(of_decoder) == decoder->state_size());
    all.insert(all.end(), of_decoder.begin(), of_decoder.end());
    return all;
  }
  void set_state(const std::vector<Tensor>& state) {
    check_saved(std::ssize(state) >= decoder->state_size(), "a saved state is incomplete");
    const auto of_decoder = state.end() - decoder->state_size();
    model->set_state({state.begin(), of_decoder});
    decoder->set_state({of_decoder, state.end()});
  }
  /// What observing the batch would change, for `undo`.
  std::vector<std::vector<Tensor>> state_before(const EventBatch& batch) const {
    return {model->state_before(batch), decoder->state_before(batch)};
  }
  void undo(const std::vector<std::vector<Tensor>>& before) {
    model->undo(before.at(0));
    decoder->undo(before.at(1));
  }
};

}  // namespace curnm
