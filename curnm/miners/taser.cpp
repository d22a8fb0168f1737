#include <algorithm>

#include "curnm/base/error.h"
#include "curnm/miners/losses.h"
#include "curnm/miners/miners.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// TASER's choice of positives (Deng et al. 2024, arXiv 2402.05396v1): each epoch draws as many
/// training events as there are, with replacement, event i with probability proportional to
/// sigmoid(its last logit) + gamma. Confident positives are seen more often; gamma keeps the others
/// in. Negatives are random.
///
/// Differs from the paper in: the draw keeps the order of time and memory sees every event, so that
/// it suits models with memory. An event that was drawn m times counts m times in the loss of its
/// batch; the first epoch takes each once.
class TaserMiner final : public NegativeMiner {
 public:
  TaserMiner(const MinerOptions& options, const MinerContext& context)
      : noise_(options.taser.taser_noise),
        seed_(context.seed),
        negatives_(make_random({.plain = options.plain, .corruption = {"destination"}}, context)),
        confidence_(static_cast<std::size_t>(context.events->size()), 0),
        times_drawn_(confidence_.size(), 1) {}

  void begin_epoch(std::int64_t epoch) override { epoch_ = epoch; }

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    return negatives_->propose(batch, key);
  }

  Mined mine(const EventBatch& batch, const Candidates& candidates, const Embedded& z,
             const EdgeDecoder& decoder) override {
    const std::span<const float> drawn =
        std::span(times_drawn_).subspan(static_cast<std::size_t>(batch.first), batch.src.size());
    const torch::Tensor counts = to_tensor(drawn, z.z.device());
    // No event of a small batch may have been drawn: then there is nothing to learn from it.
    const torch::Tensor weights = counts / counts.sum().clamp_min(1);
    Mined mined = learn_from_all(candidates, z, decoder, weights);
    mined.measures = {
        {"distinct_share", counts.gt(0).to(torch::kFloat32).mean().item<double>()},
        {"confidence", mean(sigmoid_of(mined.positive_logits), z.path).item<double>()}};
    return mined;
  }

  void observe(const EventBatch& batch, const Candidates&, const Mined& mined) override {
    const torch::Tensor p = sigmoid_of(mined.positive_logits).to(torch::kCPU).contiguous();
    std::copy_n(p.data_ptr<float>(), batch.src.size(),
                confidence_.begin() + static_cast<std::ptrdiff_t>(batch.first));
  }

  void end_epoch(double) override { draw(); }

  std::vector<torch::Tensor> state() const override {
    return {to_tensor(confidence_, torch::kCPU), to_tensor(times_drawn_, torch::kCPU)};
  }
  void set_state(const std::vector<torch::Tensor>& state) override {
    CURNM_ASSERT(state.size() == 2);
    copy_to(state[0], std::span(confidence_));
    copy_to(state[1], std::span(times_drawn_));
  }

 private:
  /// As many draws with replacement as there are events, by their cumulative weights.
  void draw() {
    std::vector<double> cumulative(confidence_.size());
    double sum = 0;
    for (std::size_t i = 0; i < confidence_.size(); ++i) {
      cumulative[i] = sum += confidence_[i] + noise_;
    }
    std::fill(times_drawn_.begin(), times_drawn_.end(), 0.0F);
    Rng rng(seed_, Stream::kPositives, static_cast<std::uint64_t>(epoch_));
    for (std::size_t n = 0; n < confidence_.size(); ++n) {
      const auto found =
          std::upper_bound(cumulative.begin(), cumulative.end(), rng.uniform() * sum);
      const auto at = std::min(found - cumulative.begin(), std::ssize(cumulative) - 1);
      times_drawn_[static_cast<std::size_t>(at)] += 1;
    }
  }

  double noise_;
  std::uint64_t seed_;
  std::shared_ptr<NegativeMiner> negatives_;
  std::int64_t epoch_ = 0;
  std::vector<float> confidence_;   // [E]: sigmoid of each event's last logit
  std::vector<float> times_drawn_;  // [E], in this epoch
};

}  // namespace

std::shared_ptr<NegativeMiner> make_taser(const MinerOptions& options,
                                          const MinerContext& context) {
  return std::make_shared<TaserMiner>(options, context);
}

}  // namespace curnm
