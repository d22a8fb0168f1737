#include "curnm/miners/embedded.h"

#include <algorithm>
#include <numeric>

#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// Numbers (node, time) questions; the same question gets the same number.
class Numbering {
 public:
  Numbering(std::vector<NodeId>& nodes, std::vector<Timestamp>& times)
      : nodes_(nodes), times_(times) {}

  std::int64_t row(NodeId node, Timestamp t) {
    // Equal questions have equal times, and the batch is in time order: only the questions since
    // the last change of time can be repeated.
    if (times_.empty() || times_.back() != t) first_ = nodes_.size();
    const auto begin = nodes_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto found = std::find(begin, nodes_.end(), node);
    if (found == nodes_.end()) {
      nodes_.push_back(node);
      times_.push_back(t);
      return static_cast<std::int64_t>(nodes_.size()) - 1;
    }
    return found - nodes_.begin();
  }

 private:
  std::vector<NodeId>& nodes_;
  std::vector<Timestamp>& times_;
  std::size_t first_ = 0;
};

}  // namespace

BatchRoots::BatchRoots(const EventBatch& batch, const Candidates& candidates)
    : width_(candidates.width) {
  Numbering numbering(nodes_, times_);
  const auto width = static_cast<std::size_t>(width_);
  for (std::size_t i = 0; i < batch.src.size(); ++i) {
    const Timestamp t = batch.time[i];
    src_.push_back(numbering.row(batch.src[i], t));
    dst_.push_back(numbering.row(batch.dst[i], t));
    for (std::size_t j = 0; j < width; ++j) {
      candidates_.push_back(numbering.row(candidates.nodes[i * width + j], t));
    }
  }
}

Embedded::Embedded(torch::Tensor z, const BatchRoots& roots)
    : z_(std::move(z)),
      src_(to_tensor(roots.src_, z_.device())),
      dst_(to_tensor(roots.dst_, z_.device())),
      candidates_(to_tensor(roots.candidates_, z_.device())),
      width_(roots.width_) {}

torch::Tensor Embedded::src() const { return z_.index_select(0, src_); }
torch::Tensor Embedded::dst() const { return z_.index_select(0, dst_); }
torch::Tensor Embedded::candidates() const { return z_.index_select(0, candidates_); }
torch::Tensor Embedded::candidate_sources() const {
  return z_.index_select(0, src_.repeat_interleave(width_));
}

}  // namespace curnm
