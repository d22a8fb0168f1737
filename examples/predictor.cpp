// A trained model inside a program: one file is read, and questions are answered.
#include "curnm/prediction/predictor.h"

#include <cstdio>
#include <filesystem>

#include "curnm/data/synthetic.h"
#include "curnm/training/session.h"

using namespace curnm;

/// What `curnm train` and `curnm export` do.
void train_and_save(const Dataset& data, const std::filesystem::path& file) {
  TrainingSession session(resolve_run({{"epochs", "2"}, {"miner", "mixture"}, {"walk", "off"}}),
                          data);
  TrainObserver quiet;
  session.train(quiet);
  save_model(session.trained_model(), file);
}

int main() {
  const Dataset data = generate({.nodes = 100, .events = 3000, .repeat = 0.5}, "example");
  const auto file = std::filesystem::temp_directory_path() / "curnm-example.model";
  train_and_save(data, file);

  const Predictor predictor(load_model(file), data);
  const NodeId someone = data.events.src.back();
  const Timestamp later = data.events.time.back() + 60;
  for (const Prediction& found : predictor.top(someone, later, /*k=*/3)) {
    std::printf("likeliest: %s, logit %.3f\n", data.ids.name(found.node).c_str(),
                static_cast<double>(found.logit));
  }
  std::filesystem::remove(file);
}
