// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/fingerprint.h"

#include "kasimir/base/rng.h"

#include <fmt/format.h>

#include <algorithm>

namespace kasimir {

std::string Fingerprint::str() const { return fmt::format("{:016x}{:016x}", high, low); }

Fingerprint hash_values(const std::uint32_t* values, std::size_t size, const FieldVector& vector) {
  const auto part = [&](std::uint64_t number) -> std::uint64_t {
    return vector.hash(values, size, static_cast<std::uint32_t>(mix_bits(~number)));
  };
  // Each half is mixed, so that it can serve as an index; the size tells zeros from more zeros.
  return {mix_bits(mix_bits(part(0) << 31 | part(1)) ^ size), mix_bits(mix_bits(part(2) << 31 | part(3)) ^ size)};
}

void fill_values(std::uint64_t seed, std::uint32_t* out, std::size_t size, const FieldVector& vector) {
  vector.fill(seed, out, size);
  out[size] = 0;
}

std::uint64_t WeightTies::draw(const FieldProgram& program, std::size_t i, std::uint64_t operands) {
  const std::uint64_t key = program.weight_key(i, operands);
  const auto earlier = static_cast<std::uint64_t>(std::ranges::count(keys_, key));
  keys_.push_back(key);
  return mix_bits(mix_bits(seed_ ^ key) ^ earlier);
}

std::uint64_t input_seed(std::uint64_t seed, std::uint64_t number) { return mix_bits(mix_bits(seed) ^ ~number); }

Fingerprint fingerprint(const BoundGraph& training, std::uint64_t seed) {
  const BoundGraph graph = freeze(training);
  std::vector<std::vector<std::uint32_t>> values(graph.tensors.size());
  const auto room = [&](int tensor) {
    auto& of = values[static_cast<std::size_t>(tensor)];
    of.resize(field_room(static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(tensor)]))));
    return of.data();
  };
  std::uint64_t inputs = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].role != Role::input) continue;
    std::uint32_t* const to = room(static_cast<int>(i));
    fill_values(input_seed(seed, inputs++), to, values[i].size() - field_slack);
  }
  WeightTies ties(seed);
  FieldScratch scratch;
  for (const BoundStage& stage : graph.stages) {
    const FieldProgram program(graph, stage);
    std::vector<const std::uint32_t*> operands;
    for (int tensor : program.reads()) operands.push_back(values[static_cast<std::size_t>(tensor)].data());
    const std::uint64_t hash = program.hash_operands(operands);
    for (std::size_t i = 0; i < program.weights().size(); ++i) {
      const FieldWeight& weight = program.weights()[i];
      if (operands[weight.operand] != nullptr) continue;  // another stage reads it, too
      std::uint32_t* const to = room(program.reads()[weight.operand]);
      fill_values(ties.draw(program, i, hash), to, weight.size);
      operands[weight.operand] = to;
    }
    program.run(operands, room(stage.out), scratch);
  }
  const auto& output = values[static_cast<std::size_t>(graph.output)];
  return hash_values(output.data(), output.size() - field_slack);
}

}  // namespace kasimir
