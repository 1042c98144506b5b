// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/field_program.h"

#include "kasimir/base/rng.h"

namespace kasimir {
namespace {

template <typename Index>
void gather(const std::uint32_t* from, const Index* table, std::uint32_t* out, std::size_t size) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < size; ++i) out[i] = from[table[i]];
}

}  // namespace

FieldProgram::FieldProgram(const BoundGraph& graph, const BoundStage& stage, const FieldVector& vector)
    : vector_(&vector) {
  FieldTables tables;
  plan_ = plan_stage(graph, stage, tables);
}

void FieldProgram::run(std::span<const std::uint32_t* const> operands, std::uint32_t* out,
                       FieldScratch& scratch) const {
  KASIMIR_CHECK(operands.size() == plan_.reads.size(), "{} operands, {} wanted", operands.size(), plan_.reads.size());
  std::uint32_t* const memory = scratch.room(plan_.scratch);
  const std::size_t first_own = operands.size();
  const auto written = [&](FieldPlace place) { return (place.base == first_own ? memory : out) + place.offset; };
  const auto read = [&](FieldPlace place) {
    if (place.base < first_own) return operands[place.base] + place.offset;
    return place.base == first_own + 2 ? plan_.constants.data() + place.offset
                                       : static_cast<const std::uint32_t*>(written(place));
  };
  const FieldVector& vector = *vector_;
  for (const FieldStep& step : plan_.steps) {
    using enum FieldStep::Code;
    const auto& n = step.count;
    const std::uint32_t* const a = read(step.a);
    std::uint32_t* const y = written(step.out);
    switch (step.code) {
      case apply:
        vector.apply(step.fn, a, y, n[0]);
        break;
      case inverse:
        vector.inverse(a, y, n[0]);
        break;
      case rank:
        vector.rank(a, y, n[0]);
        break;
      case unrank:
        vector.unrank(a, y, n[0]);
        break;
      case combine:
        vector.combine(step.fn, a, step.rows_a, read(step.b), step.rows_b, y, n[0], n[1]);
        break;
      case sum:
        vector.sum(a, y, n[0], n[1], n[2]);
        break;
      case largest:
        vector.largest(a, y, n[0], n[1], n[2]);
        break;
      case contract:
        vector.contract(a, read(step.b), y, n[0], n[1], n[2], n[3]);
        break;
      case gather:
        if (step.is_wide) {
          kasimir::gather(a, plan_.wide.data() + step.table, y, n[0]);
        } else {
          kasimir::gather(a, plan_.narrow.data() + step.table, y, n[0]);
        }
        break;
      case rows:
        vector.copy(a, plan_.walks[step.table]->rows.data(), y, n[0], n[1], static_cast<std::int32_t>(n[2]));
        break;
    }
  }
  out[plan_.size] = 0;
}

std::uint64_t FieldProgram::hash_operands(std::span<const std::uint32_t* const> operands) const {
  std::uint64_t hash = 0;
  for (const FieldTie& tie : plan_.ties)
    hash = mix_bits(hash ^ vector_->dot(operands[tie.operand], tie.factors->data(), tie.factors->size() - field_slack));
  return hash;
}

std::uint64_t FieldProgram::weight_key(std::size_t i, std::uint64_t operands) const {
  return mix_bits(operands ^ plan_.weights[i].form);
}

std::size_t FieldProgram::bytes() const {
  return sizeof *this + plan_.reads.size() * sizeof(int) + plan_.steps.size() * sizeof(FieldStep) +
         plan_.narrow.size() * sizeof(std::uint16_t) + plan_.weights.size() * sizeof(FieldWeight) +
         plan_.walks.size() * sizeof(FieldTables::Walk) + plan_.ties.size() * sizeof(FieldTie) +
         (plan_.wide.size() + plan_.constants.size()) * sizeof(std::uint32_t);
}

}  // namespace kasimir
