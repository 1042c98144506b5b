// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/torch.h"

namespace kasimir {

/// How far the scores [n, class] are from a teacher's: temperature^2 times the mean over images of the divergence
/// KL(teacher || scores) of the softmax of scores / temperature (Hinton et al., arXiv 1503.02531, section 2).
at::Tensor distillation_loss(const at::Tensor& scores, const at::Tensor& teacher, double temperature);

}  // namespace kasimir
