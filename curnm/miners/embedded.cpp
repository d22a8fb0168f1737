#include "curnm/miners/embedded.h"

#include "curnm/base/distinct_rows.h"
#include "curnm/nn/tensors.h"

namespace curnm {

BatchRoots::BatchRoots(const EventBatch& batch, const Candidates& candidates) {
  const auto width = static_cast<std::size_t>(candidates.width);
  const ExtraPairs& extra = candidates.extra;
  std::size_t x = 0;
  for (std::size_t i = 0; i < batch.src.size(); ++i) {
    const Timestamp t = batch.time[i];
    source_.push_back(questions_.row(batch.src[i], t));
    dst_.push_back(questions_.row(batch.dst[i], t));
    for (std::size_t j = 0; j < width; ++j) {
      candidates_.push_back(questions_.row(candidates.nodes[i * width + j], t));
    }
    for (; x < extra.rows.size() && extra.rows[x] == static_cast<std::int64_t>(i); ++x) {
      extra_source_.push_back(questions_.row(extra.src[x], t));
      extra_dst_.push_back(questions_.row(extra.dst[x], t));
    }
  }
  DistinctRows sources(roots().size());
  for (auto* rows : {&source_, &extra_source_}) {
    for (std::int64_t& row : *rows) row = sources.row(row);
  }
  sources_.assign(sources.keys().begin(), sources.keys().end());
}

Embedded::Embedded(torch::Tensor embeddings, const BatchRoots& roots, Path how)
    : z(std::move(embeddings)),
      sources(to_tensor(roots.sources_, z.device())),
      source(to_tensor(roots.source_, z.device())),
      extra_source(to_tensor(roots.extra_source_, z.device())),
      dst(to_tensor(roots.dst_, z.device())),
      candidates(to_tensor(roots.candidates_, z.device())),
      extra_dst(to_tensor(roots.extra_dst_, z.device())),
      path(how) {}

Embedded Embedded::restricted(const std::vector<std::int64_t>& chosen) const {
  Embedded part = *this;
  DistinctRows needed(z.size(0));
  const auto renumber = [&](torch::Tensor& rows) {
    const torch::Tensor old = rows.to(torch::kCPU);
    std::vector<std::int64_t> fresh(static_cast<std::size_t>(old.numel()));
    const std::int64_t* row = old.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i] = needed.row(row[i]);
    rows = to_tensor(fresh, z.device());
  };
  part.candidates = candidates.index_select(0, to_tensor(chosen, z.device()));
  renumber(part.sources);
  renumber(part.dst);
  renumber(part.candidates);
  renumber(part.extra_dst);
  part.z = select_rows(z, to_tensor(needed.keys(), z.device()), path);
  return part;
}

Embedded Embedded::detached() const {
  Embedded fixed = *this;
  fixed.z = z.detach();
  return fixed;
}

}  // namespace curnm
