// SPDX-License-Identifier: Apache-2.0
#include "archive_files.h"

#include <fmt/format.h>
#include <zlib.h>

#include <stdexcept>

namespace kasimir::test {
namespace {

std::string little(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += i < 8 ? static_cast<char>(value >> (8 * i) & 0xFF) : '\0';
  return bytes;
}

std::string deflate_raw(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("zlib");
  std::string packed(deflateBound(&stream, content.size()) + 16, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<unsigned char*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("zlib");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string npy_bytes(const std::string& type, const std::string& shape, std::string_view elements, int version,
                      bool fortran) {
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type, fortran ? "True" : "False", shape);
  const std::size_t fixed = version == 1 ? 10 : 12;
  text.append((64 - (fixed + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  return "\x93NUMPY" + little(static_cast<std::uint64_t>(version), 2) + little(text.size(), version == 1 ? 2 : 4) +
         text + std::string(elements);
}

std::string zip_bytes(const Entries& entries, bool deflated, bool wide) {
  std::string file;
  std::string directory;
  for (const auto& [name, content] : entries) {
    const std::string packed = deflated ? deflate_raw(content) : content;
    const auto crc = crc32_z(0, reinterpret_cast<const unsigned char*>(content.data()), content.size());
    const std::string extra =
        wide ? little(1, 2) + little(16, 2) + little(content.size(), 8) + little(packed.size(), 8) : "";
    const std::string facts =
        little(deflated ? 8 : 0, 2) + little(0, 4) + little(crc, 4) + little(wide ? 0xFFFFFFFF : packed.size(), 4) +
        little(wide ? 0xFFFFFFFF : content.size(), 4) + little(name.size(), 2) + little(extra.size(), 2);
    directory += "PK\1\2" + little(45, 2) + little(45, 2) + little(0, 2) + facts + little(0, 10) +
                 little(file.size(), 4) + name + extra;
    file += "PK\3\4" + little(45, 2) + little(0, 2) + facts + name + extra + packed;
  }
  const std::size_t begin = file.size();
  return file + directory + "PK\5\6" + little(0, 4) + little(entries.size(), 2) + little(entries.size(), 2) +
         little(directory.size(), 4) + little(begin, 4) + little(0, 2);
}

std::string tar_member_bytes(const std::string& name, std::string_view content, char kind) {
  std::string header(512, '\0');
  header.replace(0, std::min<std::size_t>(name.size(), 100), name.substr(0, 100));
  header.replace(100, 8, std::string("0000644\0", 8));
  header.replace(124, 12, fmt::format("{:011o}", content.size()) + '\0');
  header.replace(148, 8, "        ");
  header[156] = kind;
  header.replace(257, 8, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  std::string all = header + std::string(content);
  all.append((512 - content.size() % 512) % 512, '\0');
  return all;
}

std::string pax_name_bytes(const std::string& name) {
  const std::string record = fmt::format(" path={}\n", name);
  std::size_t length = record.size() + 1;
  while (fmt::format("{}", length).size() + record.size() != length) ++length;
  return tar_member_bytes("pax", fmt::format("{}{}", length, record), 'x');
}

std::string tar_bytes(const Entries& entries) {
  std::string file;
  for (const auto& [name, content] : entries) {
    if (name.size() > 100) file += tar_member_bytes("././@LongLink", name + '\0', 'L');
    file += tar_member_bytes(name, content, '0');
  }
  return file + std::string(1024, '\0');
}

}  // namespace kasimir::test
