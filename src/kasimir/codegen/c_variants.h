// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_program.h"

namespace kasimir {

/// The targets of one file for any processor, the widest first: AVX-512, AVX2 with FMA, and what every compiler can;
/// before them AVX-512 with VNNI where there are products of bytes.
std::vector<CTarget> portable_targets(bool bytes = false);

/// One C file from programs of the same network for portable_targets(), written with the same other options. The
/// program chooses when it runs, by what the processor has; compiled with -DKSM_MOST_LANES=8 or 4 it leaves out the
/// wider ones. The arrays have the largest sizes that any of them needs; weights are stored alike for all.
CProgram one_for_all(const NestProgram& program, const std::vector<CProgram>& variants, const COptions& options);

}  // namespace kasimir
