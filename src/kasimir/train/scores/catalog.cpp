// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/train/score.h"
#include "kasimir/train/scores/scores.h"

#include <algorithm>
#include <array>

namespace kasimir {

std::span<const ZeroCostScore> score_catalog() {
  static constexpr std::array all{
      ZeroCostScore{"grad_norm", "the norm of the loss's gradient", "Abdelfattah et al., arXiv 2101.08134, section 3.1",
                    true, grad_norm},
      ZeroCostScore{"synflow", "what flows through absolute weights",
                    "Tanaka et al., arXiv 2006.05467; summed over a network: arXiv 2101.08134", false, synflow},
      ZeroCostScore{"naswot", "how differently images switch the activations", "Mellor et al., arXiv 2006.04647", true,
                    naswot},
      ZeroCostScore{"zen", "how far features move when the image does", "Lin et al., arXiv 2102.01063, algorithm 1",
                    false, zen}};
  return all;
}

const ZeroCostScore& score_named(std::string_view name) {
  const auto found = std::ranges::find(score_catalog(), name, &ZeroCostScore::name);
  if (found != score_catalog().end()) return *found;
  std::vector<std::string> names;
  for (const ZeroCostScore& score : score_catalog()) names.emplace_back(score.name);
  throw input_error("unknown score `{}`, {}", name, suggestion(name, names));
}

}  // namespace kasimir
