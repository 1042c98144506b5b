// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_expression.h"

#include <optional>

/// How one nest becomes C. Three templates: loops over vectors for anything, register-blocked products for sums of
/// products, Winograd for 3 x 3 windows. Each writes the body of a function that sees the workspace `W` and the
/// prepared weights `P`. With several threads the body also sees `thread` and `threads` (c_team.h) and does its share;
/// the answer is false where nothing can be shared: then the body does everything.
namespace kasimir {

/// Any nest: the loop along which the result is contiguous runs over vectors; where the result has none, the reduced
/// loop along which a read is.
bool write_loops(CText& text, const FlatNest& nest, const CTarget& target, const PlaceOf& place, int threads);

/// The loop that runs over vectors there; -1 where none does.
struct VectorLoop {
  int loop = -1;
  bool of_result = false;  ///< else a reduced one
};
VectorLoop loop_over_vectors(const FlatNest& nest, const CTarget& target);

/// A copy of what a nest reads of a tensor, in the order of its loops with one of them innermost.
struct Repacked {
  Access from;
  Access to;  ///< its tensor is for the caller to name
  std::int64_t size = 0;
};
/// Nothing where vectors along the loop are read at once anyway, where coordinates are guarded, or where elements would
/// be stored several times.
std::optional<Repacked> repacked_along(const FlatNest& nest, const Access& access, int loop);
void write_repacking(CText& text, const std::vector<BoundIter>& loops, const Repacked& copy, const PlaceOf& place);

/// The same nest one element at a time in double precision: for what runs once.
void write_scalar_loops(CText& text, const FlatNest& nest, const PlaceOf& place);

/// A contraction of bytes: `a` holds codes of activations, whose last reduced loops walk neighbouring bytes, and `b`
/// known codes of at most 8 bits. Four products at a time are summed in 32 bits, which hold every sum.
struct ByteProduct {
  std::size_t run = 0;          ///< how many of Contraction::k, the last ones, are neighbours in `a`
  std::int64_t run_extent = 1;  ///< their bytes
  std::int64_t fours = 1;       ///< steps: (bytes of the run rounded up to 4) / 4, for every point of the other loops
  bool corrected = false;       ///< code 0 is another byte: each channel starts from -zero * sum of its weights
  bool small = false;           ///< a sum of two products is below 2^15
};

/// A sum of products `out[g, p, m] = sum over k of a[g, p, k] * b[g, m, k]`, found in a nest. Loops are numbers of the
/// flat nest's loops, outermost first.
struct Contraction {
  int a = -1;               ///< node of the value: the operand that is read element by element
  int b = -1;               ///< node of the operand that is packed, the result being contiguous along its own loops
  std::vector<int> outer;   ///< in both operands and the result, and loops of `b` alone that are not contiguous
  std::vector<int> pixels;  ///< in `a` and the result
  int m = -1;               ///< in `b` and the result, contiguous there
  std::vector<int> wide;    ///< continue `m` in the result but not in `b`, innermost first: channels too
  std::vector<int> k;       ///< in both, reduced
  std::optional<ByteProduct> bytes = {};
  [[nodiscard]] std::int64_t k_extent(const FlatNest& nest) const;
  [[nodiscard]] std::int64_t channels(const FlatNest& nest) const;  ///< of `m` and `wide` together
};
std::optional<Contraction> find_contraction(const FlatNest& nest);

/// Bits of a known tensor of codes in the caller's weights: two's complement, one after another; 0: floats.
int packed_bits(const Element& element);

/// Sizes of the register block: `pixels` results along the innermost pixel loops times `vectors` of channels.
struct RegisterBlock {
  int rows = 1;     ///< along the second innermost pixel loop
  int columns = 8;  ///< along the innermost
  int vectors = 2;
  bool operator==(const RegisterBlock&) const = default;
};
RegisterBlock default_block(const FlatNest& nest, const Contraction& contraction, const CTarget& target);

/// Channels as they are packed: whole vectors, of which the last one of floats may be half a one.
std::int64_t packed_channels(const FlatNest& nest, const Contraction& contraction, const CTarget& target);
/// Values of 4 bytes of the packed operand.
std::int64_t packed_size(const FlatNest& nest, const Contraction& contraction, const CTarget& target);
/// Packs operand `b` from its place to `packed`.
void write_packing(CText& text, const FlatNest& nest, const Contraction& contraction, const RegisterBlock& block,
                   const CTarget& target, const PlaceOf& place, const std::string& packed);
/// The same of a byte product: `place` gives the packed bits of operand `b`.
void write_byte_packing(CText& text, const FlatNest& nest, const Contraction& contraction, const RegisterBlock& block,
                        const CTarget& target, const PlaceOf& place, const std::string& packed);
bool write_contraction(CText& text, const FlatNest& nest, const Contraction& contraction, const RegisterBlock& block,
                       const CTarget& target, const PlaceOf& place, const std::string& packed, int threads);

/// A product of 3 x 3 windows with stride 1: what Winograd's algorithm computes.
struct WindowProduct {
  int a = -1;        ///< node that reads the map
  int b = -1;        ///< node that reads the weights
  int batch = -1;    ///< loops of the nest; -1 where there is one image
  int group = -1;    ///< -1 for one group
  int channel = -1;  ///< of the result, in the group
  int row = -1;
  int column = -1;
  int input = -1;  ///< reduced: channel in the group; -1 for one
  int window_row = -1;
  int window_column = -1;
};
std::optional<WindowProduct> find_window_product(const NestProgram& program, const Nest& nest);

/// Sizes of the algorithm F(m x m, 3 x 3).
struct WinogradBlock {
  int m = 4;        ///< outputs of a tile along each axis: 2 or 4
  int tiles = 16;   ///< transformed together
  int rows = 8;     ///< tiles of a register block
  int vectors = 2;  ///< channels of a register block
  bool operator==(const WinogradBlock&) const = default;
};
WinogradBlock default_winograd(const Nest& nest, const WindowProduct& product, const CTarget& target, int m);
/// The same with narrower register blocks where threads could share neither blocks of tiles nor of channels.
WinogradBlock winograd_for_team(const WinogradBlock& block, const Nest& nest, const WindowProduct& product,
                                const CTarget& target, int threads);

/// What one core does in a second, for estimates that rank methods and say which nests are worth several threads; read
/// off the machine on which the defaults were compared (docs/native.md, defaults). Nothing is reported from them.
namespace rates {
inline constexpr double multiply_adds = 50e9;     ///< in register blocks: 100 GFLOP/s
inline constexpr double weight_floats = 5e9;      ///< from memory: 20 GB/s
inline constexpr double cached_floats = 20e9;     ///< from the third-level cache: 80 GB/s
inline constexpr double transform_floats = 80e9;  ///< elements of vector operations in Winograd's transforms
inline constexpr double loop_steps = 8e9;         ///< points of a nest of vector loops
inline constexpr double transfer_floats = 1e9;    ///< of images between the interface and the workspace
}  // namespace rates
/// Of a product in register blocks.
constexpr double direct_seconds(double products, double packed_floats, double weight_rate = rates::weight_floats) {
  return products / rates::multiply_adds + packed_floats / weight_rate;
}

/// An estimate of the nest's time in seconds, m = 0 for the direct product: multiplications at full speed, the packed
/// weights read once at `weight_rate` floats a second, transforms. For the choice of a default only: tuning measures.
double estimated_seconds(const Nest& nest, const WindowProduct& product, int m,
                         double weight_rate = rates::weight_floats);

/// The parts of that estimate for Winograd's algorithm.
struct WinogradSeconds {
  double products = 0;
  double weights = 0;
  double input = 0;   ///< transform
  double output = 0;  ///< transform
};
WinogradSeconds winograd_seconds(const Nest& nest, const WindowProduct& product, int m,
                                 double weight_rate = rates::weight_floats);

/// What the tiles read beyond the map.
std::vector<Overhang> winograd_overhang(const NestProgram& program, const Nest& nest, const WindowProduct& product,
                                        int m);
/// Floats between the slabs of transformed tiles, so that they do not fall on the same cache sets.
inline constexpr std::int64_t slab_gap = 16;
std::int64_t winograd_packed_size(const Nest& nest, const WindowProduct& product, const WinogradBlock& block,
                                  const CTarget& target);
std::int64_t winograd_scratch_size(const Nest& nest, const WindowProduct& product, const WinogradBlock& block,
                                   const CTarget& target);
void write_winograd_packing(CText& text, const NestProgram& program, const Nest& nest, const MemoryPlan& plan,
                            const WindowProduct& product, const WinogradBlock& block, const CTarget& target,
                            const PlaceOf& place, const std::string& packed);
/// `scratch` is of this thread alone.
bool write_winograd(CText& text, const NestProgram& program, const Nest& nest, const MemoryPlan& plan,
                    const WindowProduct& product, const WinogradBlock& block, const CTarget& target,
                    const PlaceOf& place, const std::string& packed, const std::string& scratch, int threads);

}  // namespace kasimir
