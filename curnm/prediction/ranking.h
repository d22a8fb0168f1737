#pragma once

#include <mutex>
#include <vector>

#include "curnm/prediction/choices.h"
#include "curnm/prediction/link_model.h"

namespace curnm {

/// Embeddings of nodes at one time, each computed once, when it is first needed: by one thread,
/// while others that need any wait. Thread-safe.
class NodeEmbeddings {
 public:
  /// REQUIRES: the model outlives this object, observes nothing meanwhile, and is in evaluation
  /// mode. `seed`: as of score_links.
  NodeEmbeddings(const LinkModel& model, NodeId num_nodes, Timestamp t, std::uint64_t seed);

  /// Embeddings of the nodes, [n,D].
  Tensor of(std::span<const NodeId> nodes);
  /// Computes those that are missing, many at a time, which costs less than a few at a time.
  void prepare(std::span<const NodeId> nodes);
  Timestamp time() const { return t_; }

 private:
  const LinkModel* model_;
  Timestamp t_;
  std::uint64_t seed_;
  Tensor table_;             // [N,D]; pages that nothing is written to take no memory
  std::vector<char> known_;  // [N]
  std::mutex mutex_;         // of what is not known yet
};

/// Passes the likeliest destinations of each source to `answer`, in the order of the sources. An
/// answer does not depend on the other sources, to the bit. Memory does not depend on how many
/// there are.
void rank_destinations(const LinkModel& model, NodeEmbeddings& embeddings, Choices& choices,
                       std::span<const NodeId> sources, const TopQuery& query,
                       const TopAnswer& answer);

}  // namespace curnm
