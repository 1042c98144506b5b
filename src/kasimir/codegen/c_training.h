// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_program.h"
#include "kasimir/nest/training.h"

namespace kasimir {

/// How an array of a training pass lies in the caller's memory: without rings, an activation in the order of the
/// workspace (channels last, which is also how images and feature maps of four axes arrive), a tensor without a batch
/// as the graph declares it.
std::vector<std::int64_t> strides_outside(const BoundTensor& tensor);

/// The strides of a tensor without rings: of a known one as it is declared, else as in a workspace.
TensorLayout compact_layout(const BoundTensor& tensor, bool known);

/// Where the activations of a training pass lie: its arguments live as long as the pass.
MemoryPlan plan_memory(const TrainingPass& pass, const std::vector<Overhang>& more);

/// C for a training pass: `NAME_prepare(weights, prepared)` as for a network but at every step, `NAME_init(workspace)`,
/// and
///
///     void NAME_step(const float *prepared, float *workspace, const float *const *in, float *const *out, long parts)
///
/// which runs `parts` batches one after another. Activations among the arguments hold all of them; what has no batch is
/// added up over the parts.
CProgram generate_training_c(const TrainingPass& pass, const std::vector<Method>& methods, const COptions& options);

/// Where an argument begins in the caller's memory, in C, if nests use it there: it has no ring. Nothing for others.
std::optional<std::string> place_outside(const TrainingPass& pass, const MemoryPlan& plan, int tensor);

/// The copy between an argument and the workspace at `W`: of part `part`.
void write_argument(CText& text, const TrainingPass& pass, const MemoryPlan& plan, std::size_t argument, bool into);

}  // namespace kasimir
