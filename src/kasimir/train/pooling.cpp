// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/peephole.h"

namespace kasimir {

std::optional<Action> pooling_action(const BoundGraph&, const BoundStage&) { return std::nullopt; }

}  // namespace kasimir
