// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_program.h"

#include "kasimir/base/error.h"

#include <algorithm>

namespace kasimir {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// One nest with what its method found in it.
struct Planned {
  FlatNest flat;
  Method method;
  std::optional<Contraction> contraction;
  std::optional<WindowProduct> product;
  std::int64_t packed = -1;   ///< place of the packed operand: in P, or in W where it is an activation
  bool packed_once = false;   ///< in P
  std::int64_t scratch = -1;  ///< place in W
};

class Generator {
 public:
  Generator(const NestProgram& program, const std::vector<Method>& methods, const COptions& options)
      : program_(program), options_(options) {
    KASIMIR_CHECK(methods.size() == program.run.size(), "{} methods for {} nests", methods.size(), program.run.size());
    result_.methods = methods;
    plan_layout();
    place_weights();
    for (std::size_t i = 0; i < program.run.size(); ++i) plan_nest(program.run[i], methods[i]);
    result_.prepared_size = prepared_ + slack;
    result_.workspace_size = workspace_ + slack;
    result_.input_size = program.batch * per_image(program.input);
    result_.output_size = program.batch * per_image(program.output);
  }

  CProgram run() {
    write_header();
    write_source();
    return std::move(result_);
  }

 private:
  // Reads of a last partial vector may pass the end of what is stored.
  static constexpr std::int64_t slack = 64;

  [[nodiscard]] std::int64_t per_image(int tensor) const {
    const BoundTensor& of = program_.tensors[static_cast<std::size_t>(tensor)];
    return elements(of) / of.axes[0].extent;
  }

  void plan_layout() {
    std::vector<Overhang> more;
    for (std::size_t i = 0; i < program_.run.size(); ++i) {
      const auto* winograd = std::get_if<WinogradBlock>(&result_.methods[i]);
      if (winograd == nullptr) continue;
      const auto product = find_window_product(program_, program_.run[i]);
      KASIMIR_CHECK(product.has_value(), "nest {} is no product of 3 x 3 windows", program_.run[i].name);
      for (const Overhang& beyond : winograd_overhang(program_, program_.run[i], *product, winograd->m))
        more.push_back(beyond);
    }
    memory_ = plan_memory(program_, more);
    workspace_ = memory_.size;
  }

  void place_weights() {
    place_q_.assign(program_.tensors.size(), -1);
    place_p_.assign(program_.tensors.size(), -1);
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      const BoundTensor& tensor = program_.tensors[t];
      if (tensor.role != Role::weight && tensor.role != Role::stat) continue;
      place_q_[t] = result_.weights_size;
      result_.weights.push_back({tensor.name, static_cast<int>(t), result_.weights_size, elements(tensor)});
      result_.weights_size += elements(tensor);
    }
    for (const Nest& nest : program_.prepare) in_p(nest.out);
  }
  /// A place in P, where reads of whole vectors may pass the end.
  std::int64_t in_p(int tensor) {
    std::int64_t& place = place_p_[static_cast<std::size_t>(tensor)];
    if (place < 0) place = take_p(elements(program_.tensors[static_cast<std::size_t>(tensor)]));
    return place;
  }
  std::int64_t take_p(std::int64_t size) {
    const std::int64_t place = prepared_;
    prepared_ += round_up(size, 16);
    return place;
  }
  std::int64_t take_w(std::int64_t size) {
    const std::int64_t place = workspace_;
    workspace_ += round_up(size, 16) + 16;
    return place;
  }

