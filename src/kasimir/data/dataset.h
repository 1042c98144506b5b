// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/image_set.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// Height and width in pixels.
struct ImageSize {
  int height = 0;
  int width = 0;
  bool operator==(const ImageSize&) const = default;
};

/// What is to be learned of an image: its class, some numbers, or the class of each pixel.
enum class TargetKind { classes, values, masks };

/// What could not be read.
struct CorruptFiles {
  static constexpr std::size_t most_listed = 10;
  struct File {
    std::string name;
    std::string reason;
  };
  std::int64_t count = 0;
  std::vector<File> first;  ///< at most `most_listed` of them, in order
};

/// Where a value of 0 and of 1 was before the training part was brought to mean 0 and deviation 1.
struct ValueScale {
  double mean = 0;
  double deviation = 1;
};

/// A data set of images. Train and test have the same classes and image size.
struct Dataset {
  std::string name;         ///< the built-in name, or the name of the folder
  std::string description;  ///< where it came from, and what was ignored, limited or scaled: for the record
  ImageSet train;
  ImageSet test;
  std::vector<std::string> classes;  ///< name of class 0, 1, ..; of the numbers where the targets are values
  std::string fingerprint;           ///< 16 hexadecimal digits over sizes, pixels, targets and class names
  TargetKind target = TargetKind::classes;
  std::vector<ValueScale> scales = {};  ///< of each value, where the targets are values
  CorruptFiles corrupt = {};            ///< left out, because LoadOptions::skip_corrupt asked for it
};

struct LoadOptions {
  int threads = 0;                                 ///< threads that decode image files; 0: as many as the machine has
  std::optional<ImageSize> resize = std::nullopt;  ///< scales every image to this size; the aspect ratio is not kept
  std::int64_t train_limit = 0;  ///< at most so many training images, the shares of the classes kept; 0: all
  std::int64_t test_limit = 0;   ///< the same for test images
  std::uint64_t seed = 1;        ///< which images a limit keeps
  /// Bytes that images may take. Image files, tar shards and arrays of bytes that need more are streamed.
  std::int64_t memory_limit = std::int64_t{16} << 30;
  bool skip_corrupt = false;                                   ///< goes on without what cannot be read, and lists it
  std::filesystem::path builtin_root = "/usr/share/datasets";  ///< where the system's packages put data sets
};

/// Called from the calling thread, now and then and at the end, with images done and images in all.
/// What it throws stops the loading and comes out of load_dataset.
using LoadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Names that load_dataset knows without a path.
std::vector<std::string> builtin_datasets();

/// Loads a data set, into memory if it fits. `where` is a built-in name (it wins over a folder of that name; write
/// `./name` for the folder), an .npz file, tar shards (`path/{000..012}.tar`), or a folder with
/// - `train/<class>/` and `test/<class>/` with JPEG or PNG files: classes in the byte order of the folder names, files
///   in the byte order of their names; 3 channels if any image has colour, else 1;
/// - `train/images/` and `train/masks/`, and the same in `test/`: pictures and masks of equal stems;
/// - the binary files of CIFAR-10 (`data_batch_1.bin` .. `data_batch_5.bin`, `test_batch.bin`, `batches.meta.txt`) or
///   of CIFAR-100 (`train.bin`, `test.bin`, `fine_label_names.txt`; the fine labels);
/// - IDX files, gzipped or not: `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, and `t10k-..` or `test-..`;
/// - NumPy arrays `x_train.npy`, `y_train.npy` and so on (arrays.h), or tar shards (webdataset.h).
/// The result does not depend on the number of threads.
/// @throws Error (input) for what is missing, damaged or inconsistent, with the file's name; of several damaged files,
/// the first in order.
Dataset load_dataset(const std::string& where, const LoadOptions& options, const LoadProgress& progress = {});

}  // namespace kasimir
