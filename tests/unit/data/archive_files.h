// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kasimir::test {

using Entries = std::vector<std::pair<std::string, std::string>>;

/// A file of NumPy's format, version 1 to 3, around the given bytes.
std::string npy_bytes(const std::string& type, const std::string& shape, std::string_view elements, int version = 1,
                      bool fortran = false);

/// The elements as they lie in memory.
template <typename T>
std::string raw_bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A zip archive of stored or deflated entries; `wide` writes Zip64 sizes.
std::string zip_bytes(const Entries& entries, bool deflated, bool wide = false);

/// A tar archive: POSIX headers, GNU long names where a name needs them, and the closing empty blocks.
std::string tar_bytes(const Entries& entries);
/// A pax header that gives the next member this name.
std::string pax_name_bytes(const std::string& name);
/// One header and its content, padded.
std::string tar_member_bytes(const std::string& name, std::string_view content, char kind);

}  // namespace kasimir::test
