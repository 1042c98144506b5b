// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"
#include "kasimir/codegen/c_team.h"

#include <array>

namespace kasimir {
namespace {

// Lavin and Gray, arXiv 1509.09308: the one-dimensional transforms of F(2,3) and F(4,3).
constexpr std::array<std::array<double, 3>, 4> weights2{{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
constexpr std::array<std::array<double, 3>, 6> weights4{{{1.0 / 4, 0, 0},
                                                         {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                         {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                                         {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                                         {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                                         {0, 0, 1}}};

using Names = std::vector<std::string>;

/// What threads share.
enum class Shared : std::uint8_t { nothing, groups, tiles, channels };

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
        also_(copies_of(program, nest, plan)),
        size_(block.m + 2),
        inputs_(extent_of(nest, of.input)),
        outputs_(extent_of(nest, of.channel)),
        wide_inputs_(round_up(inputs_, target.lanes)),
        wide_outputs_(round_up(outputs_, target.lanes)),
        slab_v_(block.tiles * wide_inputs_ + slab_gap),
        slab_m_(block.tiles * wide_outputs_ + slab_gap) {}

  [[nodiscard]] std::int64_t packed_group() const { return size_ * size_ * inputs_ * wide_outputs_; }

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

  /// What takes the least time on so many threads.
  void share(int threads) {
    const WinogradSeconds one = winograd_seconds(nest_, of_, block_.m);
    double least = 0;
    const auto offer = [&](Shared what, std::int64_t units, double divided, double by_each) {
      const double seconds = divided * unevenness(units, threads) / threads + by_each;
      if (units < 2 || (shared_ != Shared::nothing && seconds >= least)) return;
      shared_ = what;
      least = seconds;
    };
    offer(Shared::groups, extent_of(nest_, of_.group), one.products + one.weights + one.input + one.output, 0);
    offer(Shared::tiles, (tiles() + block_.rows - 1) / block_.rows, one.products + one.input + one.output, one.weights);
    offer(Shared::channels, (wide_outputs_ + width() - 1) / width(), one.products + one.weights + one.output,
          one.input);
  }
  [[nodiscard]] bool shared() const { return shared_ != Shared::nothing; }

  void write(const std::string& packed, const std::string& scratch) {
    text_.line("float *restrict V = {};", scratch);
    text_.line("float *restrict M = {} + {};", scratch, size_ * size_ * slab_v_);
    if (shared_ == Shared::groups) {
      open_shared(text_, "g", 0, extent_of(nest_, of_.group), 1, false);
    } else {
      text_.loop("g", extent_of(nest_, of_.group));
    }
    text_.line("const float *restrict U = {} + (long)g * {};", packed, packed_group());
    open_tiles();
    const auto open_tile = [&] {
      text_.open("for (int t = 0; t < tb; ++t)");
      text_.line("const int tx = (t0 + t) % {}, ty = (t0 + t) / {} % {}, n = (t0 + t) / {};", along(of_.column),
                 along(of_.column), along(of_.row), along(of_.column) * along(of_.row));
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

  /// Tiles along an axis of the map, and all.
  [[nodiscard]] std::int64_t along(int loop) const { return (extent_of(nest_, loop) + block_.m - 1) / block_.m; }
  [[nodiscard]] std::int64_t tiles() const { return extent_of(nest_, of_.batch) * along(of_.row) * along(of_.column); }

  /// The loop over blocks of tiles. A thread's range is one of whole register blocks.
  void open_tiles() {
    std::string end = fmt::format("{}", tiles());
    if (shared_ == Shared::tiles) {
      const std::int64_t units = (tiles() + block_.rows - 1) / block_.rows;
      const auto from = [&](const char* thread) {
        return fmt::format("ksm_share({0}, {0}, {1}, threads) * {2}", units, thread, block_.rows);
      };
      text_.line("const int until = {};", from("thread + 1"));
      text_.line("const int end = until < {0} ? until : {0};", tiles());
      text_.open("for (int t0 = {}; t0 < end; t0 += {})", from("thread"), block_.tiles);
      end = "end";
    } else {
      text_.loop("t0", tiles(), block_.tiles);
    }
    text_.line("const int tb = {0} - t0 < {1} ? {0} - t0 : {1};", end, block_.tiles);
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
    // A whole vector of neighbours may pass the last channel, one of elements that lie apart would leave the memory.
    const std::string left = fmt::format("{0} - c < LANES ? {0} - c : LANES", inputs_);
    for (int j = 0; j < size_; ++j) {
      for (int i = 0; i < size_; ++i) {
        const std::string at =
            fmt::format("x + {} + c * {}", i * stride(a_, of_.row) + j * stride(a_, of_.column), step);
        text_.line("const vf d{}_{} = {};", i, j,
                   step == 1 ? "LD(" + at + ")" : fmt::format("gather_part({}, {}, {})", at, step, left));
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
    const bool shared = shared_ == Shared::channels;
    if (whole > 0) {
      if (shared) {
        open_shared(text_, "o", 0, whole, width(), whole < wide_outputs_);
      } else {
        text_.loop("o", whole, width());
      }
      write_block(block_.vectors);
      text_.close();
    }
    if (const std::int64_t rest = wide_outputs_ - whole; rest > 0) {
      open_last(text_, shared);
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
    const bool shared = shared_ == Shared::channels;
    if (whole > 0) {
      if (shared) {
        // The channels whose products this thread made.
        const std::int64_t units = (wide_outputs_ + width() - 1) / width();
        text_.open(
            "for (int c = {0} * ksm_share({1}, {1}, thread, threads), until = {0} * ksm_share({1}, {1}, thread + 1, "
            "threads); c < until && c < {2}; c += LANES)",
            width(), units, whole);
      } else {
        text_.open("for (int c = 0; c < {}; c += LANES)", whole);
      }
      write_results(0);
      text_.close();
    }
    if (outputs_ > whole) {
      open_last(text_, shared);
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
    const auto load = [&](const Access& read) {
      return load_text(read.element, address(read, names, place_), stride(read, of_.channel), part);
    };
    if (!nest_.epilogue.empty())
      value = write_expression(
          text_, nest_.epilogue, "e",
          [&](std::size_t node) { return load(access(std::get<BoundRead>(nest_.epilogue[node]))); }, value);
    const auto at = [&](const Access& out) { return address(out, names, place_); };
    write_stores(text_, nest_, out_, also_, value, "", part, load, at);
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
  std::vector<FlatCopy> also_;
  int size_;  ///< of a tile along each axis
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::int64_t wide_inputs_;
  std::int64_t wide_outputs_;
  std::int64_t slab_v_;
  std::int64_t slab_m_;
  Shared shared_ = Shared::nothing;
};

}  // namespace

void write_winograd_packing(CText& text, const NestProgram& program, const Nest& nest, const MemoryPlan& plan,
                            const WindowProduct& product, const WinogradBlock& block, const CTarget& target,
                            const PlaceOf& place, const std::string& packed) {
  Writer(text, program, nest, plan, product, block, target, place).write_packing(packed);
}

bool write_winograd(CText& text, const NestProgram& program, const Nest& nest, const MemoryPlan& plan,
                    const WindowProduct& product, const WinogradBlock& block, const CTarget& target,
                    const PlaceOf& place, const std::string& packed, const std::string& scratch, int threads) {
  Writer writer(text, program, nest, plan, product, block, target, place);
  if (threads > 1) writer.share(threads);
  writer.write(packed, scratch);
  return writer.shared();
}

}  // namespace kasimir
