// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/cifar.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/data/folder.h"

#include <algorithm>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

constexpr int side = 32;
constexpr std::size_t image_bytes = std::size_t{3} * side * side;

struct Variant {
  std::string name;
  std::vector<std::string> train;
  std::string test;
  std::string names;
  std::size_t label_bytes;  // the last of them is the label used
  int classes;
};

Variant cifar10() {
  return {.name = "CIFAR-10",
          .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
          .test = "test_batch.bin",
          .names = "batches.meta.txt",
          .label_bytes = 1,
          .classes = 10};
}

Variant cifar100() {
  return {.name = "CIFAR-100",
          .train = {"train.bin"},
          .test = "test.bin",
          .names = "fine_label_names.txt",
          .label_bytes = 2,
          .classes = 100};
}

bool any_exists(const fs::path& folder, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return fs::exists(folder / name); });
}

bool holds(const fs::path& folder, const Variant& variant) {
  return any_exists(folder, variant.train) || any_exists(folder, {variant.test, variant.names});
}

/// The version for Python, which is a program for its pickle machine and not data alone.
bool holds_pickles(const fs::path& folder) {
  return any_exists(folder, {"data_batch_1", "test_batch", "batches.meta"}) ||
         (any_exists(folder, {"meta"}) && any_exists(folder, {"train", "test"}) &&
          fs::is_regular_file(folder / "meta"));
}

void append_records(const fs::path& path, const Variant& variant, ImageSet& set) {
  if (!fs::exists(path))
    throw input_error("{} is missing", path.string())
        .note(fmt::format("found: {}", entries_text(path.parent_path())))
        .note(fmt::format("{} needs {} and {}", variant.name, join(variant.train, ", "), variant.test));
  const std::string content = read_file(path);
  const std::size_t record = variant.label_bytes + image_bytes;
  if (content.empty() || content.size() % record != 0)
    throw input_error("{}: {} bytes found, a multiple of {} needed ({} label byte{} and 3 x 32 x 32 pixels an image)",
                      path.string(), content.size(), record, variant.label_bytes, variant.label_bytes == 1 ? "" : "s")
        .note("get the file again; nothing was changed");
  set.pixels.reserve(set.pixels.size() + content.size());
  for (std::size_t at = 0; at < content.size(); at += record) {
    const int label = static_cast<unsigned char>(content[at + variant.label_bytes - 1]);
    if (label >= variant.classes)
      throw input_error("{}: image {} has label {}, but {} has the labels 0 to {}", path.string(), at / record, label,
                        variant.name, variant.classes - 1)
          .note("get the file again; nothing was changed");
    set.labels.push_back(label);
    const auto first = content.begin() + static_cast<std::ptrdiff_t>(at + variant.label_bytes);
    set.pixels.insert(set.pixels.end(), first, first + static_cast<std::ptrdiff_t>(image_bytes));
  }
}

ImageSet read_set(const fs::path& folder, const Variant& variant, const std::vector<std::string>& files) {
  ImageSet set;
  set.channels = 3;
  set.height = side;
  set.width = side;
  for (const std::string& file : files) append_records(folder / file, variant, set);
  return set;
}

std::vector<std::string> read_names(const fs::path& path, const Variant& variant) {
  std::vector<std::string> names;
  for (const std::string& line : split(read_file(path), '\n')) {
    if (!trim(line).empty()) names.emplace_back(trim(line));
  }
  if (names.size() != static_cast<std::size_t>(variant.classes))
    throw input_error("{}: {} class names found, {} needed", path.string(), names.size(), variant.classes);
  return names;
}

}  // namespace

bool looks_like_cifar(const fs::path& folder) {
  return holds(folder, cifar10()) || holds(folder, cifar100()) || holds_pickles(folder);
}

Dataset load_cifar(const fs::path& folder) {
  const Variant variant = holds(folder, cifar10()) ? cifar10() : cifar100();
  if (!holds(folder, variant))
    throw input_error("{} holds the Python version of CIFAR, which is not read", folder.string())
        .note("get the binary version: its files end with .bin");
  Dataset data;
  data.description = fmt::format("{} binary files in {}", variant.name, folder.string());
  data.train = read_set(folder, variant, variant.train);
  data.test = read_set(folder, variant, {variant.test});
  if (fs::exists(folder / variant.names)) {
    data.classes = read_names(folder / variant.names, variant);
  } else {
    data.description += fmt::format("; no {}, so the classes are called by their numbers", variant.names);
    for (int i = 0; i < variant.classes; ++i) data.classes.push_back(fmt::format("{}", i));
  }
  return data;
}

}  // namespace kasimir
