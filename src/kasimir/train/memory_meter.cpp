// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/memory_meter.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace kasimir {

struct MemoryMeter::State {
  std::int64_t limit = 0;
  std::atomic<std::int64_t> used{0};
  std::atomic<std::int64_t> peak{0};
};

namespace {

/// Stands in front of a block: what is needed when it is released, which may be after the meter's end. Torch wants
/// the context of a raw block to be the block itself, so it cannot be kept elsewhere.
struct Header {
  std::int64_t bytes;
  std::shared_ptr<MemoryMeter::State> state;
  c10::DeleterFnPtr release;
};
constexpr std::size_t header_bytes = c10::gAlignment;  // keeps the block behind it aligned
static_assert(sizeof(Header) <= header_bytes);

void release(void* data) {
  if (data == nullptr) return;
  void* start = static_cast<std::byte*>(data) - header_bytes;
  auto* header = static_cast<Header*>(start);
  header->state->used -= header->bytes;
  const c10::DeleterFnPtr give_back = header->release;
  header->~Header();
  give_back(start);
}

}  // namespace

struct MemoryMeter::Counting : c10::Allocator {
  Counting(c10::Allocator* inner_allocator, std::shared_ptr<State> counts)
      : inner(inner_allocator), state(std::move(counts)) {}

  c10::DataPtr allocate(std::size_t n) override {
    const auto bytes = static_cast<std::int64_t>(n);
    const std::int64_t used = state->used += bytes;
    if (state->limit > 0 && used > state->limit) {
      state->used -= bytes;
      throw MemoryLimit(fmt::format("{}B of tensors, {}B allowed", si(static_cast<double>(used)),
                                    si(static_cast<double>(state->limit))));
    }
    if (used > state->peak) state->peak = used;
    if (n == 0) return inner->allocate(0);
    void* start = inner->raw_allocate(n + header_bytes);
    new (start) Header{bytes, state, inner->raw_deleter()};
    void* data = static_cast<std::byte*>(start) + header_bytes;
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

  c10::Allocator* inner;
  std::shared_ptr<State> state;
};

MemoryMeter::MemoryMeter(std::int64_t limit) : state_(std::make_shared<State>()) {
  state_->limit = limit;
  allocator_ = std::make_unique<Counting>(c10::GetCPUAllocator(), state_);
  c10::SetCPUAllocator(allocator_.get());
}

MemoryMeter::~MemoryMeter() { c10::SetCPUAllocator(allocator_->inner); }

std::int64_t MemoryMeter::peak() const { return state_->peak; }

std::int64_t MemoryMeter::in_use() const { return state_->used; }

}  // namespace kasimir
