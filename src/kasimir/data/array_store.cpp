// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/array_store.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/data/folder.h"

#include <algorithm>

namespace kasimir {
namespace {

constexpr std::int64_t most_header = 1 << 16;

std::string without_ending(const std::string& name) {
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}

}  // namespace

ArrayStore::ArrayStore(const std::filesystem::path& where) : where_(where) {
  if (std::filesystem::is_directory(where)) {
    for (const auto& entry : sorted_entries(where))
      if (entry.path().extension() == ".npy")
        items_.push_back({entry.path().stem().string(), entry.path(), RangeFile(entry.path()).size(), nullptr});
    return;
  }
  zip_ = std::make_unique<ZipFile>(where);
  for (const ZipEntry& entry : zip_->entries())
    items_.push_back({without_ending(entry.name), where, entry.size, &entry});
}

std::vector<std::string> ArrayStore::names() const {
  std::vector<std::string> all;
  for (const Item& one : items_) all.push_back(one.name);
  return all;
}

std::optional<std::string> ArrayStore::find(const std::string& lower) const {
  const auto found = std::ranges::find_if(items_, [&](const Item& one) { return lower_case(one.name) == lower; });
  if (found == items_.end()) return std::nullopt;
  return found->name;
}

const ArrayStore::Item& ArrayStore::item(const std::string& name) const {
  const auto found = std::ranges::find(items_, name, &Item::name);
  KASIMIR_CHECK(found != items_.end(), "no array {}", name);
  return *found;
}

std::int64_t ArrayStore::bytes(const std::string& name) const { return item(name).bytes; }

std::string ArrayStore::title(const std::string& name) const {
  return zip_ ? fmt::format("{}: {}", where_.string(), name) : item(name).path.string();
}

NpyArray ArrayStore::load(const std::string& name) const {
  const Item& one = item(name);
  return read_npy(one.entry != nullptr ? zip_->content(*one.entry) : read_file(one.path), title(name));
}

std::optional<ArrayStore::Raw> ArrayStore::raw(const std::string& name) const {
  const Item& one = item(name);
  if (one.entry != nullptr && one.entry->method != 0) return std::nullopt;
  const std::int64_t begin = one.entry != nullptr ? zip_->begin(*one.entry) : 0;
  const RangeFile file(one.path);
  if (one.bytes > file.size() - begin)
    throw input_error("{}: {} bytes found, {} needed", title(name), file.size() - begin, one.bytes)
        .note("get the file again; nothing was changed");
  Raw raw{one.path, begin, read_npy_header(file.read(begin, std::min(one.bytes, most_header)), one.bytes, title(name))};
  raw.begin += raw.header.begin;
  return raw;
}

}  // namespace kasimir
