// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/pipeline_toml.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/parse_toml.h"
#include "kasimir/hardware/pipeline/layer_traits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

std::string number_text(double value) { return std::isinf(value) ? "inf" : fmt::format("{}", value); }

/// One table of the file: keys that are asked for are taken, `close` refuses all others.
class Reader {
 public:
  Reader(const toml::table& table, const std::string& file) : table_(table), file_(file) {}

  [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
    throw input_error("{}", message)
        .note(fmt::format("{}:{}:{}", file_, node.source().begin.line, node.source().begin.column));
  }

  const toml::node& needed(std::string_view key) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) fail(table_, fmt::format("`{}` is missing", key));
    return *node;
  }

  std::string text(std::string_view key) {
    const toml::node& node = needed(key);
    if (!node.is_string()) fail(node, fmt::format("`{}` must be a text", key));
    return node.as_string()->get();
  }

  double number(std::string_view key) {
    const toml::node& node = needed(key);
    const auto value = node.value<double>();
    if (!value || !(*value > 0)) fail(node, fmt::format("`{}` must be a number above 0", key));
    return *value;
  }

  int whole(std::string_view key, int least) {
    const toml::node& node = needed(key);
    return whole_of(node, key, least);
  }

  bool flag(std::string_view key) {
    const toml::node& node = needed(key);
    if (!node.is_boolean()) fail(node, fmt::format("`{}` must be true or false", key));
    return node.as_boolean()->get();
  }

  template <std::size_t count>
  std::array<int, count> list(std::string_view key, int least) {
    const toml::node& node = needed(key);
    const toml::array* array = node.as_array();
    if (array == nullptr || array->size() != count)
      fail(node, fmt::format("`{}` must be a list of {} whole numbers", key, count));
    std::array<int, count> made{};
    for (std::size_t i = 0; i < count; ++i) made[i] = whole_of(*array->get(i), key, least);
    return made;
  }

  std::vector<const toml::table*> tables(std::string_view key) {
    const toml::node& node = needed(key);
    const toml::array* array = node.as_array();
    std::vector<const toml::table*> made;
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) made.push_back(array->get(i)->as_table());
    if (made.empty() || std::ranges::find(made, nullptr) != made.end())
      fail(node, fmt::format("`{}` must be tables, at least one", key));
    return made;
  }

  const toml::table& table(std::string_view key) {
    const toml::node& node = needed(key);
    if (!node.is_table()) fail(node, fmt::format("`{}` must be a table", key));
    return *node.as_table();
  }

  void close() const {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::ranges::find(known_, name) == known_.end())
        fail(node, fmt::format("unknown key `{}`, {}", name, suggestion(name, known_)));
    }
  }

 private:
  int whole_of(const toml::node& node, std::string_view key, int least) const {
    const auto* value = node.as_integer();
    if (value == nullptr || value->get() < least || value->get() > std::numeric_limits<int>::max())
      fail(node, fmt::format("`{}` must have whole numbers from {} on", key, least));
    return static_cast<int>(value->get());
  }

  const toml::table& table_;
  const std::string& file_;
  std::vector<std::string> known_;
};

SoundLayer read_layer(const toml::table& table, const std::string& file) {
  Reader reader(table, file);
  SoundLayer made;
  ConvLayer& layer = made.layer;
  layer.name = reader.text("name");
  const auto channels = reader.list<2>("channels", 1);
  const auto size = reader.list<2>("size", 1);
  const auto window = reader.list<2>("window", 1);
  const auto padding = reader.list<2>("padding", 0);
  const auto bits = reader.list<2>("bits", 1);
  layer.cin = channels[0];
  layer.cout = channels[1];
  layer.height = size[0];
  layer.width = size[1];
  layer.kernel_h = window[0];
  layer.kernel_w = window[1];
  layer.padding_h = padding[0];
  layer.padding_w = padding[1];
  layer.bits = {bits[0], bits[1]};
  layer.stride = reader.whole("stride", 1);  // names a primitive: a key of the file
  layer.groups = reader.whole("groups", 1);
  made.adds_skip = reader.flag("adds_skip");
  reader.close();
  require_legal(layer, file);
  return made;
}

std::string layer_text(const SoundLayer& sound) {
  const ConvLayer& l = sound.layer;
  return fmt::format(
      "  {{ name = {}, channels = [{}, {}], size = [{}, {}], window = [{}, {}], stride = {}, groups = {}, padding = "
      "[{}, {}], bits = [{}, {}], adds_skip = {} }},\n",
      toml_string(l.name), l.cin, l.cout, l.height, l.width, l.kernel_h, l.kernel_w, l.stride, l.groups, l.padding_h,
      l.padding_w, l.bits.weight, l.bits.activation, sound.adds_skip);
}

