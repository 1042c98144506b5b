// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// The element types that are read: unsigned bytes, and little-endian integers and floating-point numbers.
enum class ElementType { u1, i4, i8, f4, f8 };

struct NpyHeader {
  ElementType type = ElementType::u1;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  ///< of the first element in the file

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t element_bytes() const;
  [[nodiscard]] bool is_float() const { return type == ElementType::f4 || type == ElementType::f8; }
  [[nodiscard]] std::string shape_text() const;  ///< "60000 x 28 x 28"
};

/// Reads the header of NumPy's .npy format, versions 1 to 3 (NEP 1, "A simple file format for NumPy arrays"), of a file
/// that begins with `content` and has `size` bytes.
/// @throws Error (input) with `name` for what is no such file, another element type, Fortran order, or another size.
NpyHeader read_npy_header(std::string_view content, std::int64_t size, const std::string& name);

/// An array in memory.
struct NpyArray {
  std::string name;  ///< for messages
  NpyHeader header;
  std::string content;  ///< the whole file

  [[nodiscard]] double at(std::int64_t index) const;  ///< element `index`, row-major
};

NpyArray read_npy(std::string content, const std::string& name);

}  // namespace kasimir
