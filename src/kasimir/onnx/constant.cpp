// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/constant.h"

#include "kasimir/base/text.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>

namespace kasimir {
namespace {

using Proto = onnx::TensorProto;

template <typename Stored>
std::vector<Stored> from_bytes(const std::string& bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::vector<Stored> values(bytes.size() / sizeof(Stored));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Stored));
  return values;
}

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const auto fraction = static_cast<float>(bits & 1023);
  const float size = exponent == 0    ? std::ldexp(fraction, -24)
                     : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

float from_bfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// How a type is stored.
struct Layout {
  int bytes;  ///< of one value in raw form
  bool whole;
};

std::optional<Layout> layout_of(int type) {
  switch (type) {
    case Proto::FLOAT:
      return Layout{4, false};
    case Proto::DOUBLE:
      return Layout{8, false};
    case Proto::FLOAT16:
    case Proto::BFLOAT16:
      return Layout{2, false};
    case Proto::INT64:
    case Proto::UINT64:
      return Layout{8, true};
    case Proto::INT32:
    case Proto::UINT32:
      return Layout{4, true};
    case Proto::INT16:
    case Proto::UINT16:
      return Layout{2, true};
    case Proto::INT8:
    case Proto::UINT8:
    case Proto::BOOL:
      return Layout{1, true};
    default:
      return std::nullopt;
  }
}

template <typename To, typename From>
std::vector<To> converted(const From& from) {
  std::vector<To> values;
  values.reserve(static_cast<std::size_t>(from.size()));
  for (const auto value : from) values.push_back(static_cast<To>(value));
  return values;
}

std::vector<float> floats_of(int type, const std::string& bytes) {
  if (type == Proto::FLOAT) return from_bytes<float>(bytes);
  if (type == Proto::DOUBLE) return converted<float>(from_bytes<double>(bytes));
  std::vector<float> values;
  for (const std::uint16_t bits : from_bytes<std::uint16_t>(bytes))
    values.push_back(type == Proto::FLOAT16 ? from_half(bits) : from_bfloat(bits));
  return values;
}

std::vector<std::int64_t> integers_of(int type, const std::string& bytes) {
  using Wide = std::int64_t;
  switch (type) {
    case Proto::INT32:
      return converted<Wide>(from_bytes<std::int32_t>(bytes));
    case Proto::UINT32:
      return converted<Wide>(from_bytes<std::uint32_t>(bytes));
    case Proto::INT16:
      return converted<Wide>(from_bytes<std::int16_t>(bytes));
    case Proto::UINT16:
      return converted<Wide>(from_bytes<std::uint16_t>(bytes));
    case Proto::INT8:
      return converted<Wide>(from_bytes<std::int8_t>(bytes));
    case Proto::UINT8:
    case Proto::BOOL:
      return converted<Wide>(from_bytes<std::uint8_t>(bytes));
    default:
      return from_bytes<Wide>(bytes);
  }
}

std::vector<float> listed_floats(const Proto& tensor) {
  if (tensor.data_type() == Proto::FLOAT) return {tensor.float_data().begin(), tensor.float_data().end()};
  if (tensor.data_type() == Proto::DOUBLE) return converted<float>(tensor.double_data());
  std::vector<float> values;
  for (const std::int32_t stored : tensor.int32_data()) {
    const auto bits = static_cast<std::uint16_t>(stored);
    values.push_back(tensor.data_type() == Proto::FLOAT16 ? from_half(bits) : from_bfloat(bits));
  }
  return values;
}

std::vector<std::int64_t> listed_integers(const Proto& tensor) {
  const int type = tensor.data_type();
  if (type == Proto::INT64) return {tensor.int64_data().begin(), tensor.int64_data().end()};
  if (type == Proto::UINT64 || type == Proto::UINT32) return converted<std::int64_t>(tensor.uint64_data());
  return converted<std::int64_t>(tensor.int32_data());
}

}  // namespace

