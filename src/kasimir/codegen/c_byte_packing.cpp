// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"

namespace kasimir {
namespace {

std::int64_t extent_of(const FlatNest& nest, int loop) { return nest.loops[static_cast<std::size_t>(loop)].extent; }

class Packing {
 public:
  Packing(CText& text, const FlatNest& nest, const Contraction& of, const CTarget& target, std::string codes)
      : text_(text),
        nest_(nest),
        of_(of),
        bytes_(of.bytes.value()),
        b_(*nest.value[static_cast<std::size_t>(of.b)]),
        names_(nest.loops.size()),
        codes_(std::move(codes)),
        channels_(round_up(extent_of(nest, of.m), target.lanes)) {}

  /// Blocks of channels; of each, steps of four products, channels, and the four bytes.
  void write_weights(const std::string& packed, std::int64_t width) {
    text_.line("signed char *to = (signed char *)({});", packed);
    for (int loop : of_.outer) open(loop);
    text_.loop("block", channels_, width);
    text_.line("const int rest = {} - block;", channels_);
    text_.line("const int lanes = rest < {0} ? rest : {0};", width);
    const std::size_t apart = of_.k.size() - bytes_.run;
    for (std::size_t i = 0; i < apart; ++i) open(of_.k[i]);
    text_.loop("four", (bytes_.run_extent + 3) / 4);
    text_.open("for (int lane = 0; lane < lanes; ++lane)");
    text_.open("for (int at = 4 * four; at < 4 * four + 4; ++at)");
    name_run("at");
    names_[static_cast<std::size_t>(of_.m)] = "block + lane";
    text_.line("*to++ = block + lane < {} && at < {} ? (signed char){} : 0;", extent_of(nest_, of_.m),
               bytes_.run_extent, code());
    for (std::size_t i = 0; i < of_.outer.size() + apart + 4; ++i) text_.close();
  }

  /// Behind the weights: -zero * sum of each channel's.
  void write_starts(const std::string& packed, std::int64_t behind, int zero) {
    text_.line("int_mem *start = (int_mem *)({}) + {};", packed, behind);
    for (int loop : of_.outer) open(loop);
    text_.loop("m", channels_);
    text_.line("int sum = 0;");
    names_[static_cast<std::size_t>(of_.m)] = "m";
    text_.open("if (m < {})", extent_of(nest_, of_.m));
    for (int loop : of_.k) open(loop);
    text_.line("sum += {};", code());
    for (std::size_t i = 0; i < of_.k.size() + 1; ++i) text_.close();
    text_.line("*start++ = {} * sum;", -zero);
    for (std::size_t i = 0; i < of_.outer.size() + 1; ++i) text_.close();
  }

 private:
  void open(int loop) {
    names_[static_cast<std::size_t>(loop)] = fmt::format("i{}", loop);
    text_.loop(names_[static_cast<std::size_t>(loop)], extent_of(nest_, loop));
  }
  /// The loops of the run at a byte of it.
  void name_run(const std::string& at) {
    std::int64_t inside = 1;
    for (std::size_t i = 0; i < bytes_.run; ++i) {
      const int loop = of_.k[of_.k.size() - 1 - i];
      names_[static_cast<std::size_t>(loop)] = fmt::format("{} / {} % {}", at, inside, extent_of(nest_, loop));
      inside *= extent_of(nest_, loop);
    }
  }
  [[nodiscard]] std::string code() const {
    const std::string at = address(b_, names_, [](int) { return std::string("0L"); });
    return fmt::format("packed_code((const unsigned char *)({}), {}, {})", codes_, at, packed_bits(b_.element));
  }

  CText& text_;
  const FlatNest& nest_;
  const Contraction& of_;
  const ByteProduct& bytes_;
  const Access& b_;
  std::vector<std::string> names_;
  std::string codes_;
  std::int64_t channels_;
};

}  // namespace

void write_byte_packing(CText& text, const FlatNest& nest, const Contraction& contraction, const RegisterBlock& block,
                        const CTarget& target, const PlaceOf& place, const std::string& packed) {
  const ByteProduct& bytes = contraction.bytes.value();
  const Access& b = *nest.value[static_cast<std::size_t>(contraction.b)];
  Packing packing(text, nest, contraction, target, place(b.tensor));
  text.open("");
  packing.write_weights(packed, static_cast<std::int64_t>(block.vectors) * target.lanes);
  if (bytes.corrected) {
    std::int64_t behind = bytes.fours * round_up(extent_of(nest, contraction.m), target.lanes);
    for (int loop : contraction.outer) behind *= extent_of(nest, loop);
    packing.write_starts(packed, behind, nest.value[static_cast<std::size_t>(contraction.a)]->element.zero);
  }
  text.close();
}

}  // namespace kasimir
