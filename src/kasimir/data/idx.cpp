// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/idx.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/data/folder.h"
#include "kasimir/data/gzip.h"

#include <algorithm>
#include <optional>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t magic_images = 0x803;  // unsigned bytes, 3 dimensions
constexpr std::uint32_t magic_labels = 0x801;  // unsigned bytes, 1 dimension
constexpr std::uint32_t max_extent = 0xFFFF;

/// The file called `stem`, with its usual spellings: `-idx3-ubyte` or `.idx3-ubyte`, packed or not.
std::optional<fs::path> find_part(const fs::path& folder, const std::vector<std::string>& stems, int dimensions) {
  for (const std::string& stem : stems) {
    for (const char* joint : {"-", "."}) {
      for (const char* ending : {"", ".gz"}) {
        fs::path path = folder / fmt::format("{}{}idx{}-ubyte{}", stem, joint, dimensions, ending);
        if (fs::exists(path)) return path;
      }
    }
  }
  return std::nullopt;
}

fs::path need_part(const fs::path& folder, const std::vector<std::string>& stems, int dimensions) {
  if (auto path = find_part(folder, stems, dimensions)) return *path;
  throw input_error("{} has no {}-idx{}-ubyte (nor the same with .gz)", folder.string(), stems.front(), dimensions)
      .note(fmt::format("found: {}", entries_text(folder)))
      .note(
          "IDX data has images (idx3) and labels (idx1), for training (train-..) and for testing (t10k-.. or test-..)");
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// The content of an IDX file whose header has been checked.
struct IdxFile {
  std::string name;
  std::string content;
  std::vector<std::uint32_t> dims;

  [[nodiscard]] std::string_view elements() const { return std::string_view(content).substr(4 + 4 * dims.size()); }
};

void check_length(const IdxFile& file, std::uint64_t needed) {
  if (file.content.size() == needed) return;
  std::vector<std::string> dims;
  for (const std::uint32_t d : file.dims) dims.push_back(fmt::format("{}", d));
  throw input_error("{}: {} bytes found, {} needed (a header of {} bytes and {} elements)", file.name,
                    file.content.size(), needed, 4 + 4 * dims.size(), join(dims, " x "))
      .note("get the file again; nothing was changed");
}

IdxFile read_idx(const fs::path& path, std::uint32_t magic) {
  IdxFile file{.name = path.string(), .content = read_file(path), .dims = {}};
  if (path.extension() == ".gz") file.content = gunzip(file.content, file.name);
  const std::uint32_t dimensions = magic & 0xFF;
  const std::size_t header = 4 + 4 * dimensions;
  if (file.content.size() < header)
    throw input_error("{}: {} bytes found, {} needed for the header", file.name, file.content.size(), header)
        .note("get the file again; nothing was changed");
  if (big_endian(file.content, 0) != magic)
    throw input_error("{}: magic number 0x{:08x} found, 0x{:08x} needed (unsigned bytes in {} dimension{})", file.name,
                      big_endian(file.content, 0), magic, dimensions, dimensions == 1 ? "" : "s");
  std::uint64_t needed = 1;
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    const std::uint32_t extent = big_endian(file.content, 4 + 4 * d);
    if (extent == 0) throw input_error("{}: dimension {} is 0, so the file holds no data", file.name, d);
    if (d > 0 && extent > max_extent)
      throw input_error("{}: images of {} pixels a side found, at most {} allowed", file.name, extent, max_extent);
    file.dims.push_back(extent);
    needed *= extent;
  }
  check_length(file, needed + header);
  return file;
}

ImageSet read_set(const fs::path& folder, const std::vector<std::string>& prefixes) {
  std::vector<std::string> image_stems;
  std::vector<std::string> label_stems;
  for (const std::string& prefix : prefixes) {
    image_stems.push_back(prefix + "-images");
    label_stems.push_back(prefix + "-labels");
  }
  const fs::path image_path = need_part(folder, image_stems, 3);
  const fs::path label_path = need_part(folder, label_stems, 1);
  const IdxFile images = read_idx(image_path, magic_images);
  const IdxFile labels = read_idx(label_path, magic_labels);
  if (labels.dims[0] != images.dims[0])
    throw input_error("{} holds {} labels, but {} holds {} images", labels.name, labels.dims[0], images.name,
                      images.dims[0])
        .note("the two files do not belong together");
  ImageSet set;
  set.channels = 1;
  set.height = static_cast<int>(images.dims[1]);
  set.width = static_cast<int>(images.dims[2]);
  set.pixels.assign(images.elements().begin(), images.elements().end());
  set.labels.reserve(labels.dims[0]);
  for (const char label : labels.elements()) set.labels.push_back(static_cast<unsigned char>(label));
  return set;
}

}  // namespace

bool looks_like_idx(const fs::path& folder) {
  const auto entries = sorted_entries(folder);
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    const std::string name = entry.path().filename().string();
    return name.find("idx3-ubyte") != std::string::npos || name.find("idx1-ubyte") != std::string::npos;
  });
}

Dataset load_idx(const fs::path& folder) {
  Dataset data;
  data.description = fmt::format("IDX files in {}", folder.string());
  data.train = read_set(folder, {"train"});
  data.test = read_set(folder, {"t10k", "test"});
  if (data.test.height != data.train.height || data.test.width != data.train.width)
    throw input_error("{}: the test images are {} x {} pixels, but the training images are {} x {}", folder.string(),
                      data.test.height, data.test.width, data.train.height, data.train.width);
  const std::int32_t last = *std::max_element(data.train.labels.begin(), data.train.labels.end());
  const std::int32_t last_test = *std::max_element(data.test.labels.begin(), data.test.labels.end());
  if (last_test > last)
    throw input_error("{}: the test part has label {}, but the greatest label of the training part is {}",
                      folder.string(), last_test, last);
  for (std::int32_t label = 0; label <= last; ++label) data.classes.push_back(fmt::format("{}", label));
  return data;
}

}  // namespace kasimir
