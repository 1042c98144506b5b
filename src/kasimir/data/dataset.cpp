// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/dataset.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/data/arrays.h"
#include "kasimir/data/cifar.h"
#include "kasimir/data/fingerprint.h"
#include "kasimir/data/folder.h"
#include "kasimir/data/idx.h"
#include "kasimir/data/image_folder.h"
#include "kasimir/data/mask_folder.h"
#include "kasimir/data/resize.h"
#include "kasimir/data/split.h"
#include "kasimir/data/webdataset.h"

#include <algorithm>
#include <string_view>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

constexpr const char* understood =
    "understood: the name fashion-mnist; a folder with train/<class>/ and test/<class>/ of JPEG or PNG files, with "
    "images/ and masks/, with the binary files of CIFAR-10 or CIFAR-100, with IDX files, with NumPy arrays (x.npy, "
    "y.npy) or with tar shards; an .npz file; or tar shards such as path/{000..012}.tar";

bool looks_like_dataset(const fs::path& folder) {
  return looks_like_image_folder(folder) || looks_like_cifar(folder) || looks_like_idx(folder) ||
         looks_like_mask_folder(folder) || looks_like_arrays(folder.string()) || looks_like_webdataset(folder.string());
}

/// `a/b/` as `a/b`, so that the last part is the name.
fs::path without_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

[[noreturn]] void fail_unknown(const std::string& where) {
  const fs::path path = without_slash(where);
  const fs::path parent = path.parent_path();
  std::vector<std::string> known = parent.empty() ? builtin_datasets() : std::vector<std::string>{};
  const fs::path around = parent.empty() ? "." : parent;
  if (fs::is_directory(around)) {
    for (const auto& entry : sorted_entries(around)) {
      if (fs::is_directory(entry.path())) known.push_back(entry.path().filename().string());
    }
  }
  Error error = input_error("no data set `{}`: it is neither a built-in name nor a folder that exists", where);
  std::vector<std::string> near = nearest(path.filename().string(), known);
  for (std::string& name : near) name = fmt::format("`{}`", (parent / name).string());
  if (!near.empty()) error.note(fmt::format("did you mean {}?", join(near, " or ")));
  throw error.note(understood);
}

[[noreturn]] void fail_file(const fs::path& path) {
  Error error = input_error("{} is a file, a folder is needed", path.string());
  const std::string name = path.filename().string();
  if (name.ends_with(".tar.gz") || name.ends_with(".tgz"))
    error.note("shards are read where they are not packed: gunzip it, or extract the archive and give the folder");
  if (name.ends_with(".zip")) error.note("extract the archive and give the folder");
  throw error.note(understood);
}

[[noreturn]] void fail_layout(const fs::path& folder) {
  const std::string found = entries_text(folder);
  if (found.empty()) throw input_error("{} is an empty folder", folder.string()).note(understood);
  Error error = input_error("{} holds no data set that kasimir understands", folder.string());
  error.note(fmt::format("found: {}", found));
  for (const auto& entry : sorted_entries(folder)) {
    if (fs::is_directory(entry.path()) && looks_like_dataset(entry.path())) {
      error.note(fmt::format("did you mean `{}`?", entry.path().string()));
      break;
    }
  }
  throw error.note(understood);
}

