// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/zip.h"

#include "kasimir/base/error.h"

#include <zlib.h>

#include <algorithm>
#include <string_view>

namespace kasimir {
namespace {

constexpr std::int64_t end_record = 22;
constexpr std::int64_t locator_record = 20;
constexpr std::int64_t directory_record = 46;
constexpr std::int64_t local_record = 30;
constexpr std::int64_t longest_comment = 0xFFFF;
/// Deflate packs no more than 1032 bytes into one (zlib's technical details): a size beyond that is a lie.
constexpr std::int64_t most_packing = 1032;

std::uint64_t little(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

[[noreturn]] void fail(const RangeFile& file, const std::string& reason) {
  throw input_error("{}: {}", file.name(), reason).note("get the file again; nothing was changed");
}

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;
};

Directory find_directory(const RangeFile& file) {
  const std::int64_t tail = std::min(file.size(), end_record + longest_comment);
  const std::string bytes = file.read(file.size() - tail, tail);
  const std::size_t at = bytes.rfind(std::string_view("PK\5\6", 4));
  if (at == std::string::npos || at + end_record > bytes.size())
    fail(file, "it is no zip archive, or ends early: its end record is missing");
  Directory directory{little(bytes, at + 10, 2), little(bytes, at + 12, 4), little(bytes, at + 16, 4)};
  const std::int64_t end = file.size() - tail + static_cast<std::int64_t>(at);
  const bool small = directory.entries != 0xFFFF && directory.size != 0xFFFFFFFF && directory.begin != 0xFFFFFFFF;
  if (small || end < locator_record) return directory;
  const std::string locator = file.read(end - locator_record, locator_record);
  if (!locator.starts_with(std::string_view("PK\6\7", 4))) return directory;
  const std::uint64_t begin = little(locator, 8, 8);
  if (begin >= static_cast<std::uint64_t>(file.size())) fail(file, "its Zip64 end record lies beyond its end");
  const std::string record = file.read(static_cast<std::int64_t>(begin), 56);
  if (record.size() < 56 || !record.starts_with(std::string_view("PK\6\6", 4)))
    fail(file, "its Zip64 end record is damaged");
  return {little(record, 32, 8), little(record, 40, 8), little(record, 48, 8)};
}

/// The 64-bit numbers that stand for fields of 0xFFFFFFFF, in this order. False if they are missing.
bool read_zip64(std::string_view extra, std::initializer_list<std::uint64_t*> fields) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::size_t size = little(extra, at + 2, 2);
    if (at + 4 + size > extra.size()) break;
    if (little(extra, at, 2) == 1) {
      std::size_t next = at + 4;
      for (std::uint64_t* field : fields) {
        if (*field != 0xFFFFFFFF) continue;
        if (next + 8 > at + 4 + size) return false;
        *field = little(extra, next, 8);
        next += 8;
      }
      return true;
    }
    at += 4 + size;
  }
  return std::ranges::none_of(fields, [](const std::uint64_t* field) { return *field == 0xFFFFFFFF; });
}

std::string inflate_raw(const RangeFile& file, const ZipEntry& entry, const std::string& packed) {
  std::string content(static_cast<std::size_t>(entry.size), '\0');
  z_stream stream{};
  constexpr int raw = -15;
  KASIMIR_CHECK(::inflateInit2(&stream, raw) == Z_OK, "no zlib for {} bytes", packed.size());
  std::size_t fed = 0;
  std::size_t made = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    constexpr std::size_t most = std::size_t{1} << 30;  // zlib counts in 32 bits
    const std::size_t in = std::min(packed.size() - fed, most);
    const std::size_t out = std::min(content.size() - made, most);
    // zlib only reads from it, though its declaration does not say so
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data())) + fed;
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<unsigned char*>(content.data()) + made;
    stream.avail_out = static_cast<uInt>(out);
    code = ::inflate(&stream, Z_NO_FLUSH);
    fed += in - stream.avail_in;
    made += out - stream.avail_out;
  }
  ::inflateEnd(&stream);
  if (code != Z_STREAM_END || made != content.size())
    fail(file, fmt::format("the deflated data of {} is damaged", entry.name));
  return content;
}

}  // namespace

ZipFile::ZipFile(const std::filesystem::path& path) : file_(path) {
  const Directory directory = find_directory(file_);
  const auto size = static_cast<std::uint64_t>(file_.size());
  if (directory.begin > size || directory.size > size - directory.begin)
    fail(file_, "its directory lies beyond its end");
  const std::string bytes =
      file_.read(static_cast<std::int64_t>(directory.begin), static_cast<std::int64_t>(directory.size));
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (at + directory_record > bytes.size() || little(bytes, at, 4) != 0x02014b50)
      fail(file_, "its directory is damaged");
    const std::size_t name = little(bytes, at + 28, 2);
    const std::size_t extra = little(bytes, at + 30, 2);
    const std::size_t comment = little(bytes, at + 32, 2);
    if (at + directory_record + name + extra + comment > bytes.size()) fail(file_, "its directory is damaged");
    if ((little(bytes, at + 8, 2) & 1) != 0) fail(file_, "it is encrypted, which is not read");
    std::uint64_t packed = little(bytes, at + 20, 4);
    std::uint64_t whole = little(bytes, at + 24, 4);
    std::uint64_t header = little(bytes, at + 42, 4);
    const std::string_view all = bytes;
    if (!read_zip64(all.substr(at + directory_record + name, extra), {&whole, &packed, &header}) || packed > size ||
        header > size || whole > size * most_packing)
      fail(file_, "its directory is damaged");
    entries_.push_back({.name = bytes.substr(at + directory_record, name),
                        .method = static_cast<int>(little(bytes, at + 10, 2)),
                        .crc = static_cast<std::uint32_t>(little(bytes, at + 16, 4)),
                        .packed = static_cast<std::int64_t>(packed),
                        .size = static_cast<std::int64_t>(whole),
                        .header = static_cast<std::int64_t>(header)});
    at += directory_record + name + extra + comment;
  }
}

std::int64_t ZipFile::begin(const ZipEntry& entry) const {
  const std::string header = file_.read(entry.header, local_record);
  if (std::ssize(header) < local_record || little(header, 0, 4) != 0x04034b50)
    fail(file_, fmt::format("the header of {} is damaged", entry.name));
  return entry.header + local_record + static_cast<std::int64_t>(little(header, 26, 2) + little(header, 28, 2));
}

std::string ZipFile::content(const ZipEntry& entry) const {
  if (entry.method != 0 && entry.method != 8)
    throw input_error("{}: {} is packed by method {}, stored (0) or deflated (8) is needed", file_.name(), entry.name,
                      entry.method)
        .note("numpy.savez and numpy.savez_compressed write these");
  std::string content = file_.read(begin(entry), entry.packed);
  if (std::ssize(content) < entry.packed)
    fail(file_, fmt::format("{} ends early: {} bytes found, {} needed", entry.name, content.size(), entry.packed));
  if (entry.method == 8) content = inflate_raw(file_, entry, content);
  if (std::ssize(content) != entry.size)
    fail(file_, fmt::format("{} has {} bytes, the directory says {}", entry.name, content.size(), entry.size));
  const auto found = ::crc32_z(0, reinterpret_cast<const unsigned char*>(content.data()), content.size());
  if (found != entry.crc) fail(file_, fmt::format("the checksum of {} does not match", entry.name));
  return content;
}

}  // namespace kasimir
