// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/npy.h"
#include "kasimir/data/zip.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// Named arrays: the entries of an .npz file, or the .npy files of a folder.
class ArrayStore {
 public:
  /// @throws Error (input) as ZipFile.
  explicit ArrayStore(const std::filesystem::path& where);

  [[nodiscard]] std::vector<std::string> names() const;  ///< without .npy
  /// The array that is called so in small letters, if there is one.
  [[nodiscard]] std::optional<std::string> find(const std::string& lower) const;
  [[nodiscard]] std::int64_t bytes(const std::string& name) const;  ///< of the .npy file
  [[nodiscard]] NpyArray load(const std::string& name) const;
  /// How messages call an array.
  [[nodiscard]] std::string title(const std::string& name) const;

  /// An array that lies in a file as it is.
  struct Raw {
    std::filesystem::path path;
    std::int64_t begin = 0;  ///< of the first element
    NpyHeader header;
  };
  /// Nothing if the array is packed.
  [[nodiscard]] std::optional<Raw> raw(const std::string& name) const;

 private:
  struct Item {
    std::string name;
    std::filesystem::path path;
    std::int64_t bytes = 0;
    const ZipEntry* entry = nullptr;
  };
  [[nodiscard]] const Item& item(const std::string& name) const;

  std::filesystem::path where_;
  std::unique_ptr<ZipFile> zip_;
  std::vector<Item> items_;
};

}  // namespace kasimir
