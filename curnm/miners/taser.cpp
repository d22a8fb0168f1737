#include <algorithm>

#include "curnm/base/error.h"
#include "curnm/miners/fields.h"
#include "curnm/miners/losses.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/tensors.h"
#include "curnm/sampling/random_pairs.h"

namespace curnm {
namespace {

struct TaserOptions {
  std::int64_t negatives = 1;
  double taser_noise = 0.1;

  void fields(const FieldVisitor& visit) {
    visit(kNegativesField, negatives);
    visit({.name = "taser-noise",
           .help = "weight that every positive keeps",
           .min = 1e-6,
           .max = 1000,
           .symbol = "gamma"},
          taser_noise);
  }
};

/// TASER's choice of positives (Deng et al. 2024, arXiv 2402.05396v1): each epoch draws as many
/// training events as there are, with replacement, event i with probability proportional to
/// sigmoid(its last logit) + gamma. Confident positives are seen more often; gamma keeps the others
/// in. Negatives are random.
///
/// Differs from the paper in: the draw keeps the order of time and memory sees every event, so that
/// it works with models with memory. An event that was drawn m times counts m times in the loss of
/// its batch; the first epoch takes each once.
class TaserMiner final : public NegativeMiner {
 public:
  TaserMiner(const TaserOptions& options, const MinerContext& context)
      : noise_(options.taser_noise),
        seed_(context.seed),
        device_(context.device),
        path_(context.path),
        width_(options.negatives),
        pairs_(context.past.pairs, context.destinations, /*sources=*/{}, Corruption::kDestination),
        confidence_(static_cast<std::size_t>(context.events->size()), 0),
        times_drawn_(confidence_.size(), 1) {}

  void begin_epoch(std::int64_t epoch) override { epoch_ = epoch; }

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    return {.width = width_,
            .nodes = std::move(pairs_.draw(batch, batch.whole_size() * width_, key).dst)};
  }

  Mined mine(const EventBatch& batch, const Candidates&, const Embedded& embedded,
             const Decoder& decoder) override {
    const std::span<const float> drawn =
        std::span(times_drawn_).subspan(static_cast<std::size_t>(batch.first), batch.src.size());
    const Tensor counts = to_tensor(drawn, device_);
    const auto events = static_cast<double>(batch.whole_size());
    std::array<double, 1> draws = {counts.sum().item<double>()};
    embedded.parts.sum(draws);
    // If no event of a small batch was drawn, there is nothing to learn from it.
    Mined mined = learn_from_all(embedded, decoder, counts / std::max(draws[0], 1.0));
    std::array<double, 2> shares = {
        share_of_mean(counts.gt(0).to(at::kFloat), events, path_).item<double>(),
        share_of_mean(sigmoid_of(mined.positive_logits), events, path_).item<double>()};
    embedded.parts.sum(shares);
    mined.measures = {{"distinct_share", shares[0]}, {"confidence", shares[1]}};
    return mined;
  }

  void observe(const EventBatch& batch, const Candidates&, const Mined& mined) override {
    const Tensor p = sigmoid_of(mined.positive_logits).to(at::kCPU).contiguous();
    std::copy_n(p.data_ptr<float>(), batch.src.size(),
                confidence_.begin() + static_cast<std::ptrdiff_t>(batch.first));
  }

  std::map<std::string, double> end_epoch(const Validation&) override {
    draw();
    return {};
  }

  std::vector<Tensor> memory_of(std::int64_t begin, std::int64_t end) const override {
    return {to_tensor(std::span(confidence_).subspan(index(begin), index(end - begin)), at::kCPU)};
  }
  void set_memory_of(std::int64_t begin, const std::vector<Tensor>& rows) override {
    copy_to(rows[0], std::span(confidence_).subspan(index(begin), index(rows[0].numel())));
  }

  std::vector<Tensor> state() const override {
    return {to_tensor(confidence_, at::kCPU), to_tensor(times_drawn_, at::kCPU)};
  }
  void set_state(const std::vector<Tensor>& state) override {
    check_saved(state.size() == 2, "the saved miner has other options");
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
  Device device_;
  Path path_;
  std::int64_t width_;
  RandomPairs pairs_;
  std::int64_t epoch_ = 0;
  std::vector<float> confidence_;   // [E]: sigmoid of each event's last logit
  std::vector<float> times_drawn_;  // [E], in this epoch
};

}  // namespace

MinerEntry taser_miner() {
  return {{.name = "taser",
           .summary = "random negatives, confident positives more often (Deng et al. 2024)",
           .defaults = TaserOptions{}},
          [](const Options& options, const MinerContext& context) {
            return std::make_shared<TaserMiner>(options.as<TaserOptions>(), context);
          }};
}

}  // namespace curnm
