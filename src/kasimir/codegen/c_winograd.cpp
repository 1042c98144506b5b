// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"

#include <algorithm>
#include <array>

namespace kasimir {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }
std::int64_t extent_of(const Nest& nest, int loop) {
  return loop < 0 ? 1 : nest.loops[static_cast<std::size_t>(loop)].extent;
}

/// How each loop of the nest occurs in a read: the axis and the coefficient, or -1 for none or several axes.
int only_axis(const BoundRead& read, int loop, std::int64_t coefficient) {
  int found = -1;
  for (std::size_t a = 0; a < read.at.size(); ++a)
    for (const auto& [term, factor] : read.at[a].terms) {
      if (term != loop) continue;
      if (found >= 0 || (coefficient != 0 && factor != coefficient)) return -1;
      found = static_cast<int>(a);
    }
  return found;
}
bool occurs(const BoundRead& read, int loop) {
  return std::ranges::any_of(read.at, [&](const BoundCoord& coord) {
    return std::ranges::any_of(coord.terms, [&](const auto& term) { return term.first == loop; });
  });
}

/// The pair of loops of an axis of the map: the result's and the window's.
bool window_axis(const BoundTensor& tensor, const Nest& nest, const BoundRead& a, AxisKind kind, int& place,
                 int& window) {
  for (std::size_t axis = 0; axis < a.at.size(); ++axis) {
    if (tensor.axes[axis].kind != kind) continue;
    const BoundCoord& coord = a.at[axis];
    if (coord.wrap || coord.terms.size() != 2 || coord.offset < -widest_ring || coord.offset > 0) return false;
    for (const auto& [loop, factor] : coord.terms) {
      if (factor != 1) return false;
      (loop < nest.free ? place : window) = loop;
    }
    return place >= 0 && window >= 0 && extent_of(nest, window) == 3 &&
           only_axis(a, place, 1) == static_cast<int>(axis) && only_axis(a, window, 1) == static_cast<int>(axis);
  }
  return false;
}

/// What the loops that are no window are, or false where the product is of another kind.
bool other_loops(const Nest& nest, const BoundRead& a, const BoundRead& b, WindowProduct& found) {
  for (int loop = 0; loop < static_cast<int>(nest.loops.size()); ++loop) {
    if (loop == found.row || loop == found.column || loop == found.window_row || loop == found.window_column ||
        extent_of(nest, loop) == 1)
      continue;
    const bool in_a = occurs(a, loop);
    const bool in_b = occurs(b, loop);
    int* kind = nullptr;
    if (loop >= nest.free) {
      if (!in_a || !in_b) return false;
      kind = &found.input;
    } else if (in_a && in_b) {
      kind = &found.group;
    } else if (in_b) {
      kind = &found.channel;
    } else if (in_a) {
      kind = &found.batch;
    }
    if (kind == nullptr || *kind >= 0) return false;
    *kind = loop;
  }
  return found.channel >= 0 && found.input >= 0;
}

