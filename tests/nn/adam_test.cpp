#include "curnm/nn/adam.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include "curnm/nn/tensors.h"

// Beside the original, whose header takes longer to compile than all other tests of this folder.

namespace curnm {
namespace {

Tensor numbers(std::uint64_t key, at::IntArrayRef sizes) {
  Tensor x = at::empty(sizes);
  keyed_uniform_(x, 1, Rng(key, Stream::kTest));
  return x;
}

// Torch's weight decay is the gradient of half a squared norm.
TEST(AdamTest, StepsLikeTorch) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    for (const double decay : {0.0, 0.25}) {
      Tensor ours = numbers(1, {3, 4}).requires_grad_(true);
      Tensor theirs = ours.detach().clone().requires_grad_(true);
      Adam adam({ours}, {.learning_rate = 0.01, .weight_decay = decay, .path = path});
      torch::optim::Adam reference({theirs},
                                   torch::optim::AdamOptions(0.01).weight_decay(2 * decay));
      for (int step = 0; step < 20; ++step) {
        adam.zero_grad();
        reference.zero_grad();
        (ours.pow(4).sum() + ours.sin().sum()).backward();
        (theirs.pow(4).sum() + theirs.sin().sum()).backward();
        adam.step();
        reference.step();
        EXPECT_TRUE(at::allclose(ours, theirs, 1e-6, 1e-7)) << step << ", decay " << decay;
      }
    }
  }
}

}  // namespace
}  // namespace curnm
