// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/tar.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <string_view>

namespace kasimir {
namespace {

constexpr std::int64_t block = 512;
constexpr std::int64_t longest_name = 1 << 16;  // a pax record or a long name beyond this is damage

/// A field of a header up to its first zero byte.
std::string_view field(std::string_view header, std::size_t at, std::size_t count) {
  const std::string_view whole = header.substr(at, count);
  return whole.substr(0, whole.find('\0'));
}

/// Octal digits, or GNU's big-endian bytes behind a first one of 0x80; nothing for anything else.
std::optional<std::int64_t> number(std::string_view header, std::size_t at, std::size_t count) {
  const std::string_view bytes = header.substr(at, count);
  std::int64_t value = 0;
  if (bytes.front() == '\x80') {
    for (const char byte : bytes.substr(1)) {
      if (value >= std::int64_t{1} << 54) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(byte);
    }
    return value;
  }
  const std::string_view digits = trim(field(header, at, count));
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value * 8 + (digit - '0');
  }
  return value;
}

/// The sum of the header's bytes, its own field read as blanks.
bool checksum_matches(std::string_view header) {
  const auto wanted = number(header, 148, 8);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < header.size(); ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return wanted && *wanted == sum;
}

/// What headers say of the member that follows them.
struct Ahead {
  std::string name;
  std::optional<std::int64_t> size;
};

/// Records "LENGTH KEY=VALUE\n" of a pax header; false if they are damaged.
bool read_pax(std::string_view records, Ahead& ahead) {
  while (!records.empty() && records.front() != '\0') {
    const std::size_t blank = records.find(' ');
    if (blank == std::string_view::npos) return false;
    const auto length = parse_integer(records.substr(0, blank));
    if (!length || *length <= static_cast<std::int64_t>(blank) + 1 || *length > std::ssize(records)) return false;
    const std::string_view record = records.substr(blank + 1, static_cast<std::size_t>(*length) - blank - 2);
    records.remove_prefix(static_cast<std::size_t>(*length));
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    if (record.substr(0, equals) == "path") ahead.name = record.substr(equals + 1);
    if (record.substr(0, equals) != "size") continue;
    ahead.size = parse_integer(record.substr(equals + 1));
    if (!ahead.size || *ahead.size < 0) return false;
  }
  return true;
}

std::string plain_name(std::string_view header) {
  std::string name(field(header, 0, 100));
  const bool posix = header.substr(257, 6) == std::string_view("ustar\0", 6);
  const std::string_view prefix = field(header, 345, 155);
  return posix && !prefix.empty() ? fmt::format("{}/{}", prefix, name) : name;
}

}  // namespace

TarListing list_tar(const RangeFile& file) {
  TarListing listing;
  const auto damaged = [&](std::string reason) {
    listing.damage = std::move(reason);
    return listing;
  };
  if (file.size() == 0) return damaged("the file is empty");
  Ahead ahead;
  for (std::int64_t at = 0; at < file.size();) {
    const std::string header = file.read(at, block);
    if (std::ssize(header) < block)
      return damaged(fmt::format("a header ends early at byte {}", at + std::ssize(header)));
    if (std::ranges::all_of(header, [](char byte) { return byte == '\0'; })) return listing;
    if (!checksum_matches(header)) return damaged(fmt::format("the header at byte {} does not match its checksum", at));
    const char kind = header[156];
    const auto stated = number(header, 124, 12);
    const bool regular = kind == '0' || kind == '\0' || kind == '7';
    const std::int64_t size = regular && ahead.size ? *ahead.size : stated.value_or(-1);
    if (size < 0) return damaged(fmt::format("the header at byte {} has no size", at));
    const std::string name = ahead.name.empty() ? plain_name(header) : ahead.name;
    const std::int64_t begin = at + block;
    if (size > file.size() - begin)
      return damaged(fmt::format("it ends early: `{}` needs {} bytes, {} are there", name, size, file.size() - begin));
    at = begin + (size + block - 1) / block * block;
    if (kind == 'L' || kind == 'x') {
      if (size > longest_name) return damaged(fmt::format("the header at byte {} is too long", begin - block));
      const std::string content = file.read(begin, size);
      if (kind == 'L') {
        ahead.name = content.substr(0, content.find('\0'));
      } else if (!read_pax(content, ahead)) {
        return damaged(fmt::format("the pax header at byte {} is damaged", begin - block));
      }
      continue;
    }
    if (regular) listing.members.push_back({name, begin, size});
    if (kind != 'g') ahead = {};
  }
  return listing;
}

}  // namespace kasimir
