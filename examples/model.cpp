// A model of your own: a file, an entry in the registry, and every command of the library knows it.
// This one gives a node an embedding by how long ago, and how often, it was active.
#include "curnm/models/model.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "curnm/data/synthetic.h"
#include "curnm/nn/tensors.h"
#include "curnm/training/session.h"

using namespace curnm;

struct RecencyOptions {
  std::int64_t width = 32;

  void fields(const FieldVisitor& visit) {
    visit({.name = "width", .help = "width of embeddings", .min = 1}, width);
  }
};

class Recency final : public Model {
 public:
  explicit Recency(const RecencyOptions& options)
      : map_(register_module("map", std::make_shared<Linear>(2, options.width))) {}

  std::int64_t width() const override { return map_->weight.size(0); }

  Tensor embed(const Roots& roots, const Sample*, const Rng&) const override {
    std::vector<float> facts;
    for (std::size_t r = 0; r < roots.nodes.size(); ++r) {
      const Timestamp t = roots.times[r];  // only what happened strictly before it may be used
      const Timestamp last = past().graph->last_seen(roots.nodes[r], t);
      facts.push_back(last == kNever ? 20 : static_cast<float>(std::log1p(t - last)));
      const auto events = static_cast<double>(past().graph->before(roots.nodes[r], t).size());
      facts.push_back(static_cast<float>(std::log1p(events)));
    }
    return at::tanh((*map_)(to_tensor(facts, at::kCPU).view({-1, 2})));
  }

 private:
  std::shared_ptr<Linear> map_;
};

int main() {
  models().add({{"activity", "how recently and how often a node was active", RecencyOptions{}},
                [](const Options& options, const ModelContext&) {
                  return std::make_shared<Recency>(options.as<RecencyOptions>());
                }});
  TrainingSession session(
      resolve_run({{"model", "activity"}, {"epochs", "5"}, {"learning-rate", "1e-2"}}),
      generate({.nodes = 200, .events = 5000, .repeat = 0.5}, "example"));
  TrainObserver quiet;
  session.train(quiet);
  std::printf("random AP %.3f\n", session.test()["test"]["random"]["ap"].get<double>());
}
