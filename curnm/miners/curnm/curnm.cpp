#include <algorithm>
#include <array>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/curriculum/curriculum.h"
#include "curnm/curriculum/pool.h"
#include "curnm/curriculum/selection.h"
#include "curnm/graph/distinct_nodes.h"
#include "curnm/miners/curnm/by_question.h"
#include "curnm/miners/curnm/factors.h"
#include "curnm/miners/curnm/objective.h"
#include "curnm/miners/curnm/telemetry.h"
#include "curnm/miners/losses.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// Curriculum negative mining: for every positive a pool of random, historical and hard candidates;
/// from all pools of a batch, those whose factors are closest to their positives' are selected; how
/// many, and how much they weigh, follows the model's progress.
///
/// Differs from the released program in: H_{u,t} is exact; candidate j of positive i is gated with
/// positive i's factors; the hard cache belongs to the positive event, not to its source; ranking
/// uses logits, since probabilities saturate; half of the random negatives have another source; pi
/// is kept in epochs without progress. docs/decisions.md has the reasons, docs/equations.md where
/// each equation is computed.
class CurnmMiner final : public NegativeMiner {
 public:
  CurnmMiner(const CurnmOptions& options, const MinerContext& context)
      : options_(options),
        context_(context),
        curriculum_(options_),
        pool_(context.past.partners, context.past.graph, context.destinations, options_.pool,
              options_.gamma_hist),
        random_(context.past.pairs, context.destinations,
                distinct_nodes({context.events->src.begin(), context.events->src.end()}),
                options_.corrupt),
        first_time_(context.events->time.front()),
        period_(std::max(context.events->time.back() - first_time_, 0.0)) {
    if (options_.ablate != Ablation::kCache) {
      cache_ = std::make_unique<HardCache>(context.events->size(), options_.pool / 2);
    }
    if (options_.ablate != Ablation::kDisentangle) {
      factors_ = register_module(
          "factors", std::make_shared<Factors>(Factors::Options{
                         .width = context.width,
                         .time2vec_width = options_.time2vec_width,
                         .shortest_time = period_ > 0 ? median_step(*context.events) / period_ : 1,
                         .temporal = options_.ablate != Ablation::kTemporal,
                         .path = context.path}));
    }
  }

