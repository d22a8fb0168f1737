#include "curnm/prediction/ranking.h"

#include <algorithm>

#include "curnm/base/interrupt.h"
#include "curnm/graph/distinct_nodes.h"
#include "curnm/nn/tensors.h"
#include "curnm/prediction/link_scorer.h"

namespace curnm {
namespace {

constexpr std::size_t kRoots = 1024;  // embedded at a time
constexpr std::size_t kLinks = 8192;  // scored at a time: few enough to stay in the cache

/// Likelier first; ties go to the lower node number.
bool is_likelier(const Prediction& a, const Prediction& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.node < b.node;
}

/// The k likeliest of any number of predictions: a heap with the least likely of them on top.
class Best {
 public:
  explicit Best(std::int64_t k) : k_(static_cast<std::size_t>(k)) {}

  void add(const Prediction& found) {
    if (heap_.size() == k_) {
      if (!is_likelier(found, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), is_likelier);
      heap_.pop_back();
    }
    heap_.push_back(found);
    std::push_heap(heap_.begin(), heap_.end(), is_likelier);
  }
  /// Best first; none are left.
  std::vector<Prediction> take() {
    std::sort_heap(heap_.begin(), heap_.end(), is_likelier);
    return std::exchange(heap_, {});
  }

 private:
  std::size_t k_;
  std::vector<Prediction> heap_;
};

/// Collects the links of one source after the other and scores them block by block, whatever the
/// numbers of their choices.
class Ranking {
 public:
  Ranking(const LinkModel& model, NodeEmbeddings& embeddings, NodeId num_nodes,
          const TopQuery& query, const TopAnswer& answer)
      : model_(model),
        embeddings_(embeddings),
        num_nodes_(num_nodes),
        question_(query.question),
        answer_(answer),
        best_(query.k) {}

  void add(NodeId src, std::span<const NodeId> choices) {
    while (true) {
      const std::size_t count = std::min(choices.size(), kLinks - src_.size());
      src_.insert(src_.end(), count, src);
      dst_.insert(dst_.end(), choices.begin(),
                  choices.begin() + static_cast<std::ptrdiff_t>(count));
      choices = choices.subspan(count);
      if (choices.empty()) break;
      score();
    }
    ended_.push_back({src, src_.size()});
    if (ended_.size() == kRoots) score();  // sources without choices make no links
  }
  void score() {
    check_interrupt();
    std::vector<float> logits;
    if (!src_.empty()) {
      const Links links(embeddings_.time(), src_, dst_, num_nodes_);
      logits = score_links(model_, links, embeddings_.of(links.roots().nodes)).of(question_);
    }
    std::size_t next = 0;
    const auto take_until = [&](std::size_t end) {
      for (; next < end; ++next) best_.add({dst_[next], logits[next]});
    };
    for (const Ended& source : ended_) {
      take_until(source.links);
      answer_(source.node, best_.take());
    }
    take_until(src_.size());
    src_.clear();
    dst_.clear();
    ended_.clear();
  }

 private:
  /// A source whose last link is before that one of the block.
  struct Ended {
    NodeId node;
    std::size_t links;
  };

  const LinkModel& model_;
  NodeEmbeddings& embeddings_;
  NodeId num_nodes_;
  Question question_;
  const TopAnswer& answer_;
  Best best_;  // of the first source that has not ended
  std::vector<NodeId> src_;
  std::vector<NodeId> dst_;
  std::vector<Ended> ended_;
};

}  // namespace

NodeEmbeddings::NodeEmbeddings(const LinkModel& model, NodeId num_nodes, Timestamp t,
                               std::uint64_t seed)
    : model_(&model), t_(t), seed_(seed), known_(index(num_nodes), 0) {}

void NodeEmbeddings::prepare(std::span<const NodeId> nodes) {
  const std::lock_guard lock(mutex_);
  std::vector<NodeId> missing;
  for (const NodeId node : nodes) {
    if (known_[index(node)] == 0) missing.push_back(node);
  }
  missing = distinct_nodes(std::move(missing));
  const NoGradGuard no_grad;
  for (std::size_t begin = 0; begin < missing.size(); begin += kRoots) {
    const auto part = std::span(missing).subspan(begin, std::min(kRoots, missing.size() - begin));
    const std::vector<Timestamp> times(part.size(), t_);
    const Tensor z = embed_roots(*model_, {part, times}, t_, seed_);
    if (!table_.defined()) table_ = at::empty({std::ssize(known_), z.size(1)}, z.options());
    table_.index_copy_(0, to_tensor(part, z.device()).to(at::kLong), z);
    for (const NodeId node : part) known_[index(node)] = 1;
  }
}

Tensor NodeEmbeddings::of(std::span<const NodeId> nodes) {
  prepare(nodes);
  return table_.index_select(0, to_tensor(nodes, table_.device()).to(at::kLong));
}

void rank_destinations(const LinkModel& model, NodeEmbeddings& embeddings, Choices& choices,
                       std::span<const NodeId> sources, const TopQuery& query,
                       const TopAnswer& answer) {
  Ranking ranking(model, embeddings, choices.num_nodes(), query, answer);
  for (std::size_t begin = 0; begin < sources.size(); begin += kRoots) {
    const auto part = sources.subspan(begin, std::min(kRoots, sources.size() - begin));
    embeddings.prepare(part);
    for (const NodeId src : part) ranking.add(src, choices.of(src, query.seen, query.among));
  }
  ranking.score();
}

}  // namespace curnm
