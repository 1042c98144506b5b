// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/image_folder.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/data/encoded.h"
#include "kasimir/data/folder.h"
#include "kasimir/data/image_file.h"
#include "kasimir/data/split.h"

#include <algorithm>
#include <map>

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

class FolderFiles : public ImageFiles {
 public:
  explicit FolderFiles(std::vector<fs::path> files) : files_(std::move(files)) {}
  [[nodiscard]] std::int64_t size() const override { return std::ssize(files_); }
  [[nodiscard]] std::string name(std::int64_t index) const override { return path(index).string(); }
  [[nodiscard]] DecodedImage decode(std::int64_t index) const override {
    return decode_image(read_file(path(index)), name(index));
  }

 private:
  [[nodiscard]] const fs::path& path(std::int64_t index) const { return files_[static_cast<std::size_t>(index)]; }

  std::vector<fs::path> files_;
};

EncodedPart part_of(Listing& listing) {
  return {std::make_shared<FolderFiles>(std::move(listing.files)), std::move(listing.labels)};
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

  EncodedSets sets = read_encoded(root.string(), part_of(train), part_of(test), {}, options, progress);
  Dataset data;
  data.description = fmt::format("image folders in {}{}{}", root.string(), ignored_text(train, test),
                                 sets.streamed ? "; streamed" : "");
  data.classes = train.classes;
  data.train = std::move(sets.train);
  data.test = std::move(sets.test);
  data.corrupt = std::move(sets.corrupt);
  return data;
}

}  // namespace kasimir
