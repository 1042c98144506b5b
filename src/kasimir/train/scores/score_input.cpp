// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/scores/score_input.h"

#include "kasimir/base/error.h"

namespace kasimir {
namespace {

double neutral(const LayerPart& part) {
  switch (part.kind) {
    case PartKind::norm_scale:
    case PartKind::running_var:
      return 1;
    case PartKind::kernel_stat:
      return part.start;
    case PartKind::kernel_weight:
      return part.role == WeightRole::scale ? 1 : 0;
    case PartKind::weight:
    case PartKind::bias:
    case PartKind::norm_offset:
    case PartKind::running_mean:
      return 0;
  }
  KASIMIR_CHECK(false, "part {} is of no kind", part.name);
}

}  // namespace

void neutralise(const ScoreInput& input) {
  const at::NoGradGuard fixed;
  const std::vector<Part*> parts = input.model.parts();
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!is_weight(input.kinds[i])) parts[i]->tensor.fill_(neutral(input.kinds[i]));
}

at::Tensor without_chance(const Model::Impl& model, int layer, const std::vector<at::Tensor>& results,
                          const std::function<at::Tensor()>& compute) {
  const Layer& of = model.network.layer(layer);
  if (std::holds_alternative<layer::Dropout>(of.op)) return results[static_cast<std::size_t>(of.inputs[0])];
  return compute();
}

std::optional<Rejection> ignores_images(const at::Tensor& scores) {
  const double widest = scores.detach().sub(scores.detach().narrow(0, 0, 1)).abs().max().item<double>();
  if (widest != 0.0) return std::nullopt;  // not-a-number goes on to where values are looked at
  return Rejection{"score: the output depends on the image",
                   fmt::format("all {} images have the same output", scores.size(0))};
}

}  // namespace kasimir
