// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/image_folder.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/data/folder.h"
#include "kasimir/data/image_file.h"
#include "kasimir/data/parallel.h"
#include "kasimir/data/resize.h"
#include "kasimir/data/split.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

struct Listing {
  std::vector<std::string> classes;
  std::vector<fs::path> files;
  std::vector<std::int32_t> labels;
  std::map<std::string, std::int64_t> ignored;  // by kind: ".txt", "folder", "without extension"
};

std::string kind_of(const fs::directory_entry& entry) {
  std::error_code failed;
  if (entry.is_directory(failed)) return "folder";
  return entry.path().has_extension() ? entry.path().extension().string() : "without extension";
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code failed;
  return entry.is_directory(failed);
}

void list_class(const fs::path& folder, Listing& listing) {
  const std::size_t before = listing.files.size();
  for (const auto& entry : sorted_entries(folder)) {
    if (!is_folder(entry) && has_image_extension(entry.path())) {
      listing.files.push_back(entry.path());
      listing.labels.push_back(static_cast<std::int32_t>(listing.classes.size()));
    } else {
      ++listing.ignored[kind_of(entry)];
    }
  }
  if (listing.files.size() == before) {
    Error error = input_error("{} holds no JPEG or PNG file (.jpg, .jpeg, .png)", folder.string());
    const std::string found = entries_text(folder);
    error.note(found.empty() ? "the folder is empty" : fmt::format("found: {}", found));
    throw error.note("each class needs images: add some, or remove the folder");
  }
  listing.classes.push_back(folder.filename().string());
}

Listing list_part(const fs::path& root, const char* part) {
  const fs::path folder = root / part;
  if (!fs::is_directory(folder))
    throw input_error("{} has no folder {}/", root.string(), part)
        .note(fmt::format("found: {}", entries_text(root)))
        .note("images go into train/<class>/ and test/<class>/");
  Listing listing;
  for (const auto& entry : sorted_entries(folder)) {
    if (is_folder(entry)) {
      list_class(entry.path(), listing);
    } else {
      ++listing.ignored[kind_of(entry)];
    }
  }
  if (listing.classes.size() < 2) {
    Error error = input_error("{} has {} class folder{}, at least 2 needed", folder.string(), listing.classes.size(),
                              listing.classes.size() == 1 ? "" : "s");
    const std::string found = entries_text(folder);
    error.note(found.empty() ? "the folder is empty" : fmt::format("found: {}", found));
    throw error.note("images go into train/<class>/ and test/<class>/");
  }
  return listing;
}

void check_classes(const fs::path& root, const std::vector<std::string>& train, const std::vector<std::string>& test) {
  for (const std::string& name : test) {
    if (!std::binary_search(train.begin(), train.end(), name))
      throw input_error("{} has no counterpart in train/: the classes of both must be the same",
                        (root / "test" / name).string())
          .note(suggestion(name, train));
  }
  for (const std::string& name : train) {
    if (!std::binary_search(test.begin(), test.end(), name))
      throw input_error("{} has no counterpart in test/: the classes of both must be the same",
                        (root / "train" / name).string())
          .note(fmt::format("add test/{} with its images, or remove train/{}", name, name));
  }
}

std::string ignored_text(const Listing& train, const Listing& test) {
  std::map<std::string, std::int64_t> kinds = train.ignored;
  for (const auto& [kind, count] : test.ignored) kinds[kind] += count;
  std::int64_t total = 0;
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds) {
    total += count;
    parts.push_back(fmt::format("{} {}", count, kind));
  }
  if (total == 0) return "";
  return fmt::format("; ignored {} {} neither JPEG nor PNG files: {}", total,
                     total == 1 ? "entry that is" : "entries that are", join(parts, ", "));
}

void keep_some(Listing& listing, std::int64_t limit, std::uint64_t seed) {
  if (limit == 0 || limit >= static_cast<std::int64_t>(listing.files.size())) return;
  Listing kept{.classes = listing.classes, .files = {}, .labels = {}, .ignored = listing.ignored};
  for (const std::int32_t index : stratified_subset(listing.labels, limit, seed)) {
    kept.files.push_back(std::move(listing.files[static_cast<std::size_t>(index)]));
    kept.labels.push_back(listing.labels[static_cast<std::size_t>(index)]);
  }
  listing = std::move(kept);
}

DecodedImage decode_file(const fs::path& path) { return decode_image(read_file(path), path.string()); }