Dataset load_fashion_mnist(const LoadOptions& options) {
  const fs::path folder = options.builtin_root / "fashion-mnist";
  if (!fs::is_directory(folder) || !looks_like_idx(folder))
    throw input_error("fashion-mnist is not installed: {} has no IDX files", folder.string())
        .note("install it with `apt-get install dataset-fashion-mnist` or `make setup`");
  Dataset data = load_idx(folder);
  // H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST", arXiv 1708.07747, table 2
  const std::vector<std::string> names = {"t-shirt", "trouser", "pullover", "dress", "coat",
                                          "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
  if (data.classes.size() != names.size())
    throw input_error("{}: {} classes found, Fashion-MNIST has {}", folder.string(), data.classes.size(), names.size())
        .note("install it again with `apt-get install --reinstall dataset-fashion-mnist`");
  data.classes = names;
  data.description = fmt::format("Fashion-MNIST, IDX files in {}", folder.string());
  return data;
}

/// A data set, and whether its fingerprint is made of those of its images, as it must be where they may be streamed.
struct Loaded {
  Dataset data;
  bool by_image = false;
};

Loaded load_place(const std::string& where, const LoadOptions& options, const LoadProgress& progress) {
  const fs::file_status status = fs::status(where);
  if (!fs::exists(status)) {
    if (looks_like_webdataset(where) && where.find('{') != std::string::npos)
      return {load_webdataset(where, options, progress), true};
    fail_unknown(where);
  }
  if (looks_like_arrays(where)) return {load_arrays(where, options), true};
  if (looks_like_webdataset(where)) return {load_webdataset(where, options, progress), true};
  if (!fs::is_directory(status)) fail_file(where);
  if (looks_like_mask_folder(where)) return {load_mask_folder(where, options, progress), true};
  if (looks_like_image_folder(where)) return {load_image_folder(where, options, progress), true};
  if (looks_like_cifar(where)) return {load_cifar(where), false};
  if (looks_like_idx(where)) return {load_idx(where), false};
  fail_layout(where);
}

std::string name_of(const std::string& where) {
  return without_slash(fs::absolute(where).lexically_normal()).filename().string();
}

Loaded load_whole(const std::string& where, const LoadOptions& options, const LoadProgress& progress) {
  const bool builtin = where == "fashion-mnist";
  try {
    Loaded loaded = builtin ? Loaded{load_fashion_mnist(options), false} : load_place(where, options, progress);
    loaded.data.name = builtin ? where : name_of(where);
    return loaded;
  } catch (const fs::filesystem_error& error) {
    throw input_error("cannot read {}: {}", error.path1().string(), error.code().message());
  }
}

void resize_images(ImageSet& set, ImageSize size) {
  if (set.height == size.height && set.width == size.width) return;
  if (set.stream || !set.masks.empty())
    throw input_error("arrays {} cannot be scaled", set.stream ? "that are streamed" : "with masks")
        .note("scale them before they are saved");
  const Resizer resizer({set.height, set.width}, size);
  ImageSet scaled{.channels = set.channels, .height = size.height, .width = size.width, .pixels = {}, .labels = {}};
  const std::size_t planes = set.labels.size() * static_cast<std::size_t>(set.channels);
  scaled.pixels.resize(set.labels.size() * scaled.image_bytes());
  const std::size_t from = set.pixels.size() / planes;
  const std::size_t to = scaled.pixels.size() / planes;
  for (std::size_t p = 0; p < planes; ++p)
    resizer.apply(std::span(set.pixels).subspan(p * from, from), std::span(scaled.pixels).subspan(p * to, to));
  scaled.labels = std::move(set.labels);
  scaled.values = std::move(set.values);
  set = std::move(scaled);
}

/// Cuts a part down to its limit; image folders come cut already, before their files are decoded.
void limit_images(ImageSet& set, std::int64_t limit, std::uint64_t seed) {
  if (limit == 0 || limit >= set.size()) return;
  if (set.stream)
    throw input_error("a limit of {} of {} images: arrays that are streamed cannot be cut down", limit, set.size())
        .note("save fewer images, or allow more memory (--data-memory)");
  set = select_images(set, stratified_subset(set.labels, limit, seed));
}

void check_limit(const char* part, std::int64_t limit, std::size_t classes) {
  if (limit != 0 && limit < static_cast<std::int64_t>(classes))
    throw input_error("a limit of {} {} images is too low for {} classes", limit, part, classes)
        .note(fmt::format("at least {} are needed", classes));
}

}  // namespace

std::vector<std::string> builtin_datasets() { return {"fashion-mnist"}; }

Dataset load_dataset(const std::string& where, const LoadOptions& options, const LoadProgress& progress) {
  KASIMIR_CHECK(options.threads >= 0 && options.train_limit >= 0 && options.test_limit >= 0,
                "{} threads, {} training and {} test images", options.threads, options.train_limit, options.test_limit);
  if (options.resize && (options.resize->height < 1 || options.resize->width < 1))
    throw input_error("cannot scale images to {} x {} pixels: both must be at least 1", options.resize->height,
                      options.resize->width);
  Loaded loaded = load_whole(where, options, progress);
  Dataset& data = loaded.data;
  const std::size_t classes = data.target == TargetKind::classes ? data.classes.size() : 1;
  check_limit("training", options.train_limit, classes);
  check_limit("test", options.test_limit, classes);
  limit_images(data.train, options.train_limit, options.seed);
  limit_images(data.test, options.test_limit, options.seed);
  if (options.resize) {
    resize_images(data.train, *options.resize);
    resize_images(data.test, *options.resize);
    data.description += fmt::format("; scaled to {} x {} pixels", options.resize->height, options.resize->width);
  }
  if (options.train_limit != 0 || options.test_limit != 0)
    data.description += fmt::format("; limited to {} training and {} test images (seed {})", data.train.size(),
                                    data.test.size(), options.seed);
  DataFingerprint fingerprint;
  for (const ImageSet* set : {&data.train, &data.test}) {
    if (loaded.by_image) {
      fingerprint.each_image(*set);
    } else {
      fingerprint.whole_images(*set);
    }
  }
  for (const std::string& name : data.classes) fingerprint.text(name);
  data.fingerprint = fingerprint.str();
  if (data.corrupt.count > 0) data.description += fmt::format("; {} corrupt left out", grouped(data.corrupt.count));
  if (progress) progress(data.train.size() + data.test.size(), data.train.size() + data.test.size());
  return std::move(data);
}

}  // namespace kasimir
