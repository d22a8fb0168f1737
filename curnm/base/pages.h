#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <span>
#include <vector>

namespace curnm {

inline constexpr std::size_t kPageSize = 4096;

/// Gives large arrays pages of their own, so that processes can have them in common
/// (distributed/shared_memory.h).
template <class T>
struct PageAllocator {
  using value_type = T;
  static constexpr std::size_t kLarge = 16 * kPageSize;

  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) {
  }  // NOLINT(google-explicit-constructor): as allocators are

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    return static_cast<T*>(bytes < kLarge ? ::operator new(bytes)
                                          : ::operator new (bytes, std::align_val_t{kPageSize}));
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kLarge) {
      ::operator delete(memory);
    } else {
      ::operator delete (memory, std::align_val_t{kPageSize});
    }
  }
  bool operator==(const PageAllocator&) const = default;
};

/// A vector with whole pages, if it is large.
template <class T>
using Pages = std::vector<T, PageAllocator<T>>;

/// Called with stretches of memory, each of whole pages.
using PageVisitor = std::function<void(std::span<const std::byte>)>;

template <class T>
void visit_pages(const Pages<T>& values, const PageVisitor& visit) {
  const auto bytes = std::as_bytes(std::span(values));
  if (bytes.size() < PageAllocator<T>::kLarge) return;
  visit(bytes.first(bytes.size() / kPageSize * kPageSize));
}

}  // namespace curnm
