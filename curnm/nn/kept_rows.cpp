#include "curnm/nn/kept_rows.h"

#include <algorithm>
#include <limits>

#include "curnm/base/error.h"
#include "curnm/base/types.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

constexpr std::int64_t kNoVersion = -1;

}  // namespace

/// Drops everything if the keys would not fit beside what is kept.
void KeptRows::make_room(std::span<const std::int64_t> keys) {
  std::int64_t bytes_per_row = 0;
  for (const Tensor& table : tables_) {
    if (table.defined()) bytes_per_row += table.size(1) * table.element_size();
  }
  const auto fresh =
      std::ranges::count_if(keys, [&](std::int64_t key) { return slot_of_[index(key)] == kNone; });
  if ((std::ssize(versions_) + fresh) * bytes_per_row <= most_bytes_) return;
  std::ranges::fill(slot_of_, kNone);
  versions_.clear();
  tables_.clear();  // others may still read the old ones
}

void KeptRows::put(const std::vector<Tensor>& rows, std::span<const std::int64_t> slots) {
  CURNM_ASSERT(tables_.empty() || tables_.size() == rows.size());
  tables_.resize(rows.size());
  const auto needed = std::ssize(versions_);
  const Tensor at = to_tensor(slots, at::kCPU);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].defined()) continue;
    Tensor& table = tables_[i];
    if (!table.defined() || table.size(0) < needed) {
      const std::int64_t known = table.defined() ? table.size(0) : 0;
      const Tensor larger =
          at::empty({std::max(needed, 2 * known), rows[i].size(1)}, rows[i].options());
      if (known > 0) larger.narrow(0, 0, known).copy_(table);
      table = larger;
    }
    table.index_copy_(0, at, rows[i]);
  }
}

KeptRows::Found KeptRows::find(std::span<const std::int64_t> keys,
                               std::span<const std::int64_t> versions, const Compute& compute) {
  CURNM_ASSERT(keys.size() == versions.size());
  make_room(keys);
  Found found;
  found.rows.reserve(keys.size());
  std::vector<std::int64_t> missing;
  std::vector<std::int64_t> slots;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::int32_t& slot = slot_of_[index(keys[i])];
    if (slot == kNone) {
      slot = static_cast<std::int32_t>(versions_.size());
      versions_.push_back(kNoVersion);
    }
    found.rows.push_back(slot);
    if (versions_[index(slot)] == versions[i]) continue;
    missing.push_back(static_cast<std::int64_t>(i));
    slots.push_back(slot);
  }
  if (!missing.empty()) {
    put(compute(missing), slots);
    for (const std::int64_t i : missing) {
      versions_[index(found.rows[index(i)])] = versions[index(i)];
    }
  }
  found.tables = tables_;
  return found;
}

}  // namespace curnm