// Lavin and Gray, arXiv 1509.09308: the one-dimensional transforms of F(2,3) and F(4,3).
constexpr std::array<std::array<double, 3>, 4> weights2{{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
constexpr std::array<std::array<double, 3>, 6> weights4{{{1.0 / 4, 0, 0},
                                                         {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                         {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                                         {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                                         {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                                         {0, 0, 1}}};

using Names = std::vector<std::string>;

/// One-dimensional transform of the input: `from` and `to` name m + 2 values.
void write_input_transform(CText& text, int m, const Names& from, const Names& to, const std::string& unique) {
  if (m == 2) {
    text.line("const vf {} = {} - {};", to[0], from[0], from[2]);
    text.line("const vf {} = {} + {};", to[1], from[1], from[2]);
    text.line("const vf {} = {} - {};", to[2], from[2], from[1]);
    text.line("const vf {} = {} - {};", to[3], from[1], from[3]);
    return;
  }
  const auto help = [&](const char* name) { return name + unique; };
  text.line("const vf {} = {} - SET1(4.0f) * {};", help("p"), from[4], from[2]);
  text.line("const vf {} = {} - SET1(4.0f) * {};", help("q"), from[3], from[1]);
  text.line("const vf {} = {} - {};", help("r"), from[4], from[2]);
  text.line("const vf {} = SET1(2.0f) * ({} - {});", help("s"), from[3], from[1]);
  text.line("const vf {} = SET1(4.0f) * {} - SET1(5.0f) * {} + {};", to[0], from[0], from[2], from[4]);
  text.line("const vf {} = {} + {};", to[1], help("p"), help("q"));
  text.line("const vf {} = {} - {};", to[2], help("p"), help("q"));
  text.line("const vf {} = {} + {};", to[3], help("r"), help("s"));
  text.line("const vf {} = {} - {};", to[4], help("r"), help("s"));
  text.line("const vf {} = SET1(4.0f) * {} - SET1(5.0f) * {} + {};", to[5], from[1], from[3], from[5]);
}

/// One-dimensional transform of the products to m results.
void write_output_transform(CText& text, int m, const Names& from, const Names& to, const std::string& unique) {
  if (m == 2) {
    text.line("const vf {} = {} + {} + {};", to[0], from[0], from[1], from[2]);
    text.line("const vf {} = {} - {} - {};", to[1], from[1], from[2], from[3]);
    return;
  }
  const auto help = [&](const char* name) { return name + unique; };
  text.line("const vf {} = {} + {};", help("p"), from[1], from[2]);
  text.line("const vf {} = {} - {};", help("q"), from[1], from[2]);
  text.line("const vf {} = {} + {};", help("r"), from[3], from[4]);
  text.line("const vf {} = {} - {};", help("s"), from[3], from[4]);
  text.line("const vf {} = {} + {} + {};", to[0], from[0], help("p"), help("r"));
  text.line("const vf {} = {} + SET1(2.0f) * {};", to[1], help("q"), help("s"));
  text.line("const vf {} = {} + SET1(4.0f) * {};", to[2], help("p"), help("r"));
  text.line("const vf {} = {} + SET1(8.0f) * {} + {};", to[3], help("q"), help("s"), from[5]);
}

Names column(const char* stem, int count, int fixed, bool fixed_first) {
  Names names;
  for (int i = 0; i < count; ++i)
    names.push_back(fixed_first ? fmt::format("{}{}_{}", stem, fixed, i) : fmt::format("{}{}_{}", stem, i, fixed));
  return names;
}

class Writer {
 public:
  Writer(CText& text, const NestProgram& program, const Nest& nest, const MemoryPlan& plan, const WindowProduct& of,
         const WinogradBlock& block, const CTarget& target, const PlaceOf& place)
      : text_(text),
        program_(program),
        nest_(nest),
        plan_(plan),
        of_(of),
        block_(block),
        target_(target),
        place_(place),
        a_(access(std::get<BoundRead>(nest.value[static_cast<std::size_t>(of.a)]))),
        b_(access(std::get<BoundRead>(nest.value[static_cast<std::size_t>(of.b)]))),
        out_(access_of(program, nest, plan, nest.out, nest.out_at)),
        size_(block.m + 2),
        inputs_(extent_of(nest, of.input)),
        outputs_(extent_of(nest, of.channel)),
        wide_inputs_(round_up(inputs_, target.lanes)),
        wide_outputs_(round_up(outputs_, target.lanes)),
        slab_v_(block.tiles * wide_inputs_ + 16),
        slab_m_(block.tiles * wide_outputs_ + 16) {}

  [[nodiscard]] std::int64_t packed_group() const { return size_ * size_ * inputs_ * wide_outputs_; }
  [[nodiscard]] std::int64_t packed() const { return extent_of(nest_, of_.group) * packed_group(); }
  [[nodiscard]] std::int64_t scratch() const { return size_ * size_ * (slab_v_ + slab_m_); }

  void write_packing(const std::string& packed) {
    Names names(nest_.loops.size());
    text_.open("");
    text_.loop("g", extent_of(nest_, of_.group));
    text_.loop("block", outputs_, width());
    text_.line("const int lanes = {0} - block < {1} ? {0} - block : {1};", wide_outputs_, width());
    text_.loop("c", inputs_);
    text_.open("for (int lane = 0; lane < lanes; ++lane)");
    text_.line("double w[9] = {{0}};");
    text_.open("if (block + lane < {})", outputs_);
    set(names, of_.group, "g");
    set(names, of_.channel, "block + lane");
    set(names, of_.input, "c");
    for (int u = 0; u < 3; ++u)
      for (int v = 0; v < 3; ++v) {
        set(names, of_.window_row, fmt::format("{}", u));
        set(names, of_.window_column, fmt::format("{}", v));
        text_.line("w[{}] = *({});", 3 * u + v, address(b_, names, place_));
      }
    text_.close();
    text_.line("float *to = {} + (long)g * {} + (long)block * {} + (long)c * lanes + lane;", packed, packed_group(),
               inputs_);
    const auto row = [&](int i) {
      return block_.m == 2 ? weights2[static_cast<std::size_t>(i)] : weights4[static_cast<std::size_t>(i)];
    };
    for (int i = 0; i < size_; ++i) {
      for (int v = 0; v < 3; ++v)
        text_.line("const double r{}_{} = {:.17g} * w[{}] + {:.17g} * w[{}] + {:.17g} * w[{}];", i, v, row(i)[0], v,
                   row(i)[1], 3 + v, row(i)[2], 6 + v);
      for (int j = 0; j < size_; ++j)
        text_.line("to[{}] = (float)({:.17g} * ({:.17g} * r{}_0 + {:.17g} * r{}_1 + {:.17g} * r{}_2));",
                   (i * size_ + j) * inputs_ * wide_outputs_, nest_.factor, row(j)[0], i, row(j)[1], i, row(j)[2], i);
    }
    for (int i = 0; i < 5; ++i) text_.close();
  }

  void write(const std::string& packed, const std::string& scratch) {
    const std::int64_t tiles_h = (extent_of(nest_, of_.row) + block_.m - 1) / block_.m;
    const std::int64_t tiles_w = (extent_of(nest_, of_.column) + block_.m - 1) / block_.m;
    const std::int64_t tiles = extent_of(nest_, of_.batch) * tiles_h * tiles_w;
    text_.line("float *restrict V = {};", scratch);
    text_.line("float *restrict M = {} + {};", scratch, size_ * size_ * slab_v_);
    text_.loop("g", extent_of(nest_, of_.group));
    text_.line("const float *restrict U = {} + (long)g * {};", packed, packed_group());
    text_.loop("t0", tiles, block_.tiles);
    text_.line("const int tb = {0} - t0 < {1} ? {0} - t0 : {1};", tiles, block_.tiles);
    const auto open_tile = [&] {
      text_.open("for (int t = 0; t < tb; ++t)");
      text_.line("const int tx = (t0 + t) % {}, ty = (t0 + t) / {} % {}, n = (t0 + t) / {};", tiles_w, tiles_w, tiles_h,
                 tiles_w * tiles_h);
      text_.line("(void)tx, (void)ty, (void)n;");
    };
    open_tile();
    write_input();
    text_.close();
    write_products();
    open_tile();
    write_output();
    text_.close();
    text_.close();
    text_.close();
  }

 private:
  Access access(const BoundRead& read) const { return access_of(program_, nest_, plan_, read.tensor, read.at); }
  [[nodiscard]] std::int64_t width() const { return static_cast<std::int64_t>(block_.vectors) * target_.lanes; }
  static void set(Names& names, int loop, std::string value) {
    if (loop >= 0) names[static_cast<std::size_t>(loop)] = std::move(value);
  }
  [[nodiscard]] std::int64_t stride(const Access& access, int loop) const {
    return loop < 0 ? 0 : access.strides[static_cast<std::size_t>(loop)];
  }

  void write_input() {
    Names names(nest_.loops.size());
    set(names, of_.batch, "n");
    set(names, of_.group, "g");
    set(names, of_.row, fmt::format("ty * {}", block_.m));
    set(names, of_.column, fmt::format("tx * {}", block_.m));
    text_.line("const float *restrict x = {};", address(a_, names, place_));
    text_.line("float *restrict v = V + t * {};", wide_inputs_);
    text_.open("for (int c = 0; c < {}; c += LANES)", inputs_);
    const std::int64_t step = stride(a_, of_.input);
    for (int j = 0; j < size_; ++j) {
      for (int i = 0; i < size_; ++i) {
        const std::string at =
            fmt::format("x + {} + c * {}", i * stride(a_, of_.row) + j * stride(a_, of_.column), step);
        text_.line("const vf d{}_{} = {};", i, j,
                   step == 1 ? "LD(" + at + ")" : fmt::format("gather({}, {})", at, step));
      }
      write_input_transform(text_, block_.m, column("d", size_, j, false), column("b", size_, j, false),
                            fmt::format("_c{}", j));
    }
    for (int i = 0; i < size_; ++i) {
      write_input_transform(text_, block_.m, column("b", size_, i, true), column("f", size_, i, true),
                            fmt::format("_r{}", i));
      for (int j = 0; j < size_; ++j) text_.line("ST(v + {} + c, f{}_{});", (i * size_ + j) * slab_v_, i, j);
    }
    text_.close();
  }

  void write_products() {
    text_.loop("e", size_ * size_);
    text_.line("const float *restrict ve = V + e * {};", slab_v_);
    text_.line("float *restrict me = M + e * {};", slab_m_);
    text_.line("const float *restrict ue = U + (long)e * {};", inputs_ * wide_outputs_);
    const std::int64_t whole = wide_outputs_ / width() * width();
    if (whole > 0) {
      text_.loop("o", whole, width());
      write_block(block_.vectors);
      text_.close();
    }
    if (const std::int64_t rest = wide_outputs_ - whole; rest > 0) {
      text_.open("");
      text_.line("const int o = {};", whole);
      write_block(static_cast<int>(rest / target_.lanes));
      text_.close();
    }
    text_.close();
  }

  /// Rows beyond the block's tiles hold what was there before: their products are never looked at.
  void write_block(int vectors) {
    text_.open("for (int t = 0; t < tb; t += {})", block_.rows);
    text_.line("const float *x = ve + t * {};", wide_inputs_);
    text_.line("const float *w = ue + (long)o * {};", inputs_);
    for (int p = 0; p < block_.rows; ++p)
      for (int v = 0; v < vectors; ++v) text_.line("vf a{}_{} = SET1(0.0f);", p, v);
    text_.open("for (int k = 0; k < {}; ++k, w += {})", inputs_, vectors * target_.lanes);
    for (int v = 0; v < vectors; ++v) text_.line("const vf w{} = LD(w + {});", v, v * target_.lanes);
    for (int p = 0; p < block_.rows; ++p) {
      text_.open("");
      text_.line("const vf b = SET1(x[{} + k]);", p * wide_inputs_);
      for (int v = 0; v < vectors; ++v) text_.line("a{0}_{1} += b * w{1};", p, v);
      text_.close();
    }
    text_.close();
    for (int p = 0; p < block_.rows; ++p)
      for (int v = 0; v < vectors; ++v)
        text_.line("ST(me + (t + {}) * {} + o + {}, a{}_{});", p, wide_outputs_, v * target_.lanes, p, v);
    text_.close();
  }

  void write_output() {
    const std::int64_t whole = outputs_ / target_.lanes * target_.lanes;
    if (whole > 0) {
      text_.open("for (int c = 0; c < {}; c += LANES)", whole);
      write_results(0);
      text_.close();
    }
    if (outputs_ > whole) {
      text_.open("");
      text_.line("const int c = {};", whole);
      write_results(outputs_ - whole);
      text_.close();
    }
  }

  void write_results(std::int64_t part) {
    text_.line("const float *m = M + t * {} + c;", wide_outputs_);
    for (int j = 0; j < size_; ++j) {
      for (int i = 0; i < size_; ++i) text_.line("const vf d{}_{} = LD(m + {});", i, j, (i * size_ + j) * slab_m_);
      write_output_transform(text_, block_.m, column("d", size_, j, false), column("b", block_.m, j, false),
                             fmt::format("_c{}", j));
    }
    for (int i = 0; i < block_.m; ++i) {
      open_inside("ty", i, extent_of(nest_, of_.row));
      write_output_transform(text_, block_.m, column("b", size_, i, true), column("y", block_.m, i, true),
                             fmt::format("_r{}", i));
      for (int j = 0; j < block_.m; ++j) {
        open_inside("tx", j, extent_of(nest_, of_.column));
        write_result(i, j, part);
        text_.close();
      }
      text_.close();
    }
  }
  /// A block that runs where result `at` of the tile is inside the map.
  void open_inside(const char* tile, int at, std::int64_t extent) {
    if (extent % block_.m == 0) {
      text_.open("");
    } else {
      text_.open("if ({} * {} + {} < {})", tile, block_.m, at, extent);
    }
  }

  void write_result(int i, int j, std::int64_t part) {
    Names names(nest_.loops.size());
    set(names, of_.batch, "n");
    set(names, of_.group, "g");
    set(names, of_.channel, "c");
    set(names, of_.row, fmt::format("ty * {} + {}", block_.m, i));
    set(names, of_.column, fmt::format("tx * {} + {}", block_.m, j));
    std::string value = fmt::format("y{}_{}", i, j);
    if (!nest_.epilogue.empty())
      value = write_expression(
          text_, nest_.epilogue, "e",
          [&](std::size_t node) {
            const Access read = access(std::get<BoundRead>(nest_.epilogue[node]));
            const std::int64_t step = stride(read, of_.channel);
            const std::string at = address(read, names, place_);
            return step == 0   ? "SET1(*(" + at + "))"
                   : step == 1 ? "LD(" + at + ")"
                   : part > 0  ? fmt::format("gather_part({}, {}, {})", at, step, part)
                               : fmt::format("gather({}, {})", at, step);
          },
          value);
    const std::string at = address(out_, names, place_);
    if (part > 0) {
      text_.line("st_part({}, {}, {});", at, value, part);
    } else {
      text_.line("ST({}, {});", at, value);
    }
  }

  CText& text_;
  const NestProgram& program_;
  const Nest& nest_;
  const MemoryPlan& plan_;
  const WindowProduct& of_;
  const WinogradBlock& block_;
  const CTarget& target_;
  const PlaceOf& place_;
  Access a_;
  Access b_;
  Access out_;
  int size_;  ///< of a tile along each axis
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::int64_t wide_inputs_;
  std::int64_t wide_outputs_;
  // 16 floats more than needed, so that slabs do not fall on the same cache sets.
  std::int64_t slab_v_;
  std::int64_t slab_m_;
};

std::int64_t slabs(const Nest& nest, const WindowProduct& product, const WinogradBlock& block, const CTarget& target) {
  const std::int64_t wide =
      round_up(extent_of(nest, product.input), target.lanes) + round_up(extent_of(nest, product.channel), target.lanes);
  return (block.m + 2) * (block.m + 2) * (block.tiles * wide + 32);
}

}  // namespace

std::optional<WindowProduct> find_window_product(const NestProgram& program, const Nest& nest) {
  if (nest.reduce != Reduce::sum || nest.value.size() != 3) return std::nullopt;
  const auto* product = std::get_if<Apply>(&nest.value[2]);
  const auto* first = std::get_if<BoundRead>(&nest.value[0]);
  const auto* second = std::get_if<BoundRead>(&nest.value[1]);
  if (product == nullptr || product->fn != Fn::mul || first == nullptr || second == nullptr) return std::nullopt;
  const bool first_known = program.known[static_cast<std::size_t>(first->tensor)];
  const bool second_known = program.known[static_cast<std::size_t>(second->tensor)];
  if (first_known == second_known) return std::nullopt;
  WindowProduct found;
  found.a = first_known ? 1 : 0;
  found.b = 1 - found.a;
  const BoundRead& a = first_known ? *second : *first;
  const BoundRead& b = first_known ? *first : *second;
  const BoundTensor& map = program.tensors[static_cast<std::size_t>(a.tensor)];
  if (!window_axis(map, nest, a, AxisKind::height, found.row, found.window_row) ||
      !window_axis(map, nest, a, AxisKind::width, found.column, found.window_column))
    return std::nullopt;
  if (occurs(b, found.row) || occurs(b, found.column) || !other_loops(nest, a, b, found)) return std::nullopt;
  const auto no_wrap = [](const BoundRead& read) {
    return std::ranges::none_of(read.at, [](const BoundCoord& coord) { return coord.wrap.has_value(); });
  };
  if (!no_wrap(a) || !no_wrap(b)) return std::nullopt;
  // What the tiles write and the epilogue reads are whole vectors of channels.
  const BoundTensor& out = program.tensors[static_cast<std::size_t>(nest.out)];
  for (std::size_t axis = 0; axis < out.axes.size(); ++axis)
    for (const auto& [loop, factor] : nest.out_at[axis].terms)
      if (loop == found.channel && (factor != 1 || out.axes[axis].kind != AxisKind::channel)) return std::nullopt;
  // Coordinates of the epilogue stay inside their tensors: they are plain ones.
  for (const NestNode& node : nest.epilogue)
    if (const auto* read = std::get_if<BoundRead>(&node))
      for (std::size_t axis = 0; axis < read->at.size(); ++axis) {
        const auto range = range_of(nest, read->at[axis]);
        const std::int64_t extent = program.tensors[static_cast<std::size_t>(read->tensor)].axes[axis].extent;
        if (read->at[axis].wrap || range.first < 0 || range.second >= extent) return std::nullopt;
      }
  return found;
}

WinogradBlock default_winograd(const Nest& nest, const WindowProduct& product, const CTarget& target, int m) {
  WinogradBlock block;
  block.m = m;
  const std::int64_t tiles = extent_of(nest, product.batch) * ((extent_of(nest, product.row) + m - 1) / m) *
                             ((extent_of(nest, product.column) + m - 1) / m);
  const std::int64_t wide = round_up(extent_of(nest, product.channel), target.lanes) / target.lanes;
  const int sums = target.registers >= 32 ? 16 : 8;
  block.vectors = tiles <= 4 && wide >= 4 ? 4 : wide >= 2 ? 2 : 1;
  block.rows = static_cast<int>(std::min<std::int64_t>(sums / block.vectors, std::max<std::int64_t>(1, tiles)));
  // Sixteen tiles keep what is transformed in the second-level cache at any width (measured, ../../../docs/native.md).
  block.tiles = static_cast<int>(std::min<std::int64_t>(16, round_up(tiles, block.rows)));
  block.tiles = static_cast<int>(round_up(block.tiles, block.rows));
  return block;
}

std::vector<Overhang> winograd_overhang(const NestProgram& program, const Nest& nest, const WindowProduct& product,
                                        int m) {
  const auto& read = std::get<BoundRead>(nest.value[static_cast<std::size_t>(product.a)]);
  const BoundTensor& map = program.tensors[static_cast<std::size_t>(read.tensor)];
  std::vector<Overhang> more;
  for (std::size_t axis = 0; axis < map.axes.size(); ++axis) {
    const AxisKind kind = map.axes[axis].kind;
    if (!is_spatial(kind)) continue;
    const std::int64_t places = extent_of(nest, kind == AxisKind::height ? product.row : product.column);
    const std::int64_t last = (places + m - 1) / m * m + 1 + read.at[axis].offset;
    more.push_back({read.tensor, axis, std::max<std::int64_t>(0, -read.at[axis].offset),
                    std::max<std::int64_t>(0, last - map.axes[axis].extent + 1)});
  }
  return more;
}

std::int64_t winograd_packed_size(const Nest& nest, const WindowProduct& product, const WinogradBlock& block,
                                  const CTarget& target) {
  return extent_of(nest, product.group) * (block.m + 2) * (block.m + 2) * extent_of(nest, product.input) *
         round_up(extent_of(nest, product.channel), target.lanes);
}

std::int64_t winograd_scratch_size(const Nest& nest, const WindowProduct& product, const WinogradBlock& block,
                                   const CTarget& target) {
  return slabs(nest, product, block, target);
}

void write_winograd_packing(CText& text, const NestProgram& program, const Nest& nest, const MemoryPlan& plan,
                            const WindowProduct& product, const WinogradBlock& block, const CTarget& target,
                            const PlaceOf& place, const std::string& packed) {
  Writer(text, program, nest, plan, product, block, target, place).write_packing(packed);
}

void write_winograd(CText& text, const NestProgram& program, const Nest& nest, const MemoryPlan& plan,
                    const WindowProduct& product, const WinogradBlock& block, const CTarget& target,
                    const PlaceOf& place, const std::string& packed, const std::string& scratch) {
  Writer(text, program, nest, plan, product, block, target, place).write(packed, scratch);
}

}  // namespace kasimir