  void plan_nest(const Nest& nest, const Method& method) {
    Planned planned{flatten(program_, nest, memory_), method, {}, {}, -1, false, -1};
    int packed_node = -1;
    if (const auto* block = std::get_if<RegisterBlock>(&method)) {
      planned.contraction = find_contraction(planned.flat);
      KASIMIR_CHECK(planned.contraction.has_value(), "nest {} is no sum of products", nest.name);
      packed_node = planned.contraction->b;
      place_packed(planned, nest, packed_node,
                   packed_size(planned.flat, *planned.contraction, *block, options_.target));
    } else if (const auto* winograd = std::get_if<WinogradBlock>(&method)) {
      planned.product = find_window_product(program_, nest);
      packed_node = planned.product->b;
      place_packed(planned, nest, packed_node,
                   winograd_packed_size(nest, *planned.product, *winograd, options_.target));
      planned.scratch = take_w(winograd_scratch_size(nest, *planned.product, *winograd, options_.target));
    }
    const auto keep = [&](const std::vector<std::optional<Access>>& accesses, int packed) {
      for (std::size_t i = 0; i < accesses.size(); ++i)
        if (accesses[i] && static_cast<int>(i) != packed &&
            program_.known[static_cast<std::size_t>(accesses[i]->tensor)])
          in_p(accesses[i]->tensor);
    };
    keep(planned.flat.value, packed_node);
    keep(planned.flat.epilogue, -1);
    nests_.push_back(std::move(planned));
  }
  void place_packed(Planned& planned, const Nest& nest, int node, std::int64_t size) {
    const auto& read = std::get<BoundRead>(nest.value[static_cast<std::size_t>(node)]);
    planned.packed_once = program_.known[static_cast<std::size_t>(read.tensor)];
    planned.packed = planned.packed_once ? take_p(size) : take_w(size);
  }

  /// Where a tensor begins while a segment of so many images runs from image `first`.
  [[nodiscard]] std::string running(int tensor, std::int64_t images) const {
    const auto t = static_cast<std::size_t>(tensor);
    if (program_.known[t]) return fmt::format("P + {}", place_p_[t]);
    const std::int64_t held = program_.tensors[t].axes[0].extent;
    return held > images ? fmt::format("W + first % {} * {}", held, memory_.layouts[t].strides[0]) : "W";
  }
  /// Where a tensor begins while weights are prepared.
  [[nodiscard]] std::string preparing(int tensor) const {
    const auto t = static_cast<std::size_t>(tensor);
    return place_q_[t] >= 0 ? fmt::format("Q + {}", place_q_[t]) : fmt::format("P + {}", place_p_[t]);
  }

  void write_header() {
    CText text;
    const std::string& name = options_.name;
    const auto& in = program_.tensors[static_cast<std::size_t>(program_.input)].axes;
    const auto& out = program_.tensors[static_cast<std::size_t>(program_.output)].axes;
    const auto shape = [this](const auto& axes, ImageLayout layout) {
      std::string list = fmt::format("{}", program_.batch);
      if (layout == ImageLayout::nchw)
        return fmt::format("{} x {} x {} x {} (image, channel, row, column)", list, axes[1].extent, axes[2].extent,
                           axes[3].extent);
      return fmt::format("{} x {} x {} x {} (image, row, column, channel)", list, axes[2].extent, axes[3].extent,
                         axes[1].extent);
    };
    text.line("#pragma once");
    text.line(
        "/* Generated by Kasimir. Plain C11, no allocation, no global state: calls with different workspaces may");
    text.line(" * run at the same time. All arrays hold floats.");
    text.line(" *");
    text.line(" *   1. {0}_prepare(weights, prepared)   once for all threads", name);
    text.line(" *   2. {0}_init(workspace)              once for each workspace", name);
    text.line(" *   3. {0}_run(prepared, workspace, input, output)   as often as wanted", name);
    text.line(" *");
    text.line(" * input:  {}", shape(in, options_.input));
    text.line(" * output: {}", shape(out, options_.output));
    text.line(" * weights, one after another:");
    for (const WeightSlot& slot : result_.weights) text.line(" *   {:>9} {} [{}]", slot.offset, slot.name, slot.size);
    text.line(" */");
    text.line("#ifdef __cplusplus");
    text.line("extern \"C\" {{");
    text.line("#endif");
    text.line("enum {{");
    text.line("  {}_input_size = {},", name, result_.input_size);
    text.line("  {}_output_size = {},", name, result_.output_size);
    text.line("  {}_weights_size = {},", name, result_.weights_size);
    text.line("  {}_prepared_size = {},", name, result_.prepared_size);
    text.line("  {}_workspace_size = {}", name, result_.workspace_size);
    text.line("}};");
    text.line("void {}_prepare(const float *weights, float *prepared);", name);
    text.line("void {}_init(float *workspace);", name);
    text.line("void {}_run(const float *prepared, float *workspace, const float *input, float *output);", name);
    text.line("#ifdef __cplusplus");
    text.line("}}");
    text.line("#endif");
    result_.header = text.str();
  }

