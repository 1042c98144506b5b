// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/hardware/mapping.h"
#include "kasimir/hardware/pipeline/pipeline_toml.h"

#include <algorithm>

namespace kasimir {
namespace {

// One stream to the shared memory, as in cost mode `sound`.
constexpr double port_bits = 64;
constexpr int partial_bits = 32;

/// How a dimension is cut: passes over tiles, passes over what is unrolled within a tile, and what is unrolled.
struct Cut {
  std::string_view dim;
  std::int64_t size = 1, tile = 1, unrolled = 1;
  LoopKind kind = LoopKind::spatial_x;

  [[nodiscard]] std::int64_t within() const { return std::min(tile, size); }
  [[nodiscard]] std::int64_t lanes() const { return std::min(unrolled, within()); }
  [[nodiscard]] std::int64_t tiles() const { return (size + within() - 1) / within(); }
  [[nodiscard]] std::int64_t passes() const { return (within() + lanes() - 1) / lanes(); }
};

/// In the template's order: tile columns, rows, output channels, input channels. What a mode does not unroll is 1.
std::vector<Cut> cuts_of(const ConvLayer& l, const DescribedChunk& chunk) {
  const ChunkShape& s = chunk.shape;
  const bool rows = s.mode == (chunk.depthwise ? 1 : 2);
  const bool channels = !rows;
  std::vector<Cut> cuts{{"Q", l.out_w(), s.tile_cols}, {"P", l.out_h(), s.tile_rows, rows ? s.rows : 1}};
  if (chunk.depthwise) {
    cuts.push_back({"G", l.groups, s.tile_out, channels ? s.out : 1});
    return cuts;
  }
  if (l.groups > 1) cuts.insert(cuts.begin(), Cut{"G", l.groups});
  cuts.push_back({"K", l.cout / l.groups, s.tile_out, channels ? s.out : 1});
  cuts.push_back({"C", l.cin / l.groups, s.tile_in, s.mode == 1 ? s.in : 1, LoopKind::spatial_y});
  return cuts;
}

/// Bits that the chunk's buffers need of each role for its most demanding layer.
void set_buffers(const DescribedChunk& chunk, MemoryLevel& buffers) {
  buffers.partition_bits = {0, 0, 0};
  const auto need = [&](OperandRole role, double bits) {
    double& of = buffers.partition_bits[static_cast<std::size_t>(role)];
    of = std::max(of, bits);
  };
  for (const SoundLayer& sound : chunk.layers) {
    const ConvLayer& l = sound.layer;
    double in = 1, out = 1, rows = 1, cols = 1;
    for (const Cut& cut : cuts_of(l, chunk)) {
      const auto size = static_cast<double>(cut.within());
      if (cut.dim == "Q") cols = size;
      if (cut.dim == "P") rows = size;
      if (cut.dim == "C") in = size;
      if (cut.dim == "K" || (cut.dim == "G" && chunk.depthwise)) out = size;
    }
    const double channels = chunk.depthwise ? out : in;
    const double words = ((rows - 1) * l.stride + l.kernel_h) * ((cols - 1) * l.stride + l.kernel_w) * channels;
    need(OperandRole::input, words * chunk.bits);
    need(OperandRole::weight, in * out * l.kernel_h * l.kernel_w * chunk.bits);
    need(OperandRole::output, rows * cols * out * partial_bits);
  }
  buffers.capacity_bits = buffers.partition_bits[0] + buffers.partition_bits[1] + buffers.partition_bits[2];
}

/// The grid is as large as the chunk's widest layer fills it.
Architecture architecture_of_chunk(const DescribedChunk& chunk, double clock_mhz) {
  Architecture made;
  made.name = chunk.name;
  made.clock_mhz = clock_mhz;
  made.source = "chunk of a pipeline";
  MemoryLevel memory;
  memory.name = "shared_memory";
  memory.read_bandwidth = 2 * port_bits;
  memory.write_bandwidth = port_bits;
  MemoryLevel buffers;
  buffers.name = "buffers";
  set_buffers(chunk, buffers);
  for (const SoundLayer& sound : chunk.layers)
    for (const Cut& cut : cuts_of(sound.layer, chunk)) {
      FanOut& grid = cut.kind == LoopKind::spatial_x ? buffers.x : buffers.y;
      grid.size = std::max(grid.size, cut.lanes());
    }
  made.levels = {memory, buffers};
  made.compute.input_bits = made.compute.weight_bits = chunk.bits;
  check_architecture(made);
  return made;
}

void add_loop(Mapping& mapping, const Problem& problem, std::string_view dim, std::int64_t bound, int level,
              LoopKind kind = LoopKind::temporal) {
  if (bound > 1) mapping.add(problem.find_dim(dim), bound, level, kind);
}

}  // namespace

FormatText timeloop_text(const DescribedChunk& chunk, std::size_t layer, double clock_mhz) {
  KASIMIR_CHECK(layer < chunk.layers.size(), "layer {} of {}", layer, chunk.layers.size());
  const ConvLayer& l = chunk.layers[layer].layer;
  const Problem problem = problem_of(l, partial_bits);
  const Architecture architecture = architecture_of_chunk(chunk, clock_mhz);
  const std::vector<Cut> cuts = cuts_of(l, chunk);
  Mapping mapping = empty_mapping(problem, architecture);
  for (const Cut& cut : cuts) add_loop(mapping, problem, cut.dim, cut.tiles(), 0);
  for (const Cut& cut : cuts) add_loop(mapping, problem, cut.dim, cut.passes(), 1);
  add_loop(mapping, problem, "R", l.kernel_h, 1);
  add_loop(mapping, problem, "S", l.kernel_w, 1);
  for (const LoopKind kind : {LoopKind::spatial_x, LoopKind::spatial_y})
    for (const Cut& cut : cuts)
      if (cut.kind == kind) add_loop(mapping, problem, cut.dim, cut.lanes(), 1, kind);
  check_mapping(problem, architecture, mapping);
  const FormatText posed = timeloop_problem_text(problem);
  const FormatText machine = timeloop_architecture_text(architecture, problem);
  FormatText made;
  for (const FormatText* part : {&posed, &machine})
    made.lost.insert(made.lost.end(), part->lost.begin(), part->lost.end());
  std::vector<std::string> more{"weights are loaded before each tile, while nothing is computed",
                                "a tile's arithmetic takes 20 cycles to fill"};
  for (const Cut& cut : cuts)
    if (cut.tiles() * cut.passes() * cut.lanes() != cut.size)
      more.push_back(fmt::format("the last passes over {} are shorter: {} x {} x {} for {}", cut.dim, cut.tiles(),
                                 cut.passes(), cut.lanes(), cut.size));
  for (const std::string& one : more) made.text += fmt::format("# not said below: {}\n", one);
  made.lost.insert(made.lost.end(), more.begin(), more.end());
  made.text += posed.text + machine.text + timeloop_mapping_text(mapping, problem, architecture);
  return made;
}

}  // namespace kasimir
