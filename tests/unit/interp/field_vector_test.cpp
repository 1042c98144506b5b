// SPDX-License-Identifier: Apache-2.0
// Arrays of the field against single numbers, on each instruction set that this machine has.
#include "kasimir/interp/field_vector.h"

#include "kasimir/base/rng.h"
#include "kasimir/interp/field.h"
#include "kasimir/interp/field_arithmetic.h"
#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace kasimir {
namespace {

using Array = std::vector<std::uint32_t>;

constexpr std::uint64_t seed = 31;

class Vectors : public ::testing::TestWithParam<FieldVector> {
 protected:
  /// Random elements, 0, 1 and p - 1 among them; behind them bits that are no elements.
  Array draw(std::size_t size) {
    Array values(size + field_slack);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto kind = rng_.below(8);
      values[i] = i >= size   ? static_cast<std::uint32_t>(rng_.bits())
                  : kind == 0 ? 0
                  : kind == 1 ? 1
                  : kind == 2 ? field::prime - 1
                              : static_cast<std::uint32_t>(rng_.below(field::prime));
    }
    return values;
  }
  static Array room(std::size_t size) { return Array(size + field_slack); }
  static void expect_equal(const Array& found, const Array& expected, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(found[i], expected[i]) << "seed " << seed << ", element " << i;
  }
  Rng rng_{seed};
};

constexpr std::size_t sizes[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100};
constexpr Fn unary[] = {Fn::neg, Fn::abs,  Fn::relu,    Fn::exp,  Fn::sqrt,     Fn::rsqrt,
                        Fn::sin, Fn::tanh, Fn::sigmoid, Fn::gelu, Fn::hardswish};

TEST_P(Vectors, ApplyFunctionsOfOneArgument) {
  for (std::size_t size : sizes) {
    const Array a = draw(size);
    for (Fn fn : unary) {
      SCOPED_TRACE(fmt::format("{} of {}", fn_info(fn).name, size));
      Array expected = room(size);
      for (std::size_t i = 0; i < size; ++i) expected[i] = FieldDomain::apply(fn, a[i]);
      Array found = room(size);
      GetParam().apply(fn, a.data(), found.data(), size);
      expect_equal(found, expected, size);
      found = a;
      GetParam().apply(fn, found.data(), found.data(), size);
      expect_equal(found, expected, size);
    }
  }
}

TEST_P(Vectors, InvertAndRank) {
  for (std::size_t size : sizes) {
    const Array a = draw(size);
    Array inverse = room(size);
    Array ranks = room(size);
    Array back = room(size);
    GetParam().inverse(a.data(), inverse.data(), size);
    GetParam().rank(a.data(), ranks.data(), size);
    GetParam().unrank(ranks.data(), back.data(), size);
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(inverse[i], field::inverse(a[i]));
      EXPECT_EQ(ranks[i], field::rank(a[i]));
      EXPECT_EQ(back[i], a[i]);
    }
  }
}

/// One way in which two operands go with rows.
struct Way {
  Fn fn;
  FieldRows rows_a, rows_b;
  std::size_t length;

  static constexpr std::size_t rows = 5;
  [[nodiscard]] std::size_t size(FieldRows of) const {
    return of == FieldRows::own ? rows * length : of == FieldRows::same ? length : rows;
  }
  [[nodiscard]] std::size_t index(FieldRows of, std::size_t row, std::size_t i) const {
    return of == FieldRows::own ? row * length + i : of == FieldRows::same ? i : row;
  }
};

std::vector<Way> ways() {
  using enum FieldRows;
  std::vector<Way> all;
  for (Fn fn : {Fn::add, Fn::sub, Fn::mul, Fn::max, Fn::min})
    for (const auto& [a, b] : {std::pair(own, own), {same, own}, {each, own}, {own, same}, {own, each}})
      for (std::size_t length : {1U, 3U, 8U, 16U, 23U, 56U}) all.push_back({fn, a, b, length});
  return all;
}

TEST_P(Vectors, CombineRowsWithRowsWithOneRowAndWithOneElementPerRow) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(fmt::format("seed {}: {} length {}", seed, fn_info(way.fn).name, way.length));
    const Array a = draw(way.size(way.rows_a));
    const Array b = draw(way.size(way.rows_b));
    Array found = room(Way::rows * way.length);
    GetParam().combine(way.fn, a.data(), way.rows_a, b.data(), way.rows_b, found.data(), Way::rows, way.length);
    Array expected = room(Way::rows * way.length);
    for (std::size_t row = 0; row < Way::rows; ++row)
      for (std::size_t i = 0; i < way.length; ++i)
        expected[row * way.length + i] =
            FieldDomain::apply(way.fn, a[way.index(way.rows_a, row, i)], b[way.index(way.rows_b, row, i)]);
    expect_equal(found, expected, Way::rows * way.length);
  }
}

/// Of a as [outer, reduced, inner], one element at a time.
template <typename Combine>
Array reduced(const Array& a, const std::array<std::size_t, 3>& extents, Combine combine) {
  const auto& [outer, middle, inner] = extents;
  Array result(outer * inner);
  for (std::size_t i = 0; i < outer * middle * inner; ++i) {
    std::uint32_t& place = result[i / (middle * inner) * inner + i % inner];
    place = combine(place, a[i]);
  }
  return result;
}

