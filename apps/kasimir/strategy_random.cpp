// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"

namespace kasimir {
namespace {

Outcome<Idea> propose(const Task& task) { return task.source.drawn(task.attempt); }

}  // namespace

const Strategy random_strategy{"random", "every kernel is drawn anew", false, propose};

}  // namespace kasimir
