// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_text.h"
#include "kasimir/codegen/flat_nest.h"

#include <functional>

namespace kasimir {

/// What generated code is written for.
struct CTarget {
  int lanes = 16;             ///< floats of a vector: 16 for AVX-512, 8 for AVX2
  int registers = 32;         ///< vector registers
  bool sums_of_four = false;  ///< one instruction multiplies bytes and sums four products (AVX512-VNNI)
  bool operator==(const CTarget&) const = default;
};

/// Where the tensors of a program begin, in C: "W + 128".
using PlaceOf = std::function<std::string(int tensor)>;

/// "W + 1024 + (h)*64 + (w)*16": the address of an access where each loop has the value of its text; empty texts are 0.
/// Guarded coordinates are added with their wrap.
std::string address(const Access& access, const std::vector<std::string>& loops, const PlaceOf& place,
                    std::int64_t more = 0);

/// The condition under which the access is inside, or empty.
std::string inside(const Access& access, const std::vector<std::string>& loops);

/// What the nodes of an expression are in C: vectors of floats while the network runs, doubles while weights are
/// prepared.
enum class CNumbers : std::uint8_t { vectors, doubles };

/// Writes one constant variable per node and returns the text of the last one. `read` gives a read's text, `reduced`
/// that of the reduction's value.
std::string write_expression(CText& text, const std::vector<NestNode>& nodes, const std::string& prefix,
                             const std::function<std::string(std::size_t node)>& read, const std::string& reduced,
                             CNumbers numbers = CNumbers::vectors);

/// A vector of elements that lie `stride` apart (0: the same element), from the address on; with `part` > 0 no more
/// than so many are touched one by one.
std::string load_text(const Element& element, const std::string& at, std::int64_t stride, std::int64_t part);
/// One of them as a float.
std::string scalar_text(const Element& element, const std::string& at);

/// Stores a vector of a nest's finished results, or its first `part` lanes where that is not 0, rounded and clamped
/// where the element is, and what the nest gives beside it (Nest::also). `unique` ends the names that this takes,
/// `load` reads an access in the order of the result, `at` is the address that an access is written to.
void write_stores(CText& text, const Nest& nest, const Access& out, const std::vector<FlatCopy>& also,
                  const std::string& result, const std::string& unique, std::int64_t part,
                  const std::function<std::string(const Access& access)>& load,
                  const std::function<std::string(const Access& out)>& at);

/// "1.5f", with all digits that a float has.
std::string c_float(double value);

/// The vector type, loads and stores, and the functions of the table, for the target; text of its own.
std::string c_prelude(const CTarget& target);
/// The types and functions that it defines.
std::vector<std::string> c_prelude_names();
/// The headers that it needs, and what follows it.
std::string c_includes();
/// What tensors of codes need beside that, and its names.
std::string c_codes_prelude(const CTarget& target);
std::vector<std::string> c_codes_prelude_names();

}  // namespace kasimir