  void begin_epoch(std::int64_t epoch) override {
    epoch_ = epoch;
    difficulty_ = curriculum_.difficulty();
  }

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    // Random negatives are needed for the loss, or at least for the training AUC.
    const bool random = difficulty_.delta > 0 || follows_training();
    return pool_.build(batch, difficulty_.caching ? cache_.get() : nullptr, key,
                       {&random_, random ? selected_of(batch.whole_size()) : 0});
  }

  Mined mine(const EventBatch& batch, const Candidates& candidates, const Embedded& embedded,
             const Decoder& decoder) override {
    const Times times(batch, candidates, *this);
    Mined mined;
    const std::int64_t wanted = selected_of(batch.whole_size());
    if (wanted >= batch.whole_size() * options_.pool) {
      std::vector<std::int64_t> chosen(index(embedded.links.candidates().size));
      std::iota(chosen.begin(), chosen.end(), 0);
      learn(embedded, decoder, times, chosen, mined);
      describe(batch, candidates, chosen, embedded.parts, mined);
      return mined;
    }
    const std::vector<std::int64_t> chosen =
        select(embedded, decoder, times, wanted, mined.candidate_logits);
    const Links::Part part = embedded.links.with_candidates(chosen);
    const Tensor z =
        select_rows(embedded.z, to_tensor(part.roots, embedded.z.device()), embedded.path);
    learn({part.links, z, embedded.path, embedded.parts}, decoder, times, chosen, mined);
    describe(batch, candidates, chosen, embedded.parts, mined);
    return mined;
  }

  void observe(const EventBatch& batch, const Candidates& candidates, const Mined& mined) override {
    if (mined.training_auc) {
      training_auc_sum_ += *mined.training_auc;
      ++training_batches_;
    }
    if (!difficulty_.caching) return;
    const Tensor p = sigmoid_of(mined.candidate_logits).to(at::kCPU).contiguous();
    const std::span<const float> probabilities(p.data_ptr<float>(),
                                               static_cast<std::size_t>(p.numel()));
    const auto width = static_cast<std::size_t>(candidates.width);
    std::vector<std::int64_t> fresh(batch.src.size());
    parallel_for(batch.size(), /*grain=*/32, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        fresh[i] = cache_->refresh(
            batch.first + static_cast<std::int64_t>(i),
            std::span(candidates.nodes).subspan(i * width, width),
            probabilities.subspan(i * width, width), candidates.late[i] != 0, difficulty_.alpha,
            Rng(context_.seed, Stream::kHardCache, static_cast<std::uint64_t>(epoch_),
                static_cast<std::uint64_t>(batch.events[i])));
      }
    });
    for (std::int64_t count : fresh) renewed_ += count;
    refreshed_ += batch.size() * cache_->slots();
  }

  std::map<std::string, double> end_epoch(const Validation& validation) override {
    curriculum_.record(follows_training()
                           ? training_auc_sum_ / static_cast<double>(training_batches_)
                           : validation.metric);
    training_auc_sum_ = 0;
    training_batches_ = renewed_ = refreshed_ = 0;
    return {};
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

  std::vector<double> counters() const override {
    return {training_auc_sum_, static_cast<double>(training_batches_),
            static_cast<double>(renewed_), static_cast<double>(refreshed_)};
  }
  void set_counters(const std::vector<double>& counters) override {
    constexpr double kMostCounted = 9e15;  // doubles count exactly up to there
    check_saved(counters.size() == 4 &&
                    std::all_of(counters.begin() + 1, counters.end(),
                                [](double count) { return count >= 0 && count <= kMostCounted; }),
                "the saved miner has counted less than nothing");
    training_auc_sum_ = counters[0];
    training_batches_ = static_cast<std::int64_t>(counters[1]);
    renewed_ = static_cast<std::int64_t>(counters[2]);
    refreshed_ = static_cast<std::int64_t>(counters[3]);
  }

  std::vector<Tensor> memory_of(std::int64_t begin, std::int64_t end) const override {
    if (!difficulty_.caching) return {};
    return {to_tensor(cache_->raw_nodes(begin, end), at::kCPU),
            to_tensor(cache_->raw_scores(begin, end), at::kCPU)};
  }
  void set_memory_of(std::int64_t begin, const std::vector<Tensor>& rows) override {
    if (rows.empty()) return;
    const std::int64_t end = begin + rows[0].numel() / cache_->slots();
    copy_to(rows[0], cache_->raw_nodes(begin, end));
    copy_to(rows[1], cache_->raw_scores(begin, end));
  }

  std::vector<Tensor> state() const override {
    std::vector<Tensor> state = {to_tensor(curriculum_.state(), at::kCPU),
                                 to_tensor(counters(), at::kCPU)};
    if (cache_) {
      state.push_back(to_tensor(cache_->raw_nodes(), at::kCPU));
      state.push_back(to_tensor(cache_->raw_scores(), at::kCPU));
    }
    return state;
  }

  void set_state(const std::vector<Tensor>& state) override {
    check_saved(state.size() == (cache_ ? 4U : 2U), "the saved miner has other options");
    std::vector<double> curriculum(static_cast<std::size_t>(state[0].numel()));
    copy_to(state[0], std::span(curriculum));
    curriculum_.set_state(curriculum);
    std::vector<double> saved_counters(4);
    copy_to(state[1], std::span(saved_counters));
    set_counters(saved_counters);
    if (!cache_) return;
    copy_to(state[2], cache_->raw_nodes());
    check_saved(
        std::ranges::all_of(
            cache_->raw_nodes(),
            [&](NodeId v) { return v == kNoNode || (v >= 0 && v < context_.events->num_nodes); }),
        "the saved hard negatives are nodes that do not exist");
    copy_to(state[3], cache_->raw_scores());
  }

 private:
  /// The times that the temporal factor sees, as fractions of the training period.
  struct Times {
    Times(const EventBatch& batch, const Candidates& candidates, const CurnmMiner& miner) {
      const auto mapped = [&](std::span<const Timestamp> times) {
        std::vector<double> values;
        for (Timestamp t : times) values.push_back(miner.fraction(t));
        return to_tensor(values, miner.context_.device);
      };
      now = mapped(batch.time);
      met = mapped(candidates.met);
      seen = mapped(candidates.seen);
    }
    Tensor now;   // [B]
    Tensor met;   // [B·M]
    Tensor seen;  // [B·M]
  };
  /// "Never" is 0, as in the paper.
  double fraction(Timestamp t) const {
    return t == kNever || period_ == 0 ? 0 : (t - first_time_) / period_;
  }

  // The paper knows one score.
  static Tensor whole_logits(const Decoder& decoder, const Links& links, const Tensor& z) {
    return of_output(decoder.logits(links, z), 0);
  }
  static SplitLogits factor_logits(const Decoder& decoder, const Links& links, const Tensor& z,
                                   const Tensor& relevant) {
    return of_output(decoder.split(links, z, relevant), 0);
  }

  /// The logits that factors are compared by, each candidate with its own positive.
  static FactorLogits paired(const SplitLogits& logits, const Links& links, const Tensor& owner) {
    const auto of_positive = [&](const Tensor& all) {
      return of_links(all, links.positives()).index_select(0, owner);
    };
    return {.positive_relevant = of_positive(logits.part),
            .positive_irrelevant = of_positive(logits.rest),
            .negative_relevant = of_links(logits.part, links.candidates()),
            .negative_irrelevant = of_links(logits.rest, links.candidates())};
  }

  /// The relevant factors of the destinations of positives and candidates, [B+n,D]; the irrelevant
  /// ones, Eq. (11), are what remains of their embeddings. `which`: positions of the candidates in
  /// the pools.
  Tensor relevant_factors(const Embedded& embedded, const Times& times, const Tensor& owner,
                          std::span<const std::int64_t> which,
                          std::map<std::string, double>* measures) const {
    const Links& links = embedded.links;
    const std::int64_t positives = links.positives().size;
    const std::int64_t candidates = links.candidates().size;
    // One gather and one split, so that the backward pass runs once.
    std::vector<std::int64_t> rows;
    rows.reserve(index(2 * positives + candidates));
    for (std::int64_t i = 0; i < positives; ++i) rows.push_back(links.source_root(i));
    const auto destinations = links.destination().first(index(positives + candidates));
    rows.insert(rows.end(), destinations.begin(), destinations.end());
    const std::vector<Tensor> h =
        select_rows(embedded.z, to_tensor(rows, embedded.z.device()), embedded.path)
            .split_with_sizes({positives, positives, candidates});
    const Factor positive = factors_->positive(h[0], h[1], times.now, embedded.parts);
    Tensor recency = factors_->recency(times.met, times.seen, embedded.parts);
    if (recency.defined() && std::ssize(which) < recency.size(0)) {
      recency = select_rows(recency, to_tensor(which, embedded.z.device()), embedded.path);
    }
    const Factor negative = factors_->negative(positive, owner, h[2], recency);
    if (measures != nullptr) {
      std::array<double, 2> means = {static_cast<double>(positive.gate.numel()),
                                     static_cast<double>(negative.gate.numel())};
      embedded.parts.sum(means);
      const auto share = [&](const Tensor& gate, double count) {
        return share_of_mean(gate.detach(), count, embedded.path).item<double>();
      };
      means = {share(positive.gate, means[0]), share(negative.gate, means[1])};
      embedded.parts.sum(means);
      (*measures)["positive_gate"] = means[0];
      (*measures)["negative_gate"] = means[1];
    }
    return at::cat({positive.relevant, negative.relevant});
  }

  /// Positions of the selected candidates, ascending: of `wanted` in the whole batch, those in this
  /// part. `logits` receives the logits of all candidates.
  std::vector<std::int64_t> select(const Embedded& embedded, const Decoder& decoder,
                                   const Times& times, std::int64_t wanted, Tensor& logits) const {
    const NoGradGuard no_grad;
    const Links& links = embedded.links;
    Tensor scores;
    if (factors_) {
      std::vector<std::int64_t> every(links.owner().size());
      std::iota(every.begin(), every.end(), 0);
      const Tensor owner = to_tensor(links.owner(), embedded.z.device());
      const SplitLogits split =
          factor_logits(decoder, links, embedded.z,
                        relevant_factors(embedded, times, owner, every, /*measures=*/nullptr));
      logits = of_links(split.whole, links.candidates());
      scores = closeness(paired(split, links, owner), difficulty_.beta, options_.closeness);
    } else {
      logits = scores = of_links(whole_logits(decoder, links, embedded.z), links.candidates());
    }
    scores = scores.to(at::kCPU, at::kFloat).contiguous();
    const float* first = scores.data_ptr<float>();
    std::vector<std::vector<float>> values = {{first, first + scores.numel()}};
    if (by_row()) return top_of_rows(values[0], options_.pool, selected_of_row());
    const BatchParts::Joined all = embedded.parts.join(std::move(values)).front();
    const auto begin = static_cast<std::int64_t>(all.begin);
    std::vector<std::int64_t> chosen;
    for (const std::int64_t at : top(all.values, wanted)) {
      if (at >= begin && at < begin + scores.numel()) chosen.push_back(at - begin);
    }
    return chosen;
  }

  /// The loss of the links, whose candidates are those at positions `chosen` of the pools.
  void learn(const Embedded& embedded, const Decoder& decoder, const Times& times,
             std::span<const std::int64_t> chosen, Mined& mined) const {
    const Links& links = embedded.links;
    const Tensor zero = at::zeros({}, embedded.z.options());
    LossParts parts{.random = zero, .contrastive = zero};
    // Of the whole batch: positives, selected and random ones.
    std::array<double, 3> counts = {static_cast<double>(links.positives().size),
                                    static_cast<double>(links.candidates().size),
                                    static_cast<double>(links.extra().size)};
    embedded.parts.sum(counts);
    Tensor logits;
    if (factors_ && options_.lambda > 0) {
      const Tensor owner = to_tensor(links.owner(), embedded.z.device());
      if (options_.contrast_gradient == ContrastGradient::kAll) {
        const SplitLogits split =
            factor_logits(decoder, links, embedded.z,
                          relevant_factors(embedded, times, owner, chosen, &mined.measures));
        logits = split.whole;
        parts.contrastive = contrastive_loss(paired(split, links, owner), options_.contrast,
                                             counts[1], embedded.path);
      } else {
        logits = whole_logits(decoder, links, embedded.z);
        const FrozenScope frozen(decoder);
        const Embedded fixed{links, embedded.z.detach(), embedded.path, embedded.parts};
        const SplitLogits split =
            factor_logits(decoder, links, fixed.z,
                          relevant_factors(fixed, times, owner, chosen, &mined.measures));
        parts.contrastive = contrastive_loss(paired(split, links, owner), options_.contrast,
                                             counts[1], embedded.path);
      }
    } else {
      logits = whole_logits(decoder, links, embedded.z);
    }
    const Tensor positive = of_links(logits, links.positives());
    const Tensor selected = of_links(logits, links.candidates());
    const Tensor random = of_links(logits, links.extra());
    parts.positive = share_of_mean(positive_bce(positive), counts[0], embedded.path);
    parts.selected = share_of_mean(negative_bce(selected), counts[1], embedded.path);
    if (counts[2] > 0) {
      parts.random = share_of_mean(negative_bce(random), counts[2], embedded.path);
      mined.training_auc = training_auc(positive.detach(), random.detach(), embedded.parts);
    }
    mined.loss = total_loss(parts, difficulty_.delta, options_.lambda);
    mined.losses = {{"positive", parts.positive.item<double>()},
                    {"random", parts.random.item<double>()},
                    {"selected", parts.selected.item<double>()},
                    {"contrastive", parts.contrastive.item<double>()}};
    mined.positive_logits = positive.detach();
    if (!mined.candidate_logits.defined()) mined.candidate_logits = selected.detach();
  }

  void describe(const EventBatch& batch, const Candidates& candidates,
                std::span<const std::int64_t> chosen, const BatchParts& parts, Mined& mined) const {
    if (mined.training_auc) mined.measures["training_auc"] = *mined.training_auc;
    describe_pool(candidates, chosen, mined.candidate_logits, mined.measures, parts);
    mined.measures["false_negative_share"] = false_negative_share(
        batch, candidates, chosen, *context_.events, *context_.past.pairs, parts);
  }

  /// pi of the last epoch if every epoch makes progress.
  double least_pi() const {
    double pi = options_.pi;
    for (std::int64_t epoch = 1; epoch < context_.epochs; ++epoch) {
      pi = next_pi(pi, /*improved=*/epoch > 1, options_);
    }
    return pi;
  }

  bool follows_training() const {
    return options_.curriculum_metric == CurriculumMetric::kTraining;
  }
  bool by_row() const { return options_.select == Selection::kRow; }
  /// How many candidates of each pool are selected with --select row.
  std::int64_t selected_of_row() const { return selected_count(difficulty_.pi, options_.pool); }
  /// N_b for a batch of that many positives.
  std::int64_t selected_of(std::int64_t positives) const {
    return by_row() ? positives * selected_of_row()
                    : selected_count(difficulty_.pi, positives * options_.pool);
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
  std::int64_t renewed_ = 0;    // cache slots that got a new candidate in this epoch
  std::int64_t refreshed_ = 0;  // cache slots updated in this epoch
};

}  // namespace