  void write_source() {
    CText text;
    text.line("#include \"{}.h\"", options_.name);
    text.line("#include <math.h>");
    text.line("#include <string.h>");
    text.line("{}", c_prelude(options_.target));
    for (std::size_t s = 0; s < program_.segments.size(); ++s) write_segment(text, s);
    write_prepare(text);
    text.open("void {}_init(float *W)", options_.name);
    text.line("memset(W, 0, sizeof(float) * {});", result_.workspace_size);
    text.close();
    text.open("void {}_run(const float *P, float *W, const float *in, float *out)", options_.name);
    text.open("for (long first = 0; first < {}; first += {})", program_.batch, program_.segments.back().batch);
    text.line("s{}(P, W, in, out, first);", program_.segments.size() - 1);
    text.close();
    text.close();
    result_.source = text.str();
  }

  /// A segment runs those before it until it has its images.
  void write_segment(CText& text, std::size_t s) {
    const Segment& segment = program_.segments[s];
    for (std::size_t i = segment.begin; i < segment.end; ++i) write_nest(text, i, segment.batch);
    text.open("static void s{}(const float *P, float *W, const float *in, float *out, long first)", s);
    text.line("(void)in, (void)out;");
    if (s == 0) {
      write_transfer(text, program_.input, options_.input, segment.batch, true);
    } else {
      text.line("for (long i = 0; i < {}; i += {}) s{}(P, W, in, out, first + i);", segment.batch,
                program_.segments[s - 1].batch, s - 1);
    }
    for (std::size_t i = segment.begin; i < segment.end; ++i) text.line("n{}(P, W, first);", i);
    if (s + 1 == program_.segments.size()) write_transfer(text, program_.output, options_.output, segment.batch, false);
    text.close();
  }

  void write_nest(CText& text, std::size_t i, std::int64_t images) {
    const Planned& of = nests_[i];
    const PlaceOf place = [this, images](int tensor) { return running(tensor, images); };
    text.line("/* {}: {} */", str(of.method), str(program_, *of.flat.nest));
    text.open("static void n{}(const float *restrict P, float *restrict W, long first)", i);
    text.line("(void)P, (void)first;");
    const std::string packed = fmt::format("{} + {}", of.packed_once ? "P" : "W", of.packed);
    if (const auto* block = std::get_if<RegisterBlock>(&of.method)) {
      if (!of.packed_once) write_packing(text, of.flat, *of.contraction, *block, options_.target, place, packed);
      write_contraction(text, of.flat, *of.contraction, *block, options_.target, place, packed);
    } else if (const auto* winograd = std::get_if<WinogradBlock>(&of.method)) {
      write_winograd(text, program_, *of.flat.nest, memory_, *of.product, *winograd, options_.target, place, packed,
                     fmt::format("W + {}", of.scratch));
    } else {
      write_loops(text, of.flat, options_.target, place);
    }
    text.close();
  }