DescribedChunk read_chunk(const toml::table& table, const std::string& file) {
  Reader reader(table, file);
  DescribedChunk chunk;
  chunk.name = reader.text("name");
  chunk.depthwise = reader.flag("depthwise");
  chunk.bits = reader.whole("bits", 1);
  ChunkShape& s = chunk.shape;
  s.mode = reader.whole("mode", 0);
  const int most = chunk.depthwise ? 1 : 2;
  if (s.mode > most) reader.fail(reader.needed("mode"), fmt::format("`mode` is {}, needed: 0 .. {}", s.mode, most));
  const auto tile = reader.list<4>("tile", 1);
  const auto unrolled = reader.list<4>("unrolled", 1);
  for (std::size_t i = 0; i < tile.size(); ++i)
    if (unrolled[i] > tile[i])
      reader.fail(reader.needed("unrolled"), fmt::format("`unrolled` has {} of a tile of {}", unrolled[i], tile[i]));
  s.tile_rows = tile[0];
  s.tile_cols = tile[1];
  s.tile_out = tile[2];
  s.tile_in = tile[3];
  s.rows = unrolled[0];
  s.cols = unrolled[1];
  s.out = unrolled[2];
  s.in = unrolled[3];
  for (const toml::table* layer : reader.tables("layers")) {
    chunk.layers.push_back(read_layer(*layer, file));
    if (chunk.layers.back().layer.depthwise() != chunk.depthwise)
      reader.fail(*layer, fmt::format("layer `{}` is {}depthwise, chunk `{}` is {}", chunk.layers.back().layer.name,
                                      chunk.depthwise ? "not " : "", chunk.name, chunk.depthwise ? "" : "not"));
  }
  reader.close();
  return chunk;
}

}  // namespace

ChunkCost cost_of(const DescribedChunk& chunk) {
  ChunkCost cost;
  for (const SoundLayer& layer : chunk.layers) cost.add(cost_on(layer, chunk.shape, chunk.bits));
  cost.add_overhead(chunk_address_dsp);
  return cost;
}

double cycles_of(const PipelineDescription& pipeline) {
  double cycles = 0;
  double bits = 0;
  for (const DescribedChunk& chunk : pipeline.chunks) {
    const ChunkCost cost = cost_of(chunk);
    cycles = std::max(cycles, cost.cycles());
    bits += cost.resources().dram_bits;
  }
  return std::max(cycles, bits / pipeline.budget.dram_bits_per_cycle);
}

std::string to_toml(const PipelineDescription& pipeline) {
  std::string text = fmt::format(
      "# A pipeline of chunks: `kasimir accel pipeline --design FILE` says what it costs.\n"
      "name = {}\nclock_mhz = {}\n\n[budget]\n",
      toml_string(pipeline.name), number_text(pipeline.clock_mhz));
  const ResourceBudget& b = pipeline.budget;
  text += fmt::format("dsp = {}\nbram18 = {}\nlut = {}\ndram_bits_per_cycle = {}\n", number_text(b.dsp),
                      number_text(b.bram18), number_text(b.lut), number_text(b.dram_bits_per_cycle));
  for (const DescribedChunk& chunk : pipeline.chunks) {
    const ChunkShape& s = chunk.shape;
    text += fmt::format("\n[[chunk]]\nname = {}\ndepthwise = {}\nbits = {}\nmode = {}\n", toml_string(chunk.name),
                        chunk.depthwise, chunk.bits, s.mode);
    text += fmt::format("tile = [{}, {}, {}, {}]      # rows, columns, output channels, input channels\n", s.tile_rows,
                        s.tile_cols, s.tile_out, s.tile_in);
    text += fmt::format("unrolled = [{}, {}, {}, {}]\nlayers = [\n", s.rows, s.cols, s.out, s.in);
    for (const SoundLayer& layer : chunk.layers) text += layer_text(layer);
    text += "]\n";
  }
  return text;
}

PipelineDescription parse_pipeline(std::string_view toml, const std::string& file) {
  const toml::table root = parse_toml(toml, file);
  Reader reader(root, file);
  PipelineDescription made;
  made.name = reader.text("name");
  made.clock_mhz = reader.number("clock_mhz");
  Reader budget(reader.table("budget"), file);
  made.budget = {budget.number("dsp"), budget.number("bram18"), budget.number("lut"),
                 budget.number("dram_bits_per_cycle")};
  budget.close();
  for (const toml::table* chunk : reader.tables("chunk")) made.chunks.push_back(read_chunk(*chunk, file));
  reader.close();
  return made;
}

}  // namespace kasimir
