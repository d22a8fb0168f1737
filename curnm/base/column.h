#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace curnm {

/// An immutable array whose memory lives elsewhere: in a vector that was moved in, or in a mapped
/// file. Copies are cheap and share that memory; the last one frees it.
template <class T>
class Column {
 public:
  Column() = default;
  Column(std::vector<T> values)  // NOLINT(google-explicit-constructor): a vector is a column
      : Column(std::make_shared<const std::vector<T>>(std::move(values))) {}
  Column(std::span<const T> values, std::shared_ptr<const void> owner)
      : values_(values), owner_(std::move(owner)) {}

  const T& operator[](std::int64_t row) const { return values_[static_cast<std::size_t>(row)]; }
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  bool empty() const { return values_.empty(); }
  const T* data() const { return values_.data(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  std::span<const T> span() const { return values_; }
  /// The first `rows`, in the same memory. REQUIRES: there are at least that many.
  Column head(std::int64_t rows) const {
    return {values_.first(static_cast<std::size_t>(rows)), owner_};
  }
  const T& front() const { return values_.front(); }
  const T& back() const { return values_.back(); }

 private:
  explicit Column(std::shared_ptr<const std::vector<T>> owner)
      : values_(*owner), owner_(std::move(owner)) {}

  std::span<const T> values_;
  std::shared_ptr<const void> owner_;
};

/// Rows of equal width; width 0 means "there are none" and costs nothing.
struct FeatureMatrix {
  Column<float> values;  // [rows, width]
  std::int64_t width = 0;

  std::int64_t rows() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const float> row(std::int64_t r) const {
    return values.span().subspan(static_cast<std::size_t>(r * width),
                                 static_cast<std::size_t>(width));
  }
};

}  // namespace curnm
