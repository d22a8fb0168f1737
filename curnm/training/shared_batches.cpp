#include "curnm/training/shared_batches.h"

#include <cstring>

namespace curnm {
namespace {

/// The size of each list, then their values.
std::string packed(const std::vector<std::vector<float>>& lists) {
  std::string bytes;
  const auto append = [&](const void* from, std::size_t size) {
    bytes.append(static_cast<const char*>(from), size);
  };
  for (const std::vector<float>& list : lists) {
    const std::uint64_t size = list.size();
    append(&size, sizeof size);
  }
  for (const std::vector<float>& list : lists) append(list.data(), list.size() * sizeof(float));
  return bytes;
}

}  // namespace

std::vector<BatchParts::Joined> SharedBatches::join(std::vector<std::vector<float>> lists) const {
  std::vector<Joined> joined(lists.size());
  const std::vector<std::string> all = group_.all_gather(packed(lists));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const char* next = all[rank].data();
    std::vector<std::uint64_t> sizes(lists.size());
    std::memcpy(sizes.data(), next, sizes.size() * sizeof(std::uint64_t));
    next += sizes.size() * sizeof(std::uint64_t);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      std::vector<float>& values = joined[i].values;
      if (static_cast<int>(rank) == group_.rank()) joined[i].begin = values.size();
      const std::size_t before = values.size();
      values.resize(before + sizes[i]);
      std::memcpy(values.data() + before, next, sizes[i] * sizeof(float));
      next += sizes[i] * sizeof(float);
    }
  }
  return joined;
}

}  // namespace curnm