TEST_P(Vectors, SumAndTakeTheLargest) {
  std::vector<std::array<std::size_t, 3>> cases;
  for (std::size_t outer : {1U, 3U})
    for (std::size_t middle : {1U, 2U, 9U, 40U, 131U})
      for (std::size_t inner : {1U, 2U, 8U, 21U, 56U}) cases.push_back({outer, middle, inner});
  for (const auto& extents : cases) {
    const auto& [outer, middle, inner] = extents;
    SCOPED_TRACE(fmt::format("seed {}: {} {} {}", seed, outer, middle, inner));
    const Array a = draw(outer * middle * inner);
    Array found = room(outer * inner);
    GetParam().sum(a.data(), found.data(), outer, middle, inner);
    expect_equal(found, reduced(a, extents, field::plus), outer * inner);
    GetParam().largest(a.data(), found.data(), outer, middle, inner);
    expect_equal(found, reduced(a, extents, [](auto x, auto y) { return std::max(x, y); }), outer * inner);
  }
}

/// Of ranks, which take all 32 bits.
TEST_P(Vectors, TakeTheLargestOfNumbersAboveTheElements) {
  Array a = room(80);
  for (std::size_t i = 0; i < 80; ++i) a[i] = static_cast<std::uint32_t>(rng_.bits());
  Array most = room(1);
  GetParam().largest(a.data(), most.data(), 1, 80, 1);
  EXPECT_EQ(most[0], *std::max_element(a.begin(), a.begin() + 80));
}

/// Sums of products, one element at a time.
Array contracted(const Array& rows, const Array& columns, std::size_t batch, std::size_t m, std::size_t k,
                 std::size_t n) {
  Array result(batch * m * n);
  for (std::size_t place = 0; place < result.size(); ++place) {
    const std::size_t row = place / n;
    for (std::size_t j = 0; j < k; ++j)
      result[place] =
          field::plus(result[place], field::multiply(rows[row * k + j], columns[(row / m * k + j) * n + place % n]));
  }
  return result;
}

TEST_P(Vectors, ContractBatchesOfMatrices) {
  for (std::size_t m : {1U, 3U, 4U}) {
    for (std::size_t k : {1U, 2U, 3U, 4U, 9U, 72U}) {
      for (std::size_t n : {1U, 7U, 16U, 17U, 56U, 65U, 130U}) {
        SCOPED_TRACE(fmt::format("seed {}: m {} k {} n {}", seed, m, k, n));
        Array rows = draw(2 * m * k);
        Array columns = draw(2 * k * n);
        // The largest products of all.
        std::fill_n(rows.begin(), k, field::prime - 1);
        std::fill_n(columns.begin(), k * n / 2, field::prime - 1);
        Array found = room(2 * m * n);
        GetParam().contract(rows.data(), columns.data(), found.data(), 2, m, k, n);
        expect_equal(found, contracted(rows, columns, 2, m, k, n), 2 * m * n);
      }
    }
  }
}

TEST_P(Vectors, HashAndFillAsSingleNumbersDo) {
  for (std::size_t size : sizes) {
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, size));
    const Array a = draw(size);
    const Array b = draw(size);
    std::uint32_t dot = 0;
    std::uint32_t hash = 0;
    for (std::size_t i = 0; i < size; ++i) {
      dot = field::plus(dot, field::multiply(a[i], b[i]));
      hash = field::plus(hash, field::multiply(a[i], field::coefficient(static_cast<std::uint32_t>(i), 77)));
    }
    EXPECT_EQ(GetParam().dot(a.data(), b.data(), size), dot);
    EXPECT_EQ(GetParam().hash(a.data(), size, 77), hash);
    Array filled = room(size);
    Array expected = room(size);
    GetParam().fill(seed, filled.data(), size);
    field_vectors().back().fill(seed, expected.data(), size);
    expect_equal(filled, expected, size);
  }
}

TEST_P(Vectors, RefuseFunctionsOfTheWrongNumberOfArguments) {
  Array a = room(1);
  EXPECT_THAT(testing::thrown_by([&] { GetParam().apply(Fn::mul, a.data(), a.data(), 1); }),
              ::testing::HasSubstr("70: internal error: * takes two arguments"));
  EXPECT_THAT(testing::thrown_by([&] {
                GetParam().combine(Fn::exp, a.data(), FieldRows::own, a.data(), FieldRows::own, a.data(), 1, 1);
              }),
              ::testing::HasSubstr("70: internal error: exp of arrays"));
}

INSTANTIATE_TEST_SUITE_P(Machine, Vectors, ::testing::ValuesIn(field_vectors().begin(), field_vectors().end()),
                         [](const auto& vector) { return std::string(vector.param.name); });

TEST(Scatter, HasAnInverse) {
  Rng rng(seed);
  for (int i = 0; i < 1000; ++i) {
    const auto x = static_cast<std::uint32_t>(rng.bits());
    EXPECT_EQ(field::unscatter(field::scatter(x)), x) << "seed " << seed << " draw " << i;
    EXPECT_EQ(field::unrank(field::rank(x)), x) << "seed " << seed << " draw " << i;
  }
}

}  // namespace
}  // namespace kasimir