  void write_prepare(CText& text) {
    const PlaceOf place = [this](int tensor) { return preparing(tensor); };
    text.open("void {}_prepare(const float *Q, float *P)", options_.name);
    text.line("(void)Q;");
    text.line("memset(P, 0, sizeof(float) * {});", result_.prepared_size);
    for (const Nest& nest : program_.prepare) {
      text.line("/* {} */", str(program_, nest));
      write_scalar_loops(text, flatten(program_, nest, memory_), place);
    }
    for (std::size_t t = 0; t < program_.tensors.size(); ++t)
      if (place_q_[t] >= 0 && place_p_[t] >= 0)
        text.line("memcpy(P + {}, Q + {}, sizeof(float) * {});", place_p_[t], place_q_[t],
                  elements(program_.tensors[t]));
    for (const Planned& of : nests_) {
      if (!of.packed_once) continue;
      const std::string packed = fmt::format("P + {}", of.packed);
      if (const auto* block = std::get_if<RegisterBlock>(&of.method)) {
        write_packing(text, of.flat, *of.contraction, *block, options_.target, place, packed);
      } else if (const auto* winograd = std::get_if<WinogradBlock>(&of.method)) {
        write_winograd_packing(text, program_, *of.flat.nest, memory_, *of.product, *winograd, options_.target, place,
                               packed);
      }
    }
    text.close();
  }

  /// Images between the interface's order and the workspace.
  void write_transfer(CText& text, int tensor, ImageLayout layout, std::int64_t images, bool into) {
    const auto t = static_cast<std::size_t>(tensor);
    const auto& axes = program_.tensors[t].axes;
    const TensorLayout& here = memory_.layouts[t];
    const std::int64_t c = axes[1].extent;
    const std::int64_t h = axes[2].extent;
    const std::int64_t w = axes[3].extent;
    const bool nchw = layout == ImageLayout::nchw;
    text.loop("n", images);
    text.loop("h", h);
    text.loop("w", w);
    text.open("for (int c = 0; c < {}; ++c)", c);
    const std::string outside = nchw ? fmt::format("(((first + n) * {} + c) * {} + h) * {} + w", c, h, w)
                                     : fmt::format("(((first + n) * {} + h) * {} + w) * {} + c", h, w, c);
    const std::string inside =
        fmt::format("W[{} + (first + n) % {} * {} + c * {} + h * {} + w * {}]", here.origin + memory_.place[t],
                    axes[0].extent, here.strides[0], here.strides[1], here.strides[2], here.strides[3]);
    if (into) {
      text.line("{} = in[{}];", inside, outside);
    } else {
      text.line("out[{}] = {};", outside, inside);
    }
    for (int i = 0; i < 4; ++i) text.close();
  }

  const NestProgram& program_;
  const COptions& options_;
  CProgram result_;
  MemoryPlan memory_;
  std::vector<Planned> nests_;
  std::vector<std::int64_t> place_q_;  ///< per tensor: in the caller's weights; -1
  std::vector<std::int64_t> place_p_;  ///< per tensor: in the prepared weights; -1
  std::int64_t prepared_ = 0;
  std::int64_t workspace_ = 0;
};

}  // namespace

std::string str(const Method& method) {
  if (const auto* block = std::get_if<RegisterBlock>(&method))
    return fmt::format("direct {}x{}x{}", block->rows, block->columns, block->vectors);
  if (const auto* winograd = std::get_if<WinogradBlock>(&method))
    return fmt::format("winograd F{} {}/{}x{}", winograd->m, winograd->tiles, winograd->rows, winograd->vectors);
  return "loops";
}

std::vector<std::vector<Method>> possible_methods(const NestProgram& program, const CTarget& target) {
  const MemoryPlan plan = plan_memory(program, {});
  std::vector<std::vector<Method>> all;
  for (const Nest& nest : program.run) {
    std::vector<Method> methods;
    if (const auto product = find_window_product(program, nest))
      for (int m : {4, 2}) methods.emplace_back(default_winograd(nest, *product, target, m));
    const FlatNest flat = flatten(program, nest, plan);
    if (const auto contraction = find_contraction(flat))
      methods.emplace_back(default_block(flat, *contraction, target));
    methods.emplace_back(UseLoops{});
    all.push_back(std::move(methods));
  }
  return all;
}

CProgram generate_c(const NestProgram& program, const std::vector<Method>& methods, const COptions& options) {
  return Generator(program, methods, options).run();
}

CProgram generate_c(const NestProgram& program, const COptions& options) {
  std::vector<Method> methods;
  for (const auto& possible : possible_methods(program, options.target)) methods.push_back(possible.front());
  return generate_c(program, methods, options);
}

}  // namespace kasimir
