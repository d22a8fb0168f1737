#include <algorithm>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/curriculum/curriculum.h"
#include "curnm/curriculum/pool.h"
#include "curnm/curriculum/selection.h"
#include "curnm/miners/curnm/factors.h"
#include "curnm/miners/curnm/objective.h"
#include "curnm/miners/curnm/telemetry.h"
#include "curnm/miners/losses.h"
#include "curnm/miners/miners.h"
#include "curnm/miners/random_pairs.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// Curriculum negative mining: for every positive a pool of random, historical and hard candidates;
/// of all pools of a batch, those whose factors are closest to their positives'; how many, and how
/// much they count, follows the model's progress.
///
/// Differs from the released program in: H_{u,t} is exact; candidate j of positive i is gated with
/// positive i's factors; the hard cache belongs to the positive event, not to its source; ranking
/// uses logits, since probabilities saturate; half of the random negatives have another source; pi
/// stays where it is without progress. docs/decisions.md has the reasons, docs/equations.md the
/// place of each equation.
class CurnmMiner final : public NegativeMiner {
 public:
  CurnmMiner(const MinerOptions& options, const MinerContext& context)
      : options_(options.curnm),
        context_(context),
        curriculum_(options_),
        pool_(context.partners, context.graph, context.destinations, options_.pool,
              options_.gamma_hist),
        random_(context, options.corruption.corrupt),
        first_time_(context.events->time.front()),
        period_(std::max(context.events->time.back() - first_time_, 0.0)) {
    if (options_.ablate != "cache") {
      cache_ = std::make_unique<HardCache>(context.events->size(), options_.pool / 2);
    }
    if (options_.ablate != "disentangle") {
      factors_ = register_module(
          "factors", std::make_shared<Factors>(Factors::Options{
                         .width = context.width,
                         .time2vec_width = options_.time2vec_width,
                         .shortest_time = period_ > 0 ? median_step(*context.events) / period_ : 1,
                         .temporal = options_.ablate != "temporal",
                         .path = context.path}));
    }
  }

