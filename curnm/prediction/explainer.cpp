#include "curnm/prediction/explainer.h"

#include "curnm/prediction/link_scorer.h"

namespace curnm {
namespace {

Links typical_links_at(Timestamp t, const EventLog& log, EventId first, EventId known) {
  constexpr EventId kMost = 128;  // so that an explanation costs little more than an answer
  if (known == first) fail("nothing has happened before time {}: there is nothing to explain", t);
  const EventId count = std::min(known - first, kMost);
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  const auto event = [&](EventId i) {
    return first + static_cast<EventId>(Wide(i % count) * Wide(known - first) / Wide(count));
  };
  for (EventId i = 0; i < count; ++i) {
    for (const EventId other : {i, i + count / 2}) {
      src.push_back(log.src[event(i)]);
      dst.push_back(log.dst[event(other)]);
    }
  }
  return {t, src, dst, log.num_nodes};
}

}  // namespace

Explainer::Explainer(const LinkModel& model, NodeEmbeddings& embeddings, const Past& past,
                     const EventLog& log, EventId first, EventId known)
    : model_(model),
      embeddings_(embeddings),
      past_(past),
      num_nodes_(log.num_nodes),
      typical_(typical_links_at(embeddings.time(), log, first, known)),
      typical_z_(embeddings.of(typical_.roots().nodes)) {}

std::vector<Explanation> Explainer::explain(std::span<const NodeId> src,
                                            std::span<const NodeId> dst, Question question) {
  if (src.empty()) return {};
  const NoGradGuard no_grad;
  const Links links(embeddings_.time(), src, dst, num_nodes_);
  const Tensor z = embeddings_.of(links.roots().nodes);
  const Decoder& decoder = *model_.decoder;
  const auto answers = [&](const Tensor& logits) {
    const Tensor chosen = logits.select(1, decoder.output(question)).to(at::kCPU).contiguous();
    return std::vector<float>(chosen.data_ptr<float>(), chosen.data_ptr<float>() + chosen.numel());
  };
  const std::vector<float> as_they_are = score_links(model_, links, z).of(question);
  const LogitsAtMeans at_means = decoder.at_means(links, z, typical_, typical_z_);
  const std::vector<float> typical = answers(at_means.all);
  std::vector<PairFacts> facts = pair_facts(past_, links);
  std::vector<Explanation> all(src.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {.facts = facts[i], .logit = as_they_are[i], .typical = typical[i]};
  }
  const std::vector<std::string> names = decoder.parts();
  CURNM_ASSERT(names.size() == at_means.parts.size());
  for (std::size_t part = 0; part < names.size(); ++part) {
    const std::vector<float> without = answers(at_means.parts[part]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].parts.push_back({names[part], as_they_are[i] - without[i]});
    }
  }
  return all;
}

}  // namespace curnm
