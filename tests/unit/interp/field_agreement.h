// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/interp/field.h"
#include "kasimir/interp/field_program.h"

#include <gtest/gtest.h>

namespace kasimir::testing {

/// Random values of the field for what no stage defines, zeros among them.
inline TensorValues<std::uint32_t> random_elements(const BoundGraph& graph, std::uint64_t seed) {
  Rng rng(seed);
  TensorValues<std::uint32_t> values(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].role == Role::between) continue;
    values[i].resize(static_cast<std::size_t>(elements(graph.tensors[i])));
    for (auto& value : values[i])
      value = rng.chance(0.1) ? 0 : static_cast<std::uint32_t>(rng.below(FieldDomain::prime));
  }
  return values;
}

/// An array as FieldProgram::run wants it, with bits behind its end that must not matter.
inline std::vector<std::uint32_t> with_room(const std::vector<std::uint32_t>& values) {
  std::vector<std::uint32_t> array = values;
  array.push_back(0);
  array.resize(field_room(values.size()), 0xdeadbeefU);
  return array;
}

/// Every stage's program gives the interpreter's values, on every instruction set of this machine. Returns how many
/// elements were compared.
inline std::size_t expect_agreement(const BoundGraph& graph, std::uint64_t seed, FieldScratch& scratch) {
  auto values = random_elements(graph, seed);
  FieldDomain domain;
  evaluate(graph, domain, values);
  std::vector<std::vector<std::uint32_t>> arrays;
  for (const auto& array : values) arrays.push_back(with_room(array));
  std::size_t compared = 0;
  for (const BoundStage& stage : graph.stages) {
    for (const FieldVector& vector : field_vectors()) {
      SCOPED_TRACE(fmt::format("seed {}, {}: {}", seed, vector.name, str(graph, stage)));
      const FieldProgram program(graph, stage, vector);
      const auto& expected = values[static_cast<std::size_t>(stage.out)];
      EXPECT_EQ(program.size(), expected.size());
      std::vector<const std::uint32_t*> operands;
      for (int tensor : program.reads()) operands.push_back(arrays[static_cast<std::size_t>(tensor)].data());
      // Exactly the room that is asked for: an address sanitizer sees what lies behind.
      std::vector<std::uint32_t> out(field_room(program.size()), 0xdeadbeefU);
      program.run(operands, out.data(), scratch);
      EXPECT_EQ(out[program.size()], 0U);
      out.resize(program.size());
      EXPECT_EQ(out, expected);
      compared += out.size();
    }
  }
  return compared;
}

}  // namespace kasimir::testing
