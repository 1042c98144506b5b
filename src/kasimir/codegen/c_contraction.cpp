// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"
#include "kasimir/codegen/c_team.h"

#include <algorithm>
#include <limits>

namespace kasimir {
namespace {

std::int64_t stride_of(const Access& access, int loop) { return access.strides[static_cast<std::size_t>(loop)]; }
std::int64_t extent_of(const FlatNest& nest, int loop) {
  return loop < 0 ? 1 : nest.loops[static_cast<std::size_t>(loop)].extent;
}

/// No read needs a test.
bool unguarded(const FlatNest& flat) {
  for (const auto* accesses : {&flat.value, &flat.epilogue})
    for (const auto& access : *accesses)
      if (access && !access->guarded.empty()) return false;
  return true;
}

std::optional<ByteProduct> byte_product(const FlatNest& nest, const Contraction& contraction) {
  const Access& a = *nest.value[static_cast<std::size_t>(contraction.a)];
  const Element& weights = nest.value[static_cast<std::size_t>(contraction.b)]->element;
  if (!a.element.bytes || packed_bits(weights) == 0) return std::nullopt;
  ByteProduct found;
  for (auto loop = contraction.k.rbegin(); loop != contraction.k.rend(); ++loop) {
    if (stride_of(a, *loop) != found.run_extent) break;
    found.run_extent *= extent_of(nest, *loop);
    ++found.run;
  }
  const std::int64_t all = contraction.k_extent(nest);
  const std::int64_t widest = a.element.highest + a.element.zero;
  const std::int64_t heaviest = std::max(-weights.lowest, weights.highest);
  // Sums of two unsigned factors with a start of the same size.
  if (found.run == 0 || 2 * all * widest * heaviest > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  found.fours = all / found.run_extent * ((found.run_extent + 3) / 4);
  found.corrected = a.element.zero != 0;
  found.small = 2 * widest * heaviest < 1 << 15;
  return found;
}

/// Whatever the result and its epilogue read or write continues `m` along the loop, which is in `b` alone.
bool continues(const FlatNest& nest, const Contraction& of, int loop) {
  const std::int64_t extent = of.channels(nest);
  const auto as_one = [&](const Access& access) { return stride_of(access, loop) == extent * stride_of(access, of.m); };
  const auto all = [&](const std::vector<std::optional<Access>>& accesses) {
    return std::ranges::all_of(accesses, [&](const auto& access) { return !access || as_one(*access); });
  };
  return stride_of(*nest.value[static_cast<std::size_t>(of.a)], loop) == 0 && as_one(nest.out) && all(nest.epilogue) &&
         std::ranges::all_of(nest.also, [&](const FlatCopy& copy) { return as_one(copy.out) && all(copy.value); });
}

/// Few channels leave lanes idle: loops that continue them join them.
void widen(const FlatNest& nest, Contraction& found) {
  for (bool more = true; more;) {
    const auto next = std::ranges::find_if(found.outer, [&](int loop) { return continues(nest, found, loop); });
    more = next != found.outer.end();
    if (!more) continue;
    found.wide.push_back(*next);
    found.outer.erase(next);
  }
}

std::optional<Contraction> with_operands(const FlatNest& nest, int a, int b) {
  Contraction found;
  found.a = a;
  found.b = b;
  const Access& left = *nest.value[static_cast<std::size_t>(a)];
  const Access& right = *nest.value[static_cast<std::size_t>(b)];
  for (int loop = 0; loop < static_cast<int>(nest.loops.size()); ++loop) {
    const bool in_a = stride_of(left, loop) != 0;
    const bool in_b = stride_of(right, loop) != 0;
    if (loop >= nest.free) {
      if (!in_a || !in_b) return std::nullopt;
      found.k.push_back(loop);
    } else if (in_b && !in_a && stride_of(nest.out, loop) == 1) {
      found.m = loop;
    } else if (in_b) {
      found.outer.push_back(loop);
    } else {
      found.pixels.push_back(loop);
    }
  }
  if (found.m < 0 || found.k_extent(nest) < 4) return std::nullopt;
  // Every packed element would be read once: packing costs more than it saves.
  if (found.pixels.empty() && !found.outer.empty()) return std::nullopt;
  const auto by = [](const Access& access) {
    return [&access](int x, int y) { return stride_of(access, x) > stride_of(access, y); };
  };
  std::ranges::stable_sort(found.outer, by(nest.out));
  std::ranges::stable_sort(found.pixels, by(nest.out));
  std::ranges::stable_sort(found.k, by(left));
  found.bytes = byte_product(nest, found);
  if (!found.bytes) widen(nest, found);
  return found;
}

/// Packed channels come in whole vectors, but the last vector of floats may be half a one.
std::int64_t channel_unit(const Contraction& contraction, const CTarget& target) {
  return contraction.bytes || target.lanes < 16 ? target.lanes : target.lanes / 2;
}

/// The vectors of channels of a register block.
struct Width {
  int vectors = 1;
  std::int64_t part = 0;  ///< results of the last one; 0: all its lanes
  bool half = false;      ///< the last one is half a vector
};

class Writer {
 public:
  Writer(CText& text, const FlatNest& nest, const Contraction& of, const RegisterBlock& block, const CTarget& target,
         const PlaceOf& place, int threads)
      : text_(text),
        nest_(nest),
        of_(of),
        block_(block),
        target_(target),
        place_(place),
        names_(nest.loops.size()),
        a_(*nest.value[static_cast<std::size_t>(of.a)]),
        bytes_(of.bytes),
        steps_(bytes_ ? bytes_->fours : of.k_extent(nest)) {
    if (!of.pixels.empty()) columns_ = of.pixels.back();
    if (of.pixels.size() > 1 && block.rows > 1) rows_ = of.pixels[of.pixels.size() - 2];
    if (threads > 1) shared_ = loop_to_share(threads);
  }

  [[nodiscard]] bool shared() const { return shared_ >= 0; }

  void write(const std::string& packed) {
    std::string weights = packed;
    std::string starts = packed;
    std::int64_t channels = packed_channels(nest_, of_, target_);
    for (auto loop = of_.outer.rbegin(); loop != of_.outer.rend(); ++loop) {
      weights += fmt::format(" + (long)i{} * {}", *loop, steps_ * channels);
      starts += fmt::format(" + (long)i{} * {}", *loop, channels);
      channels *= extent_of(nest_, *loop);
    }
    for (int loop : of_.outer) open(loop);
    if (bytes_ && bytes_->corrected) text_.line("const {}starts = {} + {};", pointer(), starts, steps_ * channels);
    write_channels(weights);
    for (std::size_t i = 0; i < of_.outer.size(); ++i) text_.close();
  }

 private:
  [[nodiscard]] const char* pointer() const { return bytes_ ? "int *" : "float *restrict "; }
  [[nodiscard]] std::int64_t width() const { return static_cast<std::int64_t>(block_.vectors) * target_.lanes; }

  /// The loop whose steps threads share, or -1 where none has two: the one that keeps them equally busy, and of equals
  /// the one along which they read less in common.
  [[nodiscard]] int loop_to_share(int threads) const {
    double pixels = 1;
    for (int loop : of_.pixels) pixels *= static_cast<double>(extent_of(nest_, loop));
    const auto channels = static_cast<double>(of_.channels(nest_));
    int best = -1;
    double least = 0;
    const auto offer = [&](int loop, std::int64_t size, double in_common) {
      const std::int64_t all = loop == of_.m ? of_.channels(nest_) : extent_of(nest_, loop);
      const std::int64_t units = (all + size - 1) / size;
      const double cost = unevenness(units, threads) + 0.3 * in_common / (pixels + channels);
      if (units < 2 || (best >= 0 && cost >= least)) return;
      best = loop;
      least = cost;
    };
    for (int loop : of_.outer) offer(loop, 1, 0);
    for (int loop : of_.pixels)
      offer(loop, loop == rows_ ? block_.rows : loop == columns_ ? block_.columns : 1, channels);
    offer(of_.m, width(), pixels);
    return best;
  }

  void open(int loop) {
    const std::string name = fmt::format("i{}", loop);
    names_[static_cast<std::size_t>(loop)] = name;
    if (loop == shared_) {
      open_shared(text_, name, 0, extent_of(nest_, loop), 1, false);
    } else {
      text_.loop(name, extent_of(nest_, loop));
    }
  }

  /// All pixels under one block of weights: the weights are read once.
  void write_channels(const std::string& weights) {
    const bool shared = shared_ == of_.m;
    const std::int64_t m = of_.channels(nest_);
    const std::int64_t k = steps_;
    const std::string name = fmt::format("i{}", of_.m);
    names_[static_cast<std::size_t>(of_.m)] = name;
    const std::int64_t whole = m / width() * width();
    text_.line("const {}{} = {};", pointer(), shared ? "wm" : "wp", weights);
    const auto weights_here = [&] {
      if (shared) text_.line("const {}wp = wm + (long){} * {};", pointer(), name, k);
    };
    if (whole > 0) {
      if (shared) {
        open_shared(text_, name, 0, whole, width(), m > whole);
      } else {
        text_.open("for (int {0} = 0; {0} < {1}; {0} += {2}, wp += {3})", name, whole, width(), k * width());
      }
      weights_here();
      write_pixels({block_.vectors, 0, false});
      text_.close();
    }
    if (const std::int64_t rest = m - whole; rest > 0) {
      open_last(text_, shared);
      text_.line("const int {} = {};", name, whole);
      weights_here();
      const std::int64_t part = rest % target_.lanes;
      write_pixels({static_cast<int>((rest + target_.lanes - 1) / target_.lanes), part,
                    part > 0 && part <= channel_unit(of_, target_) && channel_unit(of_, target_) < target_.lanes});
      text_.close();
    }
  }

  void write_pixels(const Width& width) {
    int opened = 0;
    for (int loop : of_.pixels) {
      if (loop == rows_ || loop == columns_) continue;
      open(loop);
      ++opened;
    }
    write_rows(width);
    for (int i = 0; i < opened; ++i) text_.close();
  }
  /// Whole blocks in a loop, then what is left as a smaller block.
  template <typename Body>
  void blocks(int loop, int size, Body body) {
    if (loop < 0) return body(1);
    const std::string name = fmt::format("i{}", loop);
    names_[static_cast<std::size_t>(loop)] = name;
    const std::int64_t all = extent_of(nest_, loop);
    const std::int64_t whole = all / size * size;
    if (whole > 0) {
      if (loop == shared_) {
        open_shared(text_, name, 0, whole, size, whole < all);
      } else {
        text_.loop(name, whole, size);
      }
      body(size);
      text_.close();
    }
    if (whole == all) return;
    open_last(text_, loop == shared_);
    text_.line("const int {} = {};", name, whole);
    body(static_cast<int>(all - whole));
    text_.close();
  }
  void write_rows(const Width& width) {
    blocks(rows_, block_.rows, [&](int rows) {
      blocks(columns_, block_.columns, [&](int columns) { write_block(rows, columns, width); });
    });
  }

  void write_block(int rows, int columns, const Width& width) {
    const int pixels = rows * columns;
    const auto offset = [&](const Access& access, int pixel) {
      const std::int64_t row = rows_ < 0 ? 0 : stride_of(access, rows_) * (pixel / columns);
      const std::int64_t column = columns_ < 0 ? 0 : stride_of(access, columns_) * (pixel % columns);
      return row + column;
    };
    if (bytes_) {
      write_byte_sums(pixels, width.vectors, offset);
    } else {
      write_sums(pixels, width, offset);
    }
    for (int p = 0; p < pixels; ++p) {
      text_.open("");
      for (int v = 0; v < width.vectors; ++v) finish(p, v, width, offset);
      text_.close();
    }
  }

  /// Opens the first `count` reduced loops; returns where they are in `a`.
  std::string open_reduced(std::size_t count) {
    std::string at;
    for (std::size_t i = 0; i < count; ++i) {
      const int loop = of_.k[i];
      open(loop);
      at += fmt::format("{}i{} * {}", at.empty() ? "" : " + ", loop, stride_of(a_, loop));
    }
    return at;
  }
  void close_reduced(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) text_.close();
    // A loop's name is free again outside of the block.
    for (int loop : of_.k) names_[static_cast<std::size_t>(loop)].clear();
  }

  template <typename Offset>
  void write_sums(int pixels, const Width& width, const Offset& offset) {
    const int whole = width.vectors - (width.half ? 1 : 0);
    for (int p = 0; p < pixels; ++p) {
      for (int v = 0; v < whole; ++v) text_.line("vf a{}_{} = SET1(0.0f);", p, v);
      if (width.half) text_.line("hf h{} = SETH(0.0f);", p);
    }
    text_.line("const {} *x = {};", a_.element.bytes ? "unsigned char" : "float", address(a_, names_, place_));
    text_.line("const float *w = wp;");
    const std::string at = open_reduced(of_.k.size());
    for (int v = 0; v < whole; ++v) text_.line("const vf w{} = LD(w + {});", v, v * target_.lanes);
    if (width.half) text_.line("const hf wh = LDH(w + {});", whole * target_.lanes);
    for (int p = 0; p < pixels; ++p) {
      text_.open("");
      text_.line("const float b = {};", scalar_text(a_.element, fmt::format("x + {} + {}", at, offset(a_, p))));
      for (int v = 0; v < whole; ++v) text_.line("a{0}_{1} += SET1(b) * w{1};", p, v);
      if (width.half) text_.line("h{} += SETH(b) * wh;", p);
      text_.close();
    }
    text_.line("w += {};", whole * target_.lanes + (width.half ? target_.lanes / 2 : 0));
    close_reduced(of_.k.size());
  }

  template <typename Offset>
  void write_byte_sums(int pixels, int vectors, const Offset& offset) {
    for (int p = 0; p < pixels; ++p)
      for (int v = 0; v < vectors; ++v)
        text_.line("vi s{}_{} = {};", p, v,
                   bytes_->corrected ? fmt::format("LDI(starts + i{} + {})", of_.m, v * target_.lanes) : "{0}");
    text_.line("const unsigned char *x = {};", address(a_, names_, place_));
    text_.line("const int *w = wp;");
    const std::size_t apart = of_.k.size() - bytes_->run;
    std::string at = open_reduced(apart);
    const std::int64_t fours = (bytes_->run_extent + 3) / 4;
    if (fours > 1) {
      text_.loop("k", fours);
      at += fmt::format("{}k * 4", at.empty() ? "" : " + ");
    }
    for (int v = 0; v < vectors; ++v) text_.line("const vi w{} = LDI(w + {});", v, v * target_.lanes);
    for (int p = 0; p < pixels; ++p) {
      text_.open("");
      text_.line("const vi b = set4(x + {} + {});", at.empty() ? "0" : at, offset(a_, p));
      for (int v = 0; v < vectors; ++v)
        text_.line("s{0}_{1} = {2}(s{0}_{1}, b, w{1});", p, v, bytes_->small ? "sum4_small" : "sum4");
      text_.close();
    }
    text_.line("w += {};", vectors * target_.lanes);
    if (fours > 1) text_.close();
    close_reduced(apart);
  }

  template <typename Offset>
  void finish(int pixel, int vector, const Width& width, const Offset& offset) {
    const Nest& nest = *nest_.nest;
    const bool last = vector == width.vectors - 1;
    const std::int64_t part = last ? width.part : 0;
    std::string value = fmt::format("a{}_{}", pixel, vector);
    if (last && width.half) text_.line("const vf {} = widened(h{});", value, pixel);
    if (bytes_) text_.line("const vf {} = __builtin_convertvector(s{}_{}, vf);", value, pixel, vector);
    if (nest.factor != 1.0) value = fmt::format("({} * SET1({}))", value, c_float(nest.factor));
    const std::int64_t lanes = static_cast<std::int64_t>(vector) * target_.lanes;
    const auto load = [&](const Access& access) {
      const std::int64_t stride = stride_of(access, of_.m);
      const std::string at = address(access, names_, place_, offset(access, pixel) + stride * lanes);
      return load_text(access.element, at, stride, part);
    };
    if (!nest.epilogue.empty())
      value = write_expression(
          text_, nest.epilogue, fmt::format("e{}_", vector),
          [&](std::size_t node) { return load(*nest_.epilogue[node]); }, value);
    const auto at = [&](const Access& out) { return address(out, names_, place_, offset(out, pixel) + lanes); };
    write_stores(text_, nest, nest_.out, nest_.also, value, std::to_string(vector), part, load, at);
  }

  CText& text_;
  const FlatNest& nest_;
  const Contraction& of_;
  const RegisterBlock& block_;
  const CTarget& target_;
  const PlaceOf& place_;
  std::vector<std::string> names_;
  const Access& a_;
  const std::optional<ByteProduct>& bytes_;
  std::int64_t steps_;  ///< values of the packed operand for a channel
  int rows_ = -1;
  int columns_ = -1;
  int shared_ = -1;  ///< among threads
};

}  // namespace

std::int64_t Contraction::k_extent(const FlatNest& nest) const {
  std::int64_t product = 1;
  for (int loop : k) product *= nest.loops[static_cast<std::size_t>(loop)].extent;
  return product;
}

std::int64_t Contraction::channels(const FlatNest& nest) const {
  std::int64_t product = extent_of(nest, m);
  for (int loop : wide) product *= extent_of(nest, loop);
  return product;
}

std::int64_t packed_channels(const FlatNest& nest, const Contraction& contraction, const CTarget& target) {
  return round_up(contraction.channels(nest), channel_unit(contraction, target));
}

std::optional<Contraction> find_contraction(const FlatNest& nest) {
  if (!sums_products(*nest.nest) || !unguarded(nest)) return std::nullopt;
  if (auto found = with_operands(nest, 0, 1)) return found;
  return with_operands(nest, 1, 0);
}

int packed_bits(const Element& element) {
  if (!element.rounded || element.bytes || element.lowest < -128 || element.highest > 127) return 0;
  int bits = 2;
  while (element.lowest < -(1 << (bits - 1)) || element.highest >= 1 << (bits - 1)) ++bits;
  return bits;
}

RegisterBlock default_block(const FlatNest& nest, const Contraction& contraction, const CTarget& target) {
  // Sixteen sums on AVX-512 keep the multipliers busy; with half the registers, eight and some to spare. Two vectors of
  // channels were best or close to it in almost every layer that was tuned, then one, then four.
  const int sums = target.registers >= 32 ? 16 : 8;
  const std::int64_t wide = (contraction.channels(nest) + target.lanes - 1) / target.lanes;
  const auto pixels = [&](std::size_t from_last) {
    const auto& loops = contraction.pixels;
    return loops.size() < from_last ? 1 : extent_of(nest, loops[loops.size() - from_last]);
  };
  const std::int64_t columns = pixels(1);
  const std::int64_t rows = pixels(2);
  RegisterBlock best;
  double least = 0;
  for (int vectors : {2, 1, 4}) {
    if (vectors > wide) continue;
    const double preference = vectors == 2 ? 0 : vectors == 1 ? 0.05 : 0.1;
    for (int c = 1; c <= std::min<std::int64_t>(columns, sums / vectors); ++c)
      for (int r = 1; r <= std::min<std::int64_t>(rows, 4) && c * r * vectors <= sums; ++r) {
        const double idle = static_cast<double>(sums) / (c * r * vectors);
        const double left_over =
            static_cast<double>(round_up(columns, c) * round_up(rows, r)) / static_cast<double>(columns * rows);
        const double unused = static_cast<double>(round_up(wide, vectors)) / static_cast<double>(wide);
        const double cost = idle * (0.8 + 0.2 * left_over) * (0.8 + 0.2 * unused) + preference + 0.01 * r;
        if (least == 0 || cost < least) {
          least = cost;
          best = {r, c, vectors};
        }
      }
  }
  return best;
}

std::int64_t packed_size(const FlatNest& nest, const Contraction& contraction, const CTarget& target) {
  const auto& bytes = contraction.bytes;
  const std::int64_t steps = bytes ? bytes->fours + (bytes->corrected ? 1 : 0) : contraction.k_extent(nest);
  std::int64_t size = steps * packed_channels(nest, contraction, target);
  for (int loop : contraction.outer) size *= extent_of(nest, loop);
  return size;
}

void write_packing(CText& text, const FlatNest& nest, const Contraction& contraction, const RegisterBlock& block,
                   const CTarget& target, const PlaceOf& place, const std::string& packed) {
  const Access& b = *nest.value[static_cast<std::size_t>(contraction.b)];
  std::vector<std::string> names(nest.loops.size());
  const auto open = [&](int loop) {
    names[static_cast<std::size_t>(loop)] = fmt::format("i{}", loop);
    text.loop(names[static_cast<std::size_t>(loop)], extent_of(nest, loop));
  };
  text.open("");
  text.line("float *restrict to = {};", packed);
  for (int loop : contraction.outer) open(loop);
  const std::int64_t m = contraction.channels(nest);
  const std::int64_t width = static_cast<std::int64_t>(block.vectors) * target.lanes;
  text.loop("block", m, width);
  text.line("const int rest = {} - block;", packed_channels(nest, contraction, target));
  text.line("const int lanes = rest < {0} ? rest : {0};", width);
  for (int loop : contraction.k) open(loop);
  text.open("for (int lane = 0; lane < lanes; ++lane)");
  std::string channel = "block + lane";
  if (!contraction.wide.empty()) {
    channel = fmt::format("(block + lane) % {}", extent_of(nest, contraction.m));
    std::int64_t inside = extent_of(nest, contraction.m);
    for (int loop : contraction.wide) {
      names[static_cast<std::size_t>(loop)] = fmt::format("(block + lane) / {} % {}", inside, extent_of(nest, loop));
      inside *= extent_of(nest, loop);
    }
  }
  names[static_cast<std::size_t>(contraction.m)] = channel;
  text.line("*to++ = block + lane < {} ? {} : 0.0f;", m, scalar_text(b.element, address(b, names, place)));
  for (std::size_t i = 0; i < contraction.outer.size() + contraction.k.size() + 2; ++i) text.close();
  text.close();
}

bool write_contraction(CText& text, const FlatNest& nest, const Contraction& contraction, const RegisterBlock& block,
                       const CTarget& target, const PlaceOf& place, const std::string& packed, int threads) {
  Writer writer(text, nest, contraction, block, target, place, threads);
  writer.write(packed);
  return writer.shared();
}

}  // namespace kasimir
