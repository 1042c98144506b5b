// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace kasimir {

/// Asks the system to back the memory by large pages, where it has some; otherwise nothing changes. @pre aligned to
/// huge_page bytes.
void advise_huge_pages(void* memory, std::size_t bytes);
inline constexpr std::size_t huge_page = std::size_t{1} << 21;

/// Memory for tables that are read at random: with pages of 4 KiB most of their time goes into finding the page.
template <typename T>
struct HugePageAllocator {
  using value_type = T;
  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < huge_page) return static_cast<T*>(::operator new(bytes));
    void* memory = ::operator new(bytes, std::align_val_t{huge_page});
    advise_huge_pages(memory, bytes);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < huge_page) {
      ::operator delete(memory);
    } else {
      ::operator delete(memory, std::align_val_t{huge_page});
    }
  }
  bool operator==(const HugePageAllocator& /*other*/) const { return true; }
};

template <typename T>
using HugeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace kasimir
