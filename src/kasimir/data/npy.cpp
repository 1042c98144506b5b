// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/npy.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace kasimir {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are taken from files as they lie");

struct TypeName {
  std::string_view text;
  ElementType type;
  std::int64_t bytes;
};

constexpr std::array type_names{TypeName{"|u1", ElementType::u1, 1}, TypeName{"<i4", ElementType::i4, 4},
                                TypeName{"<i8", ElementType::i8, 8}, TypeName{"<f4", ElementType::f4, 4},
                                TypeName{"<f8", ElementType::f8, 8}};

constexpr std::int64_t most_elements = std::int64_t{1} << 48;
constexpr std::size_t most_axes = 32;

/// Reads the dictionary of a header, which is a literal of Python: {'descr': '<f4', 'fortran_order': False, ..}.
class Literal {
 public:
  Literal(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  struct Facts {
    std::optional<std::string> type;
    std::optional<bool> fortran;
    std::optional<std::vector<std::int64_t>> shape;
  };

  Facts read() {
    Facts facts;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && peek() == '\'') {
        facts.type = quoted();
      } else if (key == "fortran_order") {
        facts.fortran = boolean();
      } else if (key == "shape") {
        facts.shape = numbers();
      } else if (key == "descr") {
        throw input_error("{} has elements of several fields, one type is needed", name_);
      } else {
        fail();
      }
      if (!take(',') && peek() != '}') fail();
    }
    return facts;
  }

 private:
  [[noreturn]] void fail() const {
    throw input_error("{}: the header of the array is damaged (at its character {})", name_, at_)
        .note("get the file again; nothing was changed");
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail();
  }
  std::string quoted() {
    expect('\'');
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) fail();
    std::string inside(text_.substr(at_, end - at_));
    at_ = end + 1;
    return inside;
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::strlen(word);
      return value;
    }
    fail();
  }
  std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> all;
    expect('(');
    while (!take(')')) {
      peek();
      std::size_t end = at_;
      while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
      const auto value = parse_integer(text_.substr(at_, end - at_));
      if (!value || all.size() == most_axes) fail();
      all.push_back(*value);
      at_ = end;
      take('L');  // Python 2 wrote long numbers so
      if (!take(',') && peek() != ')') fail();
    }
    return all;
  }

  std::string_view text_;
  std::string name_;
  std::size_t at_ = 0;
};

const TypeName& type_named(const std::string& text, const std::string& name) {
  std::vector<std::string> known;
  for (const TypeName& type : type_names) {
    if (type.text == text) return type;
    known.emplace_back(type.text);
  }
  throw input_error("{} has elements of type {}, needed is one of {}", name, text, join(known, ", "))
      .note("convert the array before it is saved: array.astype('uint8'), or 'int64', 'float32'");
}

}  // namespace

std::int64_t NpyHeader::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::int64_t NpyHeader::element_bytes() const {
  for (const TypeName& known : type_names)
    if (known.type == type) return known.bytes;
  KASIMIR_CHECK(false, "element type {}", static_cast<int>(type));
}

std::string NpyHeader::shape_text() const {
  std::vector<std::string> parts;
  for (const std::int64_t extent : shape) parts.push_back(fmt::format("{}", extent));
  return parts.empty() ? "one number" : join(parts, " x ");
}

NpyHeader read_npy_header(std::string_view content, std::int64_t size, const std::string& name) {
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(content[at])); };
  if (!content.starts_with(std::string_view("\x93NUMPY", 6)))
    throw input_error("{} is no NumPy array: it does not begin with \\x93NUMPY", name);
  if (content.size() < 12) throw input_error("{}: {} bytes found, at least 12 needed for the header", name, size);
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    throw input_error("{} has version {}.{} of the .npy format, 1 to 3 are read", name, version, byte(7));
  const std::size_t begin = version == 1 ? 10 : 12;
  const std::size_t length = byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > content.size() - begin)
    throw input_error("{}: {} bytes found, {} needed for the header", name, size, begin + length)
        .note("get the file again; nothing was changed");
  const auto facts = Literal(content.substr(begin, length), name).read();
  if (!facts.type || !facts.fortran || !facts.shape)
    throw input_error("{}: the header of the array lacks `descr`, `fortran_order` or `shape`", name);
  const TypeName& type = type_named(*facts.type, name);
  if (*facts.fortran)
    throw input_error("{} is in Fortran order, C order is needed", name)
        .note("convert the array before it is saved: numpy.ascontiguousarray(array)");
  NpyHeader header{type.type, *facts.shape, static_cast<std::int64_t>(begin + length)};
  std::int64_t elements = 1;
  for (const std::int64_t extent : header.shape) {
    if (extent > 0 && elements > most_elements / extent)
      throw input_error("{} is {}: more elements than any file has", name, header.shape_text());
    elements *= extent;
  }
  const std::int64_t needed = header.begin + elements * type.bytes;
  if (size != needed)
    throw input_error("{}: {} bytes found, {} needed (a header of {} bytes and {} elements of {} byte{})", name, size,
                      needed, header.begin, header.shape_text(), type.bytes, type.bytes == 1 ? "" : "s")
        .note("get the file again; nothing was changed");
  return header;
}

double NpyArray::at(std::int64_t index) const {
  const auto read = [&]<typename T>(T value) {
    std::memcpy(&value, content.data() + header.begin + index * header.element_bytes(), sizeof value);
    return static_cast<double>(value);
  };
  switch (header.type) {
    case ElementType::u1:
      return read(std::uint8_t{});
    case ElementType::i4:
      return read(std::int32_t{});
    case ElementType::i8:
      return read(std::int64_t{});
    case ElementType::f4:
      return read(float{});
    case ElementType::f8:
      return read(double{});
  }
  KASIMIR_CHECK(false, "element type {}", static_cast<int>(header.type));
}

NpyArray read_npy(std::string content, const std::string& name) {
  NpyArray array{name, {}, std::move(content)};
  array.header = read_npy_header(array.content, std::ssize(array.content), name);
  return array;
}

}  // namespace kasimir
