// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/network.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// What a network of the zoo is built for.
struct ZooOptions {
  std::int64_t classes = 10;
  Shape3 input{3, 32, 32};
  /// Multiplies the channels between the image and the classes; rounded to multiples of 8 (never more than 10 %
  /// below the exact product), as MobileNetV2's authors do (arXiv 1801.04381, and their published code).
  double width = 1.0;
};

/// One network of the zoo.
struct ZooRecord {
  std::string_view name;
  std::string_view brief;
  std::string_view source;  ///< where it was published
  ZooOptions defaults;      ///< what it was published for
  /// @throws Error (input) where the network cannot be built for the options, for instance for a tiny image.
  Network (*build)(const ZooOptions& options);
};

/// All networks, small ones first.
std::span<const ZooRecord> zoo();

/// The record of a network. @throws Error (input): "unknown network `resnet81`, did you mean `resnet8`?".
const ZooRecord& zoo_record(std::string_view name);

/// The network of that name. @throws Error (input) for an unknown name and for options it cannot be built for.
Network zoo_network(std::string_view name, const ZooOptions& options);
Network zoo_network(std::string_view name);  ///< for the defaults of its record

}  // namespace kasimir
