// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/distillation.h"

#include <ATen/ops/log_softmax.h>

namespace kasimir {

at::Tensor distillation_loss(const at::Tensor& scores, const at::Tensor& teacher, double temperature) {
  const at::Tensor wanted = at::log_softmax(teacher.div(temperature), 1);
  const at::Tensor found = at::log_softmax(scores.div(temperature), 1);
  const at::Tensor sum = wanted.exp().mul(wanted.sub(found)).sum();
  return sum.mul(temperature * temperature / static_cast<double>(scores.size(0)));
}

}  // namespace kasimir
