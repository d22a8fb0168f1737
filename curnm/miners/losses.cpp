#include "curnm/miners/losses.h"

#include <array>
#include <set>

#include "curnm/curriculum/selection.h"
#include "curnm/nn/tensors.h"

namespace curnm {

Mined learn_from_all(const Embedded& embedded, const Decoder& decoder, const Tensor& weights) {
  const Links& links = embedded.links;
  const std::int64_t positives = links.positives().size;
  const Tensor logits = of_output(decoder.logits(links, embedded.z), 0);
  const Tensor positive = of_links(logits, links.positives());
  const Tensor positive_losses = positive_bce(positive);
  const Tensor negative_losses =
      negative_bce(of_links(logits, {positives, links.size() - positives}));
  Tensor positive_loss;
  Tensor negative_loss;
  if (weights.defined()) {
    positive_loss = total(weights * positive_losses, embedded.path);
    negative_loss = total(weights * negative_losses.view({positives, -1}).mean(1), embedded.path);
  } else {
    std::array<double, 2> counts = {static_cast<double>(positive_losses.numel()),
                                    static_cast<double>(negative_losses.numel())};
    embedded.parts.sum(counts);
    positive_loss = share_of_mean(positive_losses, counts[0], embedded.path);
    negative_loss = share_of_mean(negative_losses, counts[1], embedded.path);
  }
  return {.loss = positive_loss + negative_loss,
          .losses = {{"positive", positive_loss.item<double>()},
                     {"negative", negative_loss.item<double>()}},
          .positive_logits = positive.detach(),
          .candidate_logits = of_links(logits, links.candidates()).detach()};
}

Tensor question_weights(const Links& links, const ExtraPairs& negatives, const Decoder& decoder,
                        const BatchParts& parts) {
  const auto outputs = index(decoder.outputs());
  const LinkRange extra = links.extra();
  CURNM_ASSERT(links.candidates().size == 0 && std::ssize(negatives.kinds) == extra.size);
  std::array<std::set<std::size_t>, kCandidateKinds> taught;  // outputs, by kind
  for (std::size_t kind = 0; kind < taught.size(); ++kind) {
    for (const Question question : kQuestions) {
      if (!teaches(static_cast<CandidateKind>(kind), question)) continue;
      taught[kind].insert(index(decoder.output(question)));
    }
  }
  const auto outputs_of = [&](std::size_t negative) -> const std::set<std::size_t>& {
    return taught[static_cast<std::size_t>(negatives.kinds[negative])];
  };
  std::vector<double> counts(outputs + 1, 0);  // negatives of each output, then the positives
  counts.back() = static_cast<double>(links.positives().size);
  for (std::size_t i = 0; i < negatives.kinds.size(); ++i) {
    for (const std::size_t q : outputs_of(i)) ++counts[q];
  }
  parts.sum(counts);
  std::vector<float> weights(index(links.size()) * outputs, 0);
  for (std::size_t q = 0; q < outputs; ++q) {
    if (counts[q] == 0) continue;
    for (std::size_t i = 0; i < index(links.positives().size); ++i) {
      weights[i * outputs + q] = 1 / static_cast<float>(counts.back());
    }
  }
  for (std::size_t i = 0; i < negatives.kinds.size(); ++i) {
    for (const std::size_t q : outputs_of(i)) {
      weights[(index(extra.begin) + i) * outputs + q] = -1 / static_cast<float>(counts[q]);
    }
  }
  return to_tensor(weights, at::kCPU).view({links.size(), decoder.outputs()});
}

namespace {

/// Gives the negatives of each output soft weights by their logits, among those of the whole batch.
/// Both [L,Q], on the CPU.
void weigh_hardest(const Tensor& logits, std::int64_t positives, std::span<const double> pi,
                   const BatchParts& parts, const Tensor& weights) {
  const auto outputs = index(logits.size(1));
  const float* scores = logits.data_ptr<float>();
  float* weight = weights.data_ptr<float>();
  std::vector<std::vector<std::size_t>> places(outputs);
  std::vector<std::vector<float>> of_outputs(outputs);
  for (std::size_t q = 0; q < outputs; ++q) {
    for (auto i = index(positives); i < index(logits.size(0)); ++i) {
      if (weight[i * outputs + q] == 0) continue;
      places[q].push_back(i * outputs + q);
      of_outputs[q].push_back(scores[i * outputs + q]);
    }
  }
  const std::vector<BatchParts::Joined> joined = parts.join(std::move(of_outputs));
  for (std::size_t q = 0; q < outputs; ++q) {
    const std::vector<float> soft = soft_weights(joined[q].values, pi[q]);
    for (std::size_t i = 0; i < places[q].size(); ++i) {
      weight[places[q][i]] = -soft[joined[q].begin + i];
    }
  }
}

}  // namespace

Mined learn_by_question(const Embedded& embedded, const ExtraPairs& negatives,
                        const Decoder& decoder, std::span<const double> pi) {
  const Links& links = embedded.links;
  Tensor weights = question_weights(links, negatives, decoder, embedded.parts);
  const Tensor logits = decoder.logits(links, embedded.z);
  if (!pi.empty()) {
    weigh_hardest(logits.detach().to(at::kCPU, at::kFloat).contiguous(), links.positives().size, pi,
                  embedded.parts, weights);
  }
  weights = weights.to(logits.options());
  const Tensor losses = softplus_of(-weights.sign() * logits) * weights.abs();
  const Tensor positive = total(of_links(losses, links.positives()), embedded.path);
  const Tensor negative = total(of_links(losses, links.extra()), embedded.path);
  return {.loss = positive + negative,
          .losses = {{"positive", positive.item<double>()}, {"negative", negative.item<double>()}},
          .positive_logits = of_links(logits, links.positives()).detach(),
          .candidate_logits = of_links(logits, links.candidates()).detach()};
}

}  // namespace curnm
