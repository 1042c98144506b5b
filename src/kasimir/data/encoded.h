// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"
#include "kasimir/data/image_file.h"

#include <memory>
#include <string>
#include <vector>

namespace kasimir {

/// Encoded images, wherever they lie: files of a folder, members of archives.
class ImageFiles {
 public:
  virtual ~ImageFiles() = default;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual std::string name(std::int64_t index) const = 0;  ///< for messages
  /// Called by several threads. @throws Error (input) that names the file.
  [[nodiscard]] virtual DecodedImage decode(std::int64_t index) const = 0;
};

/// The images of one part and their classes.
struct EncodedPart {
  std::shared_ptr<const ImageFiles> files;
  std::vector<std::int32_t> labels;
};

/// Some of the images of another, in another order.
std::shared_ptr<const ImageFiles> chosen_files(std::shared_ptr<const ImageFiles> all, std::vector<std::int32_t> chosen);

struct EncodedSets {
  ImageSet train;
  ImageSet test;
  std::vector<std::int32_t> train_kept;  ///< the indices of the images that could be read
  std::vector<std::int32_t> test_kept;
  CorruptFiles corrupt;
  bool streamed = false;
};

/// Decodes every image once: into memory if all fit below options.memory_limit, else to see that it can be read, and
/// they are streamed. One channel if no image has colour, else 3. `where` names the data set. `corrupt` is what was
/// found to be so before.
/// @throws Error (input) that lists what cannot be read, unless options.skip_corrupt; for images of several sizes where
/// options.resize gives none; and if nothing is left of a part.
EncodedSets read_encoded(const std::string& where, const EncodedPart& train, const EncodedPart& test,
                         CorruptFiles corrupt, const LoadOptions& options, const LoadProgress& progress);

/// Takes note of one more file.
void add_corrupt(CorruptFiles& corrupt, const std::string& name, const std::string& reason);
/// @throws Error (input) that lists them, of `total`, and says how to go on, if there are any.
void refuse_corrupt(const std::string& where, const CorruptFiles& corrupt, std::int64_t total);

}  // namespace kasimir
