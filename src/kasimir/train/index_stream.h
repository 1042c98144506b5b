// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kasimir {

/// The indices in a random order (Fisher and Yates), which is a function of the seed and the epoch alone. Data sets are
/// often sorted by class: batches of neighbours would not be like others.
std::vector<std::int32_t> shuffled(std::vector<std::int32_t> indices, std::uint64_t seed, std::uint64_t epoch);

/// Batches of indices without end: all of them once in an order of the epoch, then in another. What is left of an epoch
/// and fills no batch is dropped. The order is a function of the seed and the epoch alone.
class IndexStream {
 public:
  /// At least one index; batches are of min(batch, indices.size()).
  IndexStream(std::vector<std::int32_t> indices, std::size_t batch, std::uint64_t seed);

  /// Valid until the next call.
  std::span<const std::int32_t> next();
  [[nodiscard]] std::uint64_t taken() const { return taken_; }  ///< batches so far
  void go_to(std::uint64_t taken);                              ///< as if so many batches had been taken
  [[nodiscard]] std::uint64_t epoch() const;                    ///< of the batch taken last, from 0

 private:
  [[nodiscard]] std::uint64_t batches_per_epoch() const { return indices_.size() / batch_; }
  void order(std::uint64_t epoch);

  std::vector<std::int32_t> indices_;
  std::vector<std::int32_t> order_;
  std::size_t batch_;
  std::uint64_t seed_;
  std::uint64_t taken_ = 0;
};

}  // namespace kasimir
