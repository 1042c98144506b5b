// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>

namespace kasimir {

/// Thrown where tensors would take more memory than they may.
class MemoryLimit : public std::bad_alloc {
 public:
  explicit MemoryLimit(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Counts the bytes of tensors in main memory while it lives. At most one at a time.
class MemoryMeter {
 public:
  /// `limit` bytes may be in use at once, counted from now; 0: any number.
  explicit MemoryMeter(std::int64_t limit);
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  [[nodiscard]] std::int64_t peak() const;
  [[nodiscard]] std::int64_t in_use() const;  ///< of blocks that were taken while it lives, now

  struct State;

 private:
  struct Counting;
  std::shared_ptr<State> state_;
  std::unique_ptr<Counting> allocator_;
};

}  // namespace kasimir
