#include "curnm/miners/fields.h"
#include "curnm/miners/losses.h"
#include "curnm/sampling/negative_kinds.h"

namespace curnm {
namespace {

/// Negatives per positive of each kind; fractions are averages.
struct MixtureOptions {
  double random = 2;
  double history = 2;
  double popular = 0;
  double random_pairs = 1;
  double former_pairs = 1;
  double new_pairs = 1;
  Outputs outputs = Outputs::kByQuestion;

  void fields(const FieldVisitor& visit) {
    const auto count = [&](std::string_view name, std::string_view help, double& value) {
      visit({.name = name, .help = help, .min = 0, .max = 1000}, value);
    };
    count("mix-random", "random destinations per positive", random);
    count("mix-history", "former partners of the source per positive", history);
    count("mix-popular", "destinations of the newest events per positive", popular);
    count("mix-random-pairs", "random pairs per positive", random_pairs);
    count("mix-former-pairs", "former pairs of others per positive", former_pairs);
    count("mix-new-pairs", "pairs that first met lately per positive", new_pairs);
    visit(kOutputsField, outputs);
  }
  void check() const {
    if (random + history + popular + random_pairs + former_pairs + new_pairs == 0) {
      throw OptionError(OptionError::Kind::kConflict, "mix-random",
                        "a mixture of nothing: one of --mix-... must be above 0");
    }
    if (outputs == Outputs::kSingle) return;
    const auto need = [](double negatives, Question question, const char* option) {
      if (negatives > 0) return;
      throw OptionError(
          OptionError::Kind::kConflict, option,
          fmt::format("without --{} nothing teaches the output that answers which {}: give it "
                      "some, or --outputs single for one score that learns from all negatives",
                      option, name_of(question)));
    };
    need(random + popular, Question::kDestination, "mix-random");
    need(history, Question::kPartner, "mix-history");
    need(random_pairs + former_pairs, Question::kPair, "mix-random-pairs");
  }
};

/// Fixed numbers of negatives of each kind: the honest opponent of a curriculum.
class MixtureMiner final : public NegativeMiner {
 public:
  MixtureMiner(const MixtureOptions& options, const MinerContext& context)
      : kinds_(*context.events, context.past, context.destinations), outputs_(options.outputs) {
    const auto count = [&](CandidateKind kind) -> double& {
      return counts_[static_cast<std::size_t>(kind)];
    };
    count(CandidateKind::kRandom) = options.random;
    count(CandidateKind::kHistorical) = options.history;
    count(CandidateKind::kPopular) = options.popular;
    count(CandidateKind::kRandomPair) = options.random_pairs;
    count(CandidateKind::kFormerPair) = options.former_pairs;
    count(CandidateKind::kNewPair) = options.new_pairs;
  }

  Outputs outputs() const override { return outputs_; }

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    return {.extra = kinds_.draw(batch, counts_, key)};
  }

  Mined mine(const EventBatch&, const Candidates& candidates, const Embedded& embedded,
             const Decoder& decoder) override {
    return learn_by_question(embedded, candidates.extra, decoder);
  }

 private:
  NegativeKinds kinds_;
  KindCounts counts_ = {};
  Outputs outputs_;
};

}  // namespace

MinerEntry mixture_miner() {
  return {{.name = "mixture",
           .summary = "fixed numbers of every kind of negative, one output per question",
           .defaults = MixtureOptions{}},
          [](const Options& options, const MinerContext& context) {
            return std::make_shared<MixtureMiner>(options.as<MixtureOptions>(), context);
          }};
}

}  // namespace curnm
