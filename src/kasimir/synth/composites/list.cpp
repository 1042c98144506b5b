// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite gate_composite, covariance_attention_composite, position_attention_composite,
    axial_attention_composite, crossed_attention_composite, dilated_stack_composite, bottleneck_composite,
    involution_composite, shifts_composite, shuffled_groups_composite;

std::span<const Composite* const> composites() {
  static constexpr const Composite* all[] = {&gate_composite,
                                             &covariance_attention_composite,
                                             &position_attention_composite,
                                             &axial_attention_composite,
                                             &crossed_attention_composite,
                                             &dilated_stack_composite,
                                             &bottleneck_composite,
                                             &involution_composite,
                                             &shifts_composite,
                                             &shuffled_groups_composite};
  return all;
}

}  // namespace kasimir
