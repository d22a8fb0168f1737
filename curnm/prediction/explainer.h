#pragma once

#include <vector>

#include "curnm/prediction/explanation.h"
#include "curnm/prediction/link_model.h"
#include "curnm/prediction/ranking.h"

namespace curnm {

/// Why links at one time score as they do. Not thread-safe.
///
/// What has no mean of the training (embeddings, walks) has that of typical links of the time of
/// the question: some events before it, evenly spread, each once as it was and once with the
/// destination of another of them.
class Explainer {
 public:
  /// Events `first` .. `known` - 1 of the log are those that are known at the time of the
  /// embeddings, which is that of the question. Throws Error where there are none. REQUIRES: all
  /// that is passed but the log outlives this object, and the model observes nothing meanwhile.
  Explainer(const LinkModel& model, NodeEmbeddings& embeddings, const Past& past,
            const EventLog& log, EventId first, EventId known);

  /// Those of the pairs (src[i], dst[i]), by the output that answers the question. Does not depend
  /// on the other pairs.
  std::vector<Explanation> explain(std::span<const NodeId> src, std::span<const NodeId> dst,
                                   Question question);

 private:
  const LinkModel& model_;
  NodeEmbeddings& embeddings_;
  Past past_;
  NodeId num_nodes_;
  Links typical_;
  Tensor typical_z_;
};

}  // namespace curnm
