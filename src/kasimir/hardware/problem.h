// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Problems: what an accelerator is asked to compute, one affine loop nest at a time.
///
///     O[n,k,p,q] += I[n,c,2*p+r-1<56,2*q+s-1<56] * W[k,c,r,s] for n=1 k=64 c=3 p=28 q=28 r=3 s=3 with O:8/32 I:8 W:8
///
/// Every point of the nest is one operation of the compute units. A coordinate is a sum of coefficient * dimension
/// plus an offset; elements outside 0 .. extent-1 are zeros that nobody stores or moves.
namespace kasimir {

/// Sizes of the flat arrays of the evaluator; a problem that needs more is refused by `check_problem`.
inline constexpr int max_dims = 24;
inline constexpr int max_operands = 8;
inline constexpr int max_ranks = 12;  ///< per operand
inline constexpr int max_terms = 24;  ///< per operand, over all ranks

/// What an operand is to an architecture, whose levels keep inputs, weights and outputs.
enum class OperandRole : std::uint8_t { input, weight, output };

struct ProblemDim {
  std::string name;
  std::int64_t size = 1;
  bool operator==(const ProblemDim&) const = default;
};

struct IndexTerm {
  int dim = 0;
  std::int64_t coefficient = 1;  ///< not 0; may be negative
  bool operator==(const IndexTerm&) const = default;
};

/// One axis of an operand: the element at `sum of terms + offset`.
struct OperandRank {
  std::vector<IndexTerm> terms;  ///< none: always the element at `offset`
  std::int64_t offset = 0;
  std::int64_t extent = 1;  ///< elements that exist along the axis
  bool operator==(const OperandRank&) const = default;
};

struct Operand {
  std::string name;
  OperandRole role = OperandRole::input;
  int bits = 8;          ///< of a stored element; of a finished result for the output
  int partial_bits = 8;  ///< of a sum that is not finished; equal to `bits` for what is read
  std::vector<OperandRank> ranks;
  bool operator==(const Operand&) const = default;
};

/// How points that meet in one element of the output are joined.
enum class Combine : std::uint8_t { none, sum, max };

struct Problem {
  std::vector<ProblemDim> dims;
  std::vector<Operand> operands;  ///< the output first, then what is read, in the order of the text
  Combine combine = Combine::sum;
  int operations = 1;  ///< of a compute unit per point: 1 for a multiply-accumulate

  /// Product of all sizes.
  [[nodiscard]] double points() const;
  /// points() * operations.
  [[nodiscard]] double total_operations() const { return points() * operations; }
  /// Elements of an operand that exist.
  [[nodiscard]] double elements(int operand) const;
  /// Whether a coordinate of the operand depends on the dimension.
  [[nodiscard]] bool relevant(int operand, int dim) const;
  /// Whether some dimension of size above 1 is absent from the output.
  [[nodiscard]] bool reduces() const;
  /// Index of the dimension, or -1.
  [[nodiscard]] int find_dim(std::string_view name) const;
  /// Index of the operand, or -1.
  [[nodiscard]] int find_operand(std::string_view name) const;
  bool operator==(const Problem&) const = default;
};

/// The largest value of the coordinate plus one: the extent of an axis that nothing clips.
std::int64_t reach(const Problem& problem, const OperandRank& rank);

/// @throws Error (input) if sizes, bits, names or counts are outside what the evaluator can hold.
void check_problem(const Problem& problem);

/// Reads the text that is shown above. `+=` sums, `max=` takes the largest, `=` needs every dimension in the output.
/// Reads are joined by `*`, a number stands for no reads; `N*d`, `d*N` and `d` are terms. `<E` gives the elements of an
/// axis where they are not those that its coordinate reaches. `for` gives every size, in the order of `Problem::dims`.
/// `with` is optional: `I:4` bits, `O:8/32` bits of the result and of partial sums,
/// `I:4@weight` a role, `ops=3` operations per point. Bits are 8 where they are not given, partial sums then 32 where
/// something is summed. The first read is the input, the second the weight, any others inputs.
/// @throws Error (input) with the column of what is wrong.
Problem parse_problem(std::string_view text);

/// The text that `parse_problem` reads back to an equal problem.
std::string str(const Problem& problem);

/// Bits of inputs, weights, results and partial sums.
struct OperandBits {
  int input = 8;
  int weight = 8;
  int output = 8;
  int partial = 32;
};

struct ConvolutionShape {
  std::int64_t batch = 1;
  std::int64_t out_channels = 1;  ///< of all groups together
  std::int64_t in_channels = 1;   ///< of all groups together
  std::int64_t out_height = 1;
  std::int64_t out_width = 1;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t groups = 1;
};

/// `O[N,K,P,Q] += I[N,C,s*P+R,s*Q+S] * W[K,C,R,S]`, dimensions in the order R S P Q C K N, and G for groups above 1.
/// Padding is part of the input.
/// @throws Error (input) if the channels do not divide into the groups or a size is below 1.
Problem convolution(const ConvolutionShape& shape, const OperandBits& bits = {});

/// `O[M,N] += I[M,K] * W[K,N]`.
Problem matrix_product(std::int64_t m, std::int64_t n, std::int64_t k, const OperandBits& bits = {});

}  // namespace kasimir
