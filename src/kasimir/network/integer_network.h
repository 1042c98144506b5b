// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/quantized_stages.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kasimir {

/// A quantised network computed in integers only, one image at a time: the reference for quantised inference.
/// docs/quantisation.md tells what is computed; interp/grid.h has the rules of single operations. A weighted sum:
///   - each operand becomes a code, clamp(round(value / step)); an activation's by a multiplication with 1 / step
///     rounded to 20 bits, a weight's beforehand;
///   - the codes are multiplied and added up exactly;
///   - the sum is multiplied with the product of both steps (and of the factor of a batch norm that is folded, see
///     folded_norms), rounded to 20 bits; the offset of a folded batch norm, rounded to a multiple of 2^-24, is added;
///     the result is rounded once, to a multiple of 2^-16 in 32 bits.
class IntegerNetwork {
 public:
  /// @throws Error (input) as quantize_network.
  IntegerNetwork(const NetworkPlan& plan, const std::vector<NamedTensor>& weights, const Quantization& quantization);
  ~IntegerNetwork();
  IntegerNetwork(IntegerNetwork&&) noexcept;
  IntegerNetwork& operator=(IntegerNetwork&&) noexcept;

  /// The scores of an image [c, h, w] as the network's input takes it (normalised), in units of 2^-16. Pixels are
  /// rounded to such units. @throws Error (input) for another number of pixels and for what is not a number.
  [[nodiscard]] std::vector<std::int64_t> scores(std::span<const float> image) const;
  /// Multiplications of one image that are done on codes.
  [[nodiscard]] std::int64_t macs() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kasimir
