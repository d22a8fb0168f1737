#include "curnm/miners/curnm/by_question.h"

#include "curnm/curriculum/question_curriculum.h"
#include "curnm/miners/losses.h"
#include "curnm/nn/tensors.h"
#include "curnm/sampling/negative_kinds.h"

namespace curnm {
namespace {

/// A small budget of negatives, divided among the questions by how much there is left to learn
/// about each, as validation sees it; within a question the hardest count most, the more so the
/// further the model has come.
class QuestionCurnm final : public NegativeMiner {
 public:
  QuestionCurnm(const CurnmOptions& options, const MinerContext& context)
      : kinds_(*context.events, context.past, context.destinations),
        budget_(options.budget),
        curriculum_(options) {}

  Outputs outputs() const override { return Outputs::kByQuestion; }

  Candidates propose(const EventBatch& batch, const Rng& key) override {
    KindCounts counts = {};
    const auto count = [&](CandidateKind kind) -> double& {
      return counts[static_cast<std::size_t>(kind)];
    };
    const auto share = [&](Question question) { return budget_ * curriculum_.share(question); };
    count(CandidateKind::kRandom) = share(Question::kDestination);
    count(CandidateKind::kHistorical) = share(Question::kPartner);
    count(CandidateKind::kRandomPair) = share(Question::kPair) / 2;
    count(CandidateKind::kFormerPair) = share(Question::kPair) / 2;
    count(CandidateKind::kNewPair) = share(Question::kNewPair);
    return {.extra = kinds_.draw(batch, counts, key)};
  }

  Mined mine(const EventBatch&, const Candidates& candidates, const Embedded& embedded,
             const Decoder& decoder) override {
    std::vector<double> pi;
    for (const Question question : kQuestions) pi.push_back(curriculum_.pi(question));
    return learn_by_question(embedded, candidates.extra, decoder, pi);
  }

  std::map<std::string, double> end_epoch(const Validation& validation) override {
    std::map<Question, double> ap;
    for (const Question question : kQuestions) {
      const auto found = validation.ap.find(std::string(name_of(protocol_of(question))));
      if (found != validation.ap.end()) ap[question] = found->second;
    }
    std::map<std::string, double> facts;
    for (const auto& [question, gain] : curriculum_.record(ap)) {
      facts[fmt::format("gain_{}", name_of(question))] = gain;
    }
    return facts;
  }

  std::map<std::string, double> telemetry() const override {
    std::map<std::string, double> facts;
    for (const Question question : kQuestions) {
      const std::string name(name_of(question));
      facts["pi_" + name] = curriculum_.pi(question);
      facts["share_" + name] = curriculum_.share(question);
    }
    return facts;
  }

  std::vector<Tensor> state() const override { return {to_tensor(curriculum_.state(), at::kCPU)}; }
  void set_state(const std::vector<Tensor>& state) override {
    check_saved(state.size() == 1, "the saved miner has other options");
    std::vector<double> values(index(state[0].numel()));
    copy_to(state[0], std::span(values));
    curriculum_.set_state(values);
  }

 private:
  NegativeKinds kinds_;
  double budget_;
  QuestionCurriculum curriculum_;
};

}  // namespace

std::shared_ptr<NegativeMiner> make_question_curriculum(const CurnmOptions& options,
                                                        const MinerContext& context) {
  return std::make_shared<QuestionCurnm>(options, context);
}

}  // namespace curnm
