// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kasimir {

/// A stage that sums products of an activation and a weight, in integers: plain loops over codes, whatever the windows,
/// groups and strides are. The batch is 1.
class IntegerProduct {
 public:
  /// `activation` and `weight` are the two reads of the stage's product; no coordinate wraps, weights are read inside.
  /// `largest` is the largest size of an activation's code.
  IntegerProduct(const BoundGraph& graph, const BoundStage& stage, const BoundRead& activation, const BoundRead& weight,
                 std::vector<std::int32_t> weight_codes, std::int64_t largest);

  /// The exact sums, one per element of the stage's result in its order. `codes`: the activation's elements.
  [[nodiscard]] std::vector<std::int64_t> sums(std::span<const std::int32_t> codes) const;

 private:
  /// An iterator's steps in the padded activation, in the weight and in the result.
  struct Steps {
    std::int64_t extent = 1;
    std::int64_t activation = 0;
    std::int64_t weight = 0;
    std::int64_t result = 0;
  };
  struct Axis {
    std::int64_t extent;  ///< of the tensor
    std::int64_t first;   ///< least coordinate that is read
    std::int64_t padded;  ///< number of coordinates from the least to the largest
  };
  struct Offsets {
    std::int64_t activation;
    std::int64_t weight;
  };

  void place_activation(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                        std::vector<Steps>& steps);
  void place_weight(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read, std::vector<Steps>& steps);
  void order_loops(const BoundStage& stage, std::vector<Steps> steps);
  [[nodiscard]] std::vector<std::int32_t> pad(std::span<const std::int32_t> codes) const;
  template <typename Sum>
  void run(const std::vector<std::int32_t>& padded, std::vector<std::int64_t>& result) const;
  template <typename Sum>
  void run_row(const std::int32_t* activation, const std::int32_t* weight, Sum* sums) const;

  std::vector<std::int32_t> weights_;
  std::vector<Axis> axes_;  ///< of the activation
  std::int64_t activation_start_ = 0;
  std::int64_t weight_start_ = 0;
  std::vector<Steps> outer_;     ///< loops of the result but the innermost
  Steps inner_;                  ///< a loop of the result along which the weight stays
  std::vector<Offsets> summed_;  ///< every point of the reduced iterators
  std::int64_t elements_ = 1;
  bool narrow_ = false;  ///< sums fit in 32 bits
};

/// For each element of a stage's result, the place of the weight's slice that it uses among the leading `axes` axes of
/// the weight, row-major.
std::vector<std::int32_t> slices_of_result(const BoundGraph& graph, const BoundStage& stage, const BoundRead& weight,
                                           int axes);

}  // namespace kasimir