MinerEntry curnm_miner() {
  return {
      {.name = "curnm",
       .summary = "curriculum negative mining",
       .defaults = CurnmOptions{},
       .presets = {{.name = "default", .summary = "the readings of the paper that measured best"},
                   {.name = "as-printed",
                    .summary = "the paper to the letter: without progress pi rises by 0.03, "
                               "random negatives keep their source, scores are probabilities",
                    .options = {{"model", "tgn"},
                                {"decoder", "additive"},
                                {"outputs", "single"},
                                {"corrupt", "destination"},
                                {"plateau", "raise"},
                                {"shrink", "0.03"},
                                {"delta-min", "0.3"},
                                {"closeness", "probabilities"},
                                {"contrast", "raw"},
                                {"weight-decay", "1e-13"}}},
                   {.name = "ranking",
                    .summary = "for ranking destinations of a given source, with --select-on "
                               "source_historical",
                    .options = {{"model", "tgn"},
                                {"decoder", "additive"},
                                {"outputs", "single"},
                                {"corrupt", "destination"},
                                {"select", "row"},
                                {"delta-min", "0.3"},
                                {"contrast-gradient", "gates"}}}}},
      [](const Options& options, const MinerContext& context) {
        const CurnmOptions& own = options.as<CurnmOptions>();
        if (own.outputs == Outputs::kByQuestion) return make_question_curriculum(own, context);
        return std::static_pointer_cast<NegativeMiner>(std::make_shared<CurnmMiner>(own, context));
      }};
}

}  // namespace curnm