void check_memory(const fs::path& root, std::int64_t images, ImageSize size, std::int64_t limit) {
  const double needed = 3.0 * size.height * size.width * static_cast<double>(images);
  if (needed <= static_cast<double>(limit)) return;
  throw input_error("{}: {} images of {} x {} pixels need {}B of memory, {}B allowed", root.string(), grouped(images),
                    size.height, size.width, si(needed), si(static_cast<double>(limit)))
      .note("scale the images to a smaller size, or limit their number");
}

/// Decodes files into sets of one image size, three channels each.
class FolderDecoder {
 public:
  FolderDecoder(ImageSize size, bool resize, fs::path first, int threads)
      : size_(size), resize_(resize), first_(std::move(first)), threads_(threads) {}

  ImageSet decode(const Listing& listing, const std::function<void(std::int64_t)>& progress) {
    ImageSet set{.channels = 3, .height = size_.height, .width = size_.width, .pixels = {}, .labels = listing.labels};
    const std::size_t bytes = set.image_bytes();
    set.pixels.resize(bytes * listing.files.size());
    const auto one = [&](std::int64_t index) {
      const auto i = static_cast<std::size_t>(index);
      decode_into(listing.files[i], std::span(set.pixels).subspan(i * bytes, bytes));
    };
    for_each_index(static_cast<std::int64_t>(listing.files.size()), threads_, one, progress);
    return set;
  }

  /// True if any file decoded so far has colour.
  [[nodiscard]] bool colour() const { return colour_; }

 private:
  void decode_into(const fs::path& file, std::span<std::uint8_t> target) {
    const DecodedImage image = decode_file(file);
    if (!image.grey) colour_.store(true, std::memory_order_relaxed);
    if (image.height == size_.height && image.width == size_.width) {
      std::copy(image.planes.begin(), image.planes.end(), target.begin());
      return;
    }
    if (!resize_)
      throw input_error("{} is {} x {} pixels, but {} is {} x {}: all images must have one size", file.string(),
                        image.height, image.width, first_.string(), size_.height, size_.width)
          .note("give a size to scale all images to, or remove or replace the file");
    const Resizer resizer({image.height, image.width}, size_);
    const std::size_t from = image.planes.size() / 3;
    const std::size_t to = target.size() / 3;
    for (std::size_t c = 0; c < 3; ++c)
      resizer.apply(std::span(image.planes).subspan(c * from, from), target.subspan(c * to, to));
  }

  ImageSize size_;
  bool resize_;
  fs::path first_;
  int threads_;
  std::atomic<bool> colour_{false};
};

/// Keeps one of three equal channels.
void make_grey(ImageSet& set) {
  const std::size_t plane = set.image_bytes() / 3;
  for (std::size_t i = 0; i < set.labels.size(); ++i)
    std::copy_n(set.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i * plane), plane,
                set.pixels.begin() + static_cast<std::ptrdiff_t>(i * plane));
  set.pixels.resize(set.labels.size() * plane);
  set.pixels.shrink_to_fit();
  set.channels = 1;
}

}  // namespace

bool looks_like_image_folder(const fs::path& root) {
  return fs::is_directory(root / "train") || fs::is_directory(root / "test");
}

Dataset load_image_folder(const fs::path& root, const LoadOptions& options, const LoadProgress& progress) {
  Listing train = list_part(root, "train");
  Listing test = list_part(root, "test");
  check_classes(root, train.classes, test.classes);
  keep_some(train, options.train_limit, options.seed);
  keep_some(test, options.test_limit, options.seed);

  ImageSize size;
  if (options.resize) {
    size = *options.resize;
  } else {
    const DecodedImage first = decode_file(train.files.front());
    size = {first.height, first.width};
  }
  const auto train_count = static_cast<std::int64_t>(train.files.size());
  const std::int64_t total = train_count + static_cast<std::int64_t>(test.files.size());
  check_memory(root, total, size, options.memory_limit);

  const auto from = [&](std::int64_t start) -> std::function<void(std::int64_t)> {
    if (!progress) return nullptr;
    return [&progress, start, total](std::int64_t done) { progress(start + done, total); };
  };
  const int machine = static_cast<int>(std::thread::hardware_concurrency());
  FolderDecoder decoder(size, options.resize.has_value(), train.files.front(),
                        options.threads == 0 ? machine : options.threads);
  Dataset data;
  data.description = fmt::format("image folders in {}{}", root.string(), ignored_text(train, test));
  data.classes = train.classes;
  data.train = decoder.decode(train, from(0));
  data.test = decoder.decode(test, from(train_count));
  if (!decoder.colour()) {
    make_grey(data.train);
    make_grey(data.test);
  }
  return data;
}

}  // namespace kasimir