  void begin_epoch(std::int64_t epoch) override {
    epoch_ = epoch;
    difficulty_ = curriculum_.difficulty();
  }

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    Candidates candidates = pool_.build(batch, difficulty_.caching ? cache_.get() : nullptr, key);
    // Learned from, or at least measured.
    if (difficulty_.delta > 0 || options_.curriculum_metric == "training") {
      candidates.extra = random_.draw(batch, selected_of(batch.size()), key);
    }
    return candidates;
  }

  Mined mine(const EventBatch& batch, const Candidates& candidates, const Embedded& z,
             const EdgeDecoder& decoder) override {
    const LinkFunction link = decoder.function();
    const Times times(batch, candidates, [&](Timestamp t) { return fraction(t); });
    const std::int64_t all = batch.size() * candidates.width;
    Mined mined;
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(all));
    std::iota(chosen.begin(), chosen.end(), 0);
    const bool selective = selected_of(batch.size()) < all;
    if (selective) chosen = select(candidates, z, link, times, mined.candidate_logits);
    const Embedded part = selective ? z.restricted(chosen) : z;

    const torch::Tensor which = to_tensor(chosen, z.z.device());
    const Scored scored(link, part, torch::div(which, candidates.width, "floor"));
    const Logits logits = learn(link, part, scored);
    const torch::Tensor zero = torch::zeros({}, z.z.options());
    LossParts parts{
        .positive = mean(positive_bce(logits.positive), z.path),
        .random = logits.random.numel() > 0 ? mean(negative_bce(logits.random), z.path) : zero,
        .selected = mean(negative_bce(logits.selected), z.path),
        .contrastive = zero,
        .squared_norm =
            options_.mu > 0 ? squared_norm(context_.parameters, context_.path).detach() : zero};
    if (factors_ && options_.lambda > 0) {
      parts.contrastive = contrast(link, part, scored, times, which, mined.measures);
    }
    mined.loss = total_loss(parts, difficulty_.delta, options_.lambda, options_.mu);
    mined.decay = options_.mu;  // the norm counts in the loss, its gradient is the optimiser's
    mined.losses = {{"positive", parts.positive.item<double>()},
                    {"random", parts.random.item<double>()},
                    {"selected", parts.selected.item<double>()},
                    {"contrastive", parts.contrastive.item<double>()},
                    {"squared_norm", parts.squared_norm.item<double>()}};
    mined.positive_logits = logits.positive.detach();
    if (!selective) mined.candidate_logits = logits.selected.detach();
    if (logits.random.numel() > 0) {
      mined.measures["training_auc"] = training_auc(mined.positive_logits, logits.random.detach());
    }
    describe_pool(candidates, chosen, mined.candidate_logits, mined.measures);
    mined.measures["false_negative_share"] =
        false_negative_share(batch, candidates, chosen, *context_.events, *context_.pairs);
    return mined;
  }

  void observe(const EventBatch& batch, const Candidates& candidates, const Mined& mined) override {
    const auto auc = mined.measures.find("training_auc");
    if (auc != mined.measures.end()) {
      training_auc_sum_ += auc->second;
      ++training_batches_;
    }
    if (!difficulty_.caching) return;
    const torch::Tensor p = sigmoid_of(mined.candidate_logits).to(torch::kCPU).contiguous();
    const std::span<const float> probabilities(p.data_ptr<float>(),
                                               static_cast<std::size_t>(p.numel()));
    const auto width = static_cast<std::size_t>(candidates.width);
    std::vector<std::int64_t> fresh(batch.src.size());
    parallel_for(batch.size(), /*grain=*/32, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const std::int64_t event = batch.first + static_cast<std::int64_t>(i);
        fresh[i] = cache_->refresh(
            event, std::span(candidates.nodes).subspan(i * width, width),
            probabilities.subspan(i * width, width),
            candidates.kinds[i * width] == CandidateKind::kHard, difficulty_.alpha,
            Rng(context_.seed, Stream::kHardCache, static_cast<std::uint64_t>(epoch_),
                static_cast<std::uint64_t>(event)));
      }
    });
    for (std::int64_t count : fresh) renewed_ += count;
    refreshed_ += batch.size() * cache_->slots();
  }

  void end_epoch(double validation_metric) override {
    curriculum_.record(options_.curriculum_metric == "training"
                           ? training_auc_sum_ / static_cast<double>(training_batches_)
                           : validation_metric);
    training_auc_sum_ = 0;
    training_batches_ = renewed_ = refreshed_ = 0;
  }

  std::map<std::string, double> telemetry() const override {
    std::map<std::string, double> facts = {{"pi", difficulty_.pi},
                                           {"delta", difficulty_.delta},
                                           {"alpha", difficulty_.alpha},
                                           {"beta", difficulty_.beta},
                                           {"caching", difficulty_.caching ? 1 : 0}};
    if (cache_) facts["cache_events"] = static_cast<double>(cache_->size());
    if (refreshed_ > 0) {
      facts["cache_turnover"] = static_cast<double>(renewed_) / static_cast<double>(refreshed_);
    }
    return facts;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    const auto destinations = static_cast<std::int64_t>(context_.destinations.size());
    if (destinations <= options_.pool) {
      notes.push_back(fmt::format("{} destinations for pools of M = {}: candidates will repeat",
                                  destinations, options_.pool));
    }
    if (period_ == 0) {
      notes.push_back(
          "all training events have the same time: nothing is historical, and the "
          "temporal factor has no effect");
    }
    if (cache_ && !caches(least_pi(), options_.tau)) {
      notes.push_back(
          fmt::format("pi will not fall below {:.2f} in {} epoch(s), and hard negatives begin at "
                      "tau = {}: there will be none",
                      least_pi(), context_.epochs, options_.tau));
    }
    return notes;
  }

  std::vector<torch::Tensor> state() const override {
    const std::vector<double> counters = {training_auc_sum_, static_cast<double>(training_batches_),
                                          static_cast<double>(renewed_),
                                          static_cast<double>(refreshed_)};
    std::vector<torch::Tensor> state = {to_tensor(curriculum_.state(), torch::kCPU),
                                        to_tensor(counters, torch::kCPU)};
    if (cache_) {
      state.push_back(to_tensor(cache_->raw_nodes(), torch::kCPU));
      state.push_back(to_tensor(cache_->raw_scores(), torch::kCPU));
    }
    return state;
  }

  void set_state(const std::vector<torch::Tensor>& state) override {
    CURNM_ASSERT(state.size() == (cache_ ? 4U : 2U));
    std::vector<double> curriculum(static_cast<std::size_t>(state[0].numel()));
    copy_to(state[0], std::span(curriculum));
    curriculum_.set_state(curriculum);
    std::vector<double> counters(4);
    copy_to(state[1], std::span(counters));
    training_auc_sum_ = counters[0];
    training_batches_ = static_cast<std::int64_t>(counters[1]);
    renewed_ = static_cast<std::int64_t>(counters[2]);
    refreshed_ = static_cast<std::int64_t>(counters[3]);
    if (!cache_) return;
    copy_to(state[2], cache_->raw_nodes());
    copy_to(state[3], cache_->raw_scores());
  }

 private:
  /// Embeddings of the links, and the decoder's projections, each once.
  struct Scored {
    Scored(const LinkFunction& link, const Embedded& z, torch::Tensor owners)
        : owner(std::move(owners)) {
      // One gather and one split: their gradients come back in one piece.
      const std::vector<torch::Tensor> h =
          z.rows(torch::cat({z.sources.index_select(0, z.source), z.dst, z.candidates}))
              .split_with_sizes({z.source.numel(), z.dst.numel(), z.candidates.numel()});
      h_u = h[0];
      h_v = h[1];
      h_candidates = h[2];
      sources = link.source(z.rows(z.sources));
      source_of = z.source.index_select(0, owner);
      destinations = link.destination(z.z);
    }
    torch::Tensor owner;         // of each candidate: its positive
    torch::Tensor h_u;           // [B,D]
    torch::Tensor h_v;           // [B,D]
    torch::Tensor h_candidates;  // [n,D]
    torch::Tensor sources;       // [S,D]
    torch::Tensor source_of;     // of each candidate: that of its positive
    torch::Tensor destinations;  // [R,D]
  };

  struct Logits {
    torch::Tensor positive;  // [B]
    torch::Tensor selected;  // of the candidates
    torch::Tensor random;    // of the extra pairs
  };

  /// The times that the temporal factor sees, as fractions of the training period.
  struct Times {
    template <class Fraction>
    Times(const EventBatch& batch, const Candidates& candidates, const Fraction& fraction) {
      const auto mapped = [&](std::span<const Timestamp> times) {
        std::vector<double> values;
        for (Timestamp t : times) values.push_back(fraction(t));
        return values;
      };
      now = to_tensor(mapped(batch.time), torch::kCPU);
      met = to_tensor(mapped(candidates.met), torch::kCPU);
      seen = to_tensor(mapped(candidates.seen), torch::kCPU);
    }
    torch::Tensor now;   // [B]
    torch::Tensor met;   // [B·M]
    torch::Tensor seen;  // [B·M]
  };
  /// "Never" is 0, as in the paper.
  double fraction(Timestamp t) const {
    return t == kNever || period_ == 0 ? 0 : (t - first_time_) / period_;
  }

  /// The logits that the loss is made of, in one pass.
  static Logits learn(const LinkFunction& link, const Embedded& z, const Scored& scored) {
    const torch::Tensor all =
        link.logits(scored.sources, torch::cat({z.source, scored.source_of, z.extra_source}),
                    scored.destinations, torch::cat({z.dst, z.candidates, z.extra_dst}));
    const std::int64_t positives = z.dst.numel();
    const std::int64_t selected = z.candidates.numel();
    return {.positive = all.narrow(0, 0, positives),
            .selected = all.narrow(0, positives, selected),
            .random = all.narrow(0, positives + selected, z.extra_dst.numel())};
  }

  /// Factor logits of the candidates of z, which are those at the positions `which` of the pools.
  FactorLogits factor_logits(const LinkFunction& link, const Embedded& z, const Scored& scored,
                             const Times& times, const torch::Tensor& which,
                             std::map<std::string, double>* measures) {
    const torch::Device device = z.z.device();
    const std::int64_t positives = z.dst.numel();
    const torch::Tensor rows = torch::cat({z.dst, z.candidates});
    const Factor positive = factors_->positive(scored.h_u, scored.h_v, times.now.to(device));
    torch::Tensor recency = factors_->recency(times.met.to(device), times.seen.to(device));
    if (recency.defined() && which.numel() < recency.size(0)) {
      recency = select_rows(recency, which, z.path);
    }
    const Factor negative =
        factors_->negative(positive, scored.owner, scored.h_candidates, recency);
    if (measures != nullptr) {
      (*measures)["positive_gate"] = mean(positive.gate.detach(), z.path).item<double>();
      (*measures)["negative_gate"] = mean(negative.gate.detach(), z.path).item<double>();
    }
    // Eq. (11): the irrelevant factor is the rest of the embedding; so is its projection.
    const torch::Tensor relevant = torch::cat({positive.relevant, negative.relevant});
    const SplitLogits logits = link.split(scored.sources, torch::cat({z.source, scored.source_of}),
                                          scored.destinations, rows, link.destination(relevant));
    const auto of_positive = [&](const torch::Tensor& all) {
      return all.narrow(0, 0, positives).index_select(0, scored.owner);
    };
    const auto of_negative = [&](const torch::Tensor& all) {
      return all.narrow(0, positives, scored.owner.numel());
    };
    return {.positive_relevant = of_positive(logits.parts),
            .positive_irrelevant = of_positive(logits.rests),
            .negative_relevant = of_negative(logits.parts),
            .negative_irrelevant = of_negative(logits.rests)};
  }

  /// That of the last epoch, if each one makes progress over those before it.
  double least_pi() const {
    double pi = options_.pi;
    for (std::int64_t epoch = 1; epoch < context_.epochs; ++epoch) {
      pi = next_pi(pi, /*improved=*/epoch > 1, options_);
    }
    return pi;
  }

  bool by_row() const { return options_.select == "row"; }
  /// How many candidates of one pool are selected, if each has its share.
  std::int64_t selected_of_row() const { return selected_count(difficulty_.pi, options_.pool); }
  /// N_b, of as many pools as there are positives.
  std::int64_t selected_of(std::int64_t positives) const {
    return by_row() ? positives * selected_of_row()
                    : selected_count(difficulty_.pi, positives * options_.pool);
  }

  /// Positions of the selected candidates, ascending; `logits` receives those of all.
  std::vector<std::int64_t> select(const Candidates& candidates, const Embedded& z,
                                   const LinkFunction& link, const Times& times,
                                   torch::Tensor& logits) {
    const torch::NoGradGuard no_grad;
    const torch::Tensor every = torch::arange(z.candidates.numel(), z.candidates.options());
    const Scored scored(link, z, torch::div(every, candidates.width, "floor"));
    logits = link.logits(scored.sources, scored.source_of, scored.destinations, z.candidates);
    torch::Tensor scores = logits;
    if (factors_) {
      scores = closeness(factor_logits(link, z, scored, times, every, /*measures=*/nullptr),
                         difficulty_.beta);
    }
    scores = scores.to(torch::kCPU, torch::kFloat32).contiguous();
    const std::span<const float> values(scores.data_ptr<float>(),
                                        static_cast<std::size_t>(scores.numel()));
    return by_row() ? top_of_rows(values, candidates.width, selected_of_row())
                    : top(values, selected_of(z.dst.numel()));
  }

  torch::Tensor contrast(const LinkFunction& link, const Embedded& z, const Scored& scored,
                         const Times& times, const torch::Tensor& which,
                         std::map<std::string, double>& measures) {
    if (options_.contrast_gradient == "all") {
      return contrastive_loss(factor_logits(link, z, scored, times, which, &measures),
                              options_.contrast, z.path);
    }
    const Embedded fixed = z.detached();
    const LinkFunction fixed_link = link.detached();
    const Scored fixed_scores(fixed_link, fixed, scored.owner);
    return contrastive_loss(factor_logits(fixed_link, fixed, fixed_scores, times, which, &measures),
                            options_.contrast, z.path);
  }

  CurnmOptions options_;
  MinerContext context_;
  Curriculum curriculum_;
  NegativePool pool_;
  RandomPairs random_;
  std::unique_ptr<HardCache> cache_;  // null without hard negatives
  std::shared_ptr<Factors> factors_;  // null without disentanglement
  Timestamp first_time_;
  Timestamp period_;

  std::int64_t epoch_ = 0;
  Difficulty difficulty_;
  double training_auc_sum_ = 0;
  std::int64_t training_batches_ = 0;
  std::int64_t renewed_ = 0;    // cache slots of this epoch that got another candidate
  std::int64_t refreshed_ = 0;  // of so many
};

}  // namespace

std::shared_ptr<NegativeMiner> make_curnm(const MinerOptions& options,
                                          const MinerContext& context) {
  return std::make_shared<CurnmMiner>(options, context);
}

}  // namespace curnm
