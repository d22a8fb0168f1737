#include "curnm/miners/losses.h"

namespace curnm {

Mined learn_from_all(const Embedded& embedded, const Decoder& decoder, const Tensor& weights) {
  const Links& links = embedded.links;
  const std::int64_t positives = links.positives().size;
  const Tensor logits = decoder.logits(links, embedded.z);
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
    positive_loss = mean(positive_losses, embedded.path);
    negative_loss = mean(negative_losses, embedded.path);
  }
  return {.loss = positive_loss + negative_loss,
          .losses = {{"positive", positive_loss.item<double>()},
                     {"negative", negative_loss.item<double>()}},
          .positive_logits = positive.detach(),
          .candidate_logits = of_links(logits, links.candidates()).detach()};
}

}  // namespace curnm
