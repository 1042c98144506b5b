// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest_times.h"

#include "kasimir/base/error.h"
#include "kasimir/codegen/work.h"

#include <algorithm>

namespace kasimir {
namespace {

NestKind kind_of(const Nest& nest, const Method& method) {
  if (nest.reduce == Reduce::none) return NestKind::elements;
  if (sums_products(nest) && nest.points() / nest.results() >= shortest_contraction) return NestKind::contraction;
  return sums_products(nest) && !std::holds_alternative<UseLoops>(method) ? NestKind::short_contraction
                                                                          : NestKind::reduction;
}

}  // namespace

std::string_view nest_kind_name(NestKind kind) {
  switch (kind) {
    case NestKind::contraction:
      return "contraction";
    case NestKind::short_contraction:
      return "short contraction";
    case NestKind::reduction:
      return "reduction";
    case NestKind::elements:
      return "elements";
  }
  return "";
}

std::vector<NestTime> time_nests(const GraphC& made, const std::vector<float>& weights, const COptions& options,
                                 const MachinePeak& peak, int samples) {
  COptions names = options;
  names.timed = true;
  const NestProgram& program = made.program;
  const auto counts = count_nests(program, made.c.methods, names.target);
  auto built = NativeNetwork::build(generate_c(program, made.c.methods, names), names, weights);
  if (!built.ok()) throw unsolved_error("the program cannot be run: {}", built.rejection().str());
  const auto times = built->fastest_nest_times(program.run.size(), samples);
  if (!times.ok()) throw unsolved_error("the program cannot be timed: {}", times.rejection().str());
  // Between two runs of a nest the others run: its weights and maps are where all of them fit.
  const double bandwidth =
      peak.bandwidth_of(static_cast<std::int64_t>(sizeof(float)) * (made.c.prepared_size + made.c.workspace_size));
  std::vector<NestTime> rows;
  for (std::size_t i = 0; i < program.run.size(); ++i) {
    const Method& method = made.c.methods[i];
    const auto count = [&](Work kind) { return counts[i][static_cast<std::size_t>(kind)]; };
    NestTime row;
    row.kind = kind_of(program.run[i], method);
    row.name = program.run[i].name;
    row.text = str(program, program.run[i]);
    row.method = str(method);
    row.seconds = 1e-9 * (*times)[i];
    row.operations = count(Work::products) + count(Work::winograd_products) + count(Work::transforms);
    // A product in loops is one operation too, its addition the same one. Epilogues of products are left out.
    if (std::holds_alternative<UseLoops>(method))
      row.operations += (count(Work::operations) + count(Work::functions)) / (sums_products(program.run[i]) ? 2 : 1);
    row.bytes = sizeof(float) * count(Work::floats);
    row.attainable = std::max(row.operations / peak.vector_operations, row.bytes / bandwidth);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string str(const MachinePeak& peak) {
  std::string text = fmt::format("one core: {:.1f} GFLOP/s ({} floats a vector)", peak.gflops(), peak.lanes);
  for (const auto& [bytes, rate] : peak.bandwidth)
    text += fmt::format(", {:.1f} GB/s from {} kB", 1e-9 * rate, bytes >> 10);
  return text;
}

}  // namespace kasimir
