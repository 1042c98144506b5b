// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/mask_folder.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/data/folder.h"
#include "kasimir/data/parts.h"

#include <algorithm>
#include <map>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

struct ImageAndMask {
  fs::path image;
  fs::path mask;
};

bool holds_masks(const fs::path& folder) {
  return fs::is_directory(folder / "images") && fs::is_directory(folder / "masks");
}

/// By stem, in the byte order of the stems.
std::map<std::string, fs::path> pictures_in(const fs::path& folder) {
  std::map<std::string, fs::path> found;
  for (const auto& entry : sorted_entries(folder)) {
    if (!has_image_extension(entry.path())) continue;
    const auto [other, fresh] = found.emplace(entry.path().stem().string(), entry.path());
    if (!fresh)
      throw input_error("{} and {} have one stem", other->second.string(), entry.path().string())
          .note("each picture has one mask of the same stem");
  }
  return found;
}

std::vector<ImageAndMask> list_pairs(const fs::path& folder) {
  const auto images = pictures_in(folder / "images");
  const auto masks = pictures_in(folder / "masks");
  std::vector<ImageAndMask> pairs;
  for (const auto& [stem, image] : images) {
    const auto mask = masks.find(stem);
    if (mask == masks.end())
      throw input_error("{} has no mask: {} with .png is needed", image.string(), (folder / "masks" / stem).string());
    pairs.push_back({image, mask->second});
  }
  for (const auto& [stem, mask] : masks)
    if (!images.contains(stem))
      throw input_error("{} has no picture: {} with .jpg, .jpeg or .png is needed", mask.string(),
                        (folder / "images" / stem).string());
  if (pairs.empty())
    throw input_error("{} holds no JPEG or PNG file (.jpg, .jpeg, .png)", (folder / "images").string());
  return pairs;
}

/// Pictures that count as readable only with their masks.
class MaskedFiles : public ImageFiles {
 public:
  explicit MaskedFiles(std::vector<ImageAndMask> pairs) : pairs_(std::move(pairs)) {}
  [[nodiscard]] std::int64_t size() const override { return std::ssize(pairs_); }
  [[nodiscard]] std::string name(std::int64_t index) const override { return pair(index).image.string(); }
  [[nodiscard]] DecodedImage decode(std::int64_t index) const override {
    DecodedImage image = decode_image(read_file(pair(index).image), name(index));
    mask(index, image.height, image.width);
    return image;
  }
  [[nodiscard]] DecodedImage mask(std::int64_t index) const {
    const std::string file = pair(index).mask.string();
    DecodedImage mask = decode_image(read_file(pair(index).mask), file);
    if (!mask.grey) throw input_error("{} has colour: a mask is grey, its pixels are classes", file);
    return mask;
  }

 private:
  void mask(std::int64_t index, int height, int width) const {
    const DecodedImage found = mask(index);
    if (found.height != height || found.width != width)
      throw input_error("{} is {} x {} pixels, but {} is {} x {}", pair(index).mask.string(), found.height, found.width,
                        name(index), height, width);
  }
  [[nodiscard]] const ImageAndMask& pair(std::int64_t index) const { return pairs_[static_cast<std::size_t>(index)]; }

  std::vector<ImageAndMask> pairs_;
};

struct MaskedPart {
  std::shared_ptr<const MaskedFiles> files;
  std::vector<std::int32_t> chosen;  // of the files

  explicit MaskedPart(const fs::path& folder) : files(std::make_shared<MaskedFiles>(list_pairs(folder))) {
    for (std::int32_t i = 0; i < files->size(); ++i) chosen.push_back(i);
  }
  [[nodiscard]] EncodedPart encoded() const {
    return {chosen_files(files, chosen), std::vector<std::int32_t>(chosen.size(), 0)};
  }
  void limit(std::int64_t count, std::uint64_t seed) {
    if (count == 0 || count >= std::ssize(chosen)) return;
    const std::vector<std::int32_t> labels(static_cast<std::size_t>(files->size()), 0);
    chosen = stratified_subset(labels, chosen, count, seed);
  }

  /// The masks of the images that were kept, brought to the size of the set.
  void add_masks(ImageSet& set, const std::vector<std::int32_t>& kept) const {
    for (const std::int32_t i : kept) {
      const DecodedImage mask = files->mask(chosen[static_cast<std::size_t>(i)]);
      for (int y = 0; y < set.height; ++y) {
        const int from_y = static_cast<int>((2 * std::int64_t{y} + 1) * mask.height / (2 * std::int64_t{set.height}));
        for (int x = 0; x < set.width; ++x) {
          const int from_x = static_cast<int>((2 * std::int64_t{x} + 1) * mask.width / (2 * std::int64_t{set.width}));
          set.masks.push_back(mask.planes[static_cast<std::size_t>(from_y) * static_cast<std::size_t>(mask.width) +
                                          static_cast<std::size_t>(from_x)]);
        }
      }
    }
  }
};

bool only_black_and_white(const ImageSet& set) {
  return std::ranges::all_of(set.masks, [](std::uint8_t value) { return value == 0 || value == 255; });
}

std::int64_t class_count(const ImageSet& set) { return 1 + std::int64_t{*std::ranges::max_element(set.masks)}; }

}  // namespace

bool looks_like_mask_folder(const fs::path& root) { return holds_masks(root) || holds_masks(root / "train"); }

Dataset load_mask_folder(const fs::path& root, const LoadOptions& options, const LoadProgress& progress) {
  Dataset data;
  data.target = TargetKind::masks;
  data.description = fmt::format("images and masks in {}", root.string());
  const bool parted = holds_masks(root / "train");
  if (parted && !holds_masks(root / "test"))
    throw input_error("{} has no test/images/ and test/masks/", root.string())
        .note(fmt::format("found: {}", entries_text(root)));
  MaskedPart train(parted ? root / "train" : root);
  MaskedPart test = parted ? MaskedPart(root / "test") : train;
  if (!parted) {
    const Split split = apart_for_test(root.string(), train.encoded().labels, options.seed);
    train.chosen = split.train;
    test.chosen = split.validation;
    data.description += apart_text(options.seed);
  }
  train.limit(options.train_limit, options.seed);
  test.limit(options.test_limit, options.seed);
  EncodedSets sets = read_encoded(root.string(), train.encoded(), test.encoded(), {}, options, progress);
  train.add_masks(sets.train, sets.train_kept);
  test.add_masks(sets.test, sets.test_kept);
  if (only_black_and_white(sets.train) && only_black_and_white(sets.test)) {
    for (ImageSet* set : {&sets.train, &sets.test})
      for (std::uint8_t& value : set->masks) value = value == 255 ? 1 : 0;
    data.description += "; masks of 0 and 255 are classes 0 and 1";
  }
  if (class_count(sets.test) > class_count(sets.train))
    throw input_error("{}: a test mask has the class {}, which no training mask has", root.string(),
                      class_count(sets.test) - 1);
  data.classes = numbered_classes(class_count(sets.train));
  if (sets.streamed) data.description += "; streamed";
  data.train = std::move(sets.train);
  data.test = std::move(sets.test);
  data.corrupt = std::move(sets.corrupt);
  return data;
}

}  // namespace kasimir
