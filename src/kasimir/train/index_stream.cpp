// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/index_stream.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"

#include <algorithm>

namespace kasimir {

std::vector<std::int32_t> shuffled(std::vector<std::int32_t> indices, std::uint64_t seed, std::uint64_t epoch) {
  Rng rng(seed, epoch);
  for (std::size_t i = indices.size(); i > 1; --i) std::swap(indices[i - 1], indices[rng.below(i)]);
  return indices;
}

IndexStream::IndexStream(std::vector<std::int32_t> indices, std::size_t batch, std::uint64_t seed)
    : indices_(std::move(indices)), batch_(std::min(batch, indices_.size())), seed_(seed) {
  KASIMIR_CHECK(batch_ > 0, "batches of {} out of {}", batch, indices_.size());
}

void IndexStream::order(std::uint64_t epoch) { order_ = shuffled(indices_, seed_, epoch); }

std::span<const std::int32_t> IndexStream::next() {
  const std::uint64_t in_epoch = taken_ % batches_per_epoch();
  if (in_epoch == 0 || order_.empty()) order(taken_ / batches_per_epoch());
  ++taken_;
  return std::span(order_).subspan(in_epoch * batch_, batch_);
}

void IndexStream::go_to(std::uint64_t taken) {
  taken_ = taken;
  order_.clear();
}

std::uint64_t IndexStream::epoch() const { return taken_ == 0 ? 0 : (taken_ - 1) / batches_per_epoch(); }

}  // namespace kasimir
