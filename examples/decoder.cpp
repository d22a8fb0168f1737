// A decoder of your own: a bilinear form, and how long ago the two last met. Curriculum mining
// works on it: for its factors it uses the default of `split`, which a decoder may override.
#include "curnm/decoders/decoder.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "curnm/data/synthetic.h"
#include "curnm/nn/tensors.h"
#include "curnm/training/session.h"

using namespace curnm;

class Acquainted final : public Decoder {
 public:
  explicit Acquainted(const DecoderContext& context)
      : Decoder(context),
        map_(register_module("map", std::make_shared<Linear>(context.width, context.width))),
        age_(register_module("age", std::make_shared<Linear>(1, 1))) {}

  void use(const Past& past) override { past_ = past; }

  Tensor logits(const Links& links, const Tensor& z) const override {
    std::vector<std::int64_t> sources;
    std::vector<float> ages;
    for (std::int64_t i = 0; i < links.size(); ++i) {
      sources.push_back(links.source_root(i));
      const auto at = static_cast<std::size_t>(i);
      const Timestamp t = links.time()[at];
      const Timestamp met = past_.partners->last_before(links.src()[at], links.dst()[at], t);
      ages.push_back(met == kNever ? 20 : static_cast<float>(std::log1p(t - met)));
    }
    const Tensor h_u = z.index_select(0, to_tensor(sources, z.device()));
    const Tensor h_v = z.index_select(0, to_tensor(links.destination(), z.device()));
    const Tensor age = (*age_)(to_tensor(ages, z.device()).unsqueeze(1)).squeeze(1);
    return (((*map_)(h_u)*h_v).sum(1) + age).unsqueeze(1);
  }

 private:
  Past past_;
  std::shared_ptr<Linear> map_;
  std::shared_ptr<Linear> age_;
};

int main() {
  decoders().add({{"acquainted", "a bilinear form and the age of the pair"},
                  [](const Options&, const DecoderContext& context) {
                    return std::make_shared<Acquainted>(context);
                  }});
  TrainingSession session(resolve_run({{"decoder", "acquainted"},
                                       {"model", "jodie"},
                                       {"miner", "curnm"},
                                       {"width", "32"},
                                       {"epochs", "3"}}),
                          generate({.nodes = 200, .events = 4000, .repeat = 0.6}, "example"));
  TrainObserver quiet;
  session.train(quiet);
  std::printf("trans AP %.3f\n", session.test()["test"]["trans"]["ap"].get<double>());
}
