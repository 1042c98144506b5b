// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/network_c.h"

#include <array>
#include <cstdint>
#include <string_view>

/// What generated C does in one run, counted from its nests and methods, without compiling it.
namespace kasimir {

/// Multiplications of sums of products: as the graph writes them, and as the chosen methods execute them (Winograd
/// takes fewer, whole tiles and vectors more).
struct Multiplications {
  double nominal = 0;
  double executed = 0;
};
Multiplications count_multiplications(const NestProgram& program, const std::vector<Method>& methods,
                                      const CTarget& target);

/// Kinds of work that take time of their own.
enum class Work : std::uint8_t {
  products,           ///< vectors of multiply-adds in register blocks
  operands,           ///< vectors and broadcast elements that register blocks load
  packing,            ///< elements of activations that are packed before a product
  winograd_products,  ///< vectors of multiply-adds between Winograd's transforms
  transforms,         ///< vectors of operations in them
  operations,         ///< vectors of cheap operations in loops and epilogues
  functions,          ///< vectors of exp, tanh and the like
  reads,              ///< vectors that loops read at once
  gathers,            ///< elements that loops read one by one
  tests,              ///< vectors that are read under a condition
  results,            ///< vectors that are written
  floats,             ///< of all tensors that nests read and write, weights among them
  nests               ///< times a nest begins
};
inline constexpr std::size_t work_kinds = 13;
std::string_view work_name(Work kind);  ///< "winograd products"

using WorkCounts = std::array<double, work_kinds>;
/// Adds `more`, so many times.
void add_work(WorkCounts& sum, const WorkCounts& more, double times = 1);

/// Of one run of the whole batch, on one thread: per nest of `run`.
std::vector<WorkCounts> count_nests(const NestProgram& program, const std::vector<Method>& methods,
                                    const CTarget& target);
/// Their sum.
WorkCounts count_work(const NestProgram& program, const std::vector<Method>& methods, const CTarget& target);

/// The same of a whole network with the default methods, whatever its weights. Rejected as lower_network.
Outcome<WorkCounts> count_work(const NetworkPlan& plan, std::int64_t batch, const CTarget& target);

}  // namespace kasimir
