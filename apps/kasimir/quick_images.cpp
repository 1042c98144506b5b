// SPDX-License-Identifier: Apache-2.0
#include "kasimir/quick_images.h"

#include "kasimir/base/error.h"

#include <algorithm>

namespace kasimir {
namespace {

LoadOptions quick_options(const SearchSpec& spec) {
  LoadOptions options = spec.load_options();
  options.resize = parse_image_size(spec.quick_size);
  return options;
}

double places(const ImageSet& images) { return static_cast<double>(images.height) * images.width; }

DataNetwork network_at(const SearchSpec& spec, const Dataset& data) {
  try {
    return network_for_data(spec.network, spec.width, spec.norms, data, spec.reading);
  } catch (Error& error) {
    throw error.note(fmt::format("this is about the images of --quick-size {}", spec.quick_size));
  }
}

}  // namespace

QuickImages::QuickImages(const SearchSpec& spec, const Dataset& full, const Network& network,
                         const LoadProgress& progress)
    : data_(load_dataset(spec.data, quick_options(spec), progress)),
      made_(network_at(spec, data_)),
      share_(places(data_.train) / places(full.train)) {
  KASIMIR_CHECK(data_.train.labels == full.train.labels, "{} has other images at {}", spec.data, spec.quick_size);
  if (!std::ranges::equal(network.layers(), made_.network.layers(), {}, &Layer::name, &Layer::name))
    throw input_error("{} has other layers for images of {} than for those of {}", network.name(),
                      made_.network.input().str(), network.input().str())
        .note("leave --quick-size out");
}

}  // namespace kasimir