std::int64_t product_of(const std::vector<std::int64_t>& shape) {
  // An array without elements has other extents too, over which loops run.
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent == 0) {
      empty = true;
    } else if (extent < 0 || __builtin_mul_overflow(product, extent, &product) || product > std::int64_t{1} << 40) {
      return -1;
    }
  }
  if (!empty) return product;
  return product > std::int64_t{1} << 20 ? -1 : 0;
}

std::int64_t OnnxConstant::elements() const {
  return static_cast<std::int64_t>(whole() ? integers().size() : floats().size());
}

OnnxConstant OnnxTensorReader::read(const Proto& tensor, const std::string& what) const {
  const std::string where = file_.filename().string() + ": " + what;
  const auto layout = layout_of(tensor.data_type());
  if (!layout)
    throw input_error("{} has values of type {}, needed floating-point or whole numbers", where,
                      onnx::TensorProto_DataType_IsValid(tensor.data_type())
                          ? onnx::TensorProto_DataType_Name(static_cast<Proto::DataType>(tensor.data_type()))
                          : std::to_string(tensor.data_type()));
  OnnxConstant made{{tensor.dims().begin(), tensor.dims().end()}, {}};
  const std::int64_t count = product_of(made.shape);
  if (count < 0) throw input_error("{} has the impossible shape {}", where, fmt::join(made.shape, "x"));
  const bool elsewhere = tensor.data_location() == Proto::EXTERNAL;
  if (elsewhere || tensor.has_raw_data()) {
    const std::string bytes = elsewhere ? outside(tensor, where, count * layout->bytes) : tensor.raw_data();
    if (std::ssize(bytes) != count * layout->bytes)
      throw input_error("{} has {} bytes, its shape {} needs {}", where, bytes.size(), fmt::join(made.shape, "x"),
                        count * layout->bytes);
    if (layout->whole)
      made.values = integers_of(tensor.data_type(), bytes);
    else
      made.values = floats_of(tensor.data_type(), bytes);
  } else if (layout->whole) {
    made.values = listed_integers(tensor);
  } else {
    made.values = listed_floats(tensor);
  }
  if (made.elements() != count)
    throw input_error("{} has {} values, its shape {} needs {}", where, made.elements(), fmt::join(made.shape, "x"),
                      count);
  return made;
}

std::string OnnxTensorReader::outside(const Proto& tensor, const std::string& what, std::int64_t bytes) const {
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = bytes;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_integer(entry.value()).value_or(-1);
    if (entry.key() == "length") length = parse_integer(entry.value()).value_or(-1);
  }
  const std::filesystem::path inner = std::filesystem::path(location).lexically_normal();
  if (location.empty() || location.find('\0') != std::string::npos || inner.is_absolute() || *inner.begin() == "..")
    throw input_error("{} is in file `{}`, which is not in the model's folder", what, shown(location));
  const std::filesystem::path path = file_.parent_path() / inner;
  std::error_code code;
  const auto size = std::filesystem::file_size(path, code);
  if (code)
    throw input_error("{} is in file `{}`, which cannot be read: {}", what, path.string(), code.message())
        .note("a model and the files of its tensors stay together in one folder");
  if (length != bytes) throw input_error("{} has {} bytes, its shape needs {}", what, length, bytes);
  if (offset < 0 || static_cast<std::uintmax_t>(offset) > size ||
      size - static_cast<std::uintmax_t>(offset) < static_cast<std::uintmax_t>(bytes))
    throw input_error("{} has {} bytes at {} of file `{}`, which has {}", what, bytes, offset, path.string(), size);
  std::string read(static_cast<std::size_t>(bytes), '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(offset);
  if (!stream.read(read.data(), static_cast<std::streamsize>(bytes)))
    throw input_error("{}: file `{}` cannot be read", what, path.string());
  return read;
}

}  // namespace kasimir
