// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace kasimir {

/// Names for layers: dotted paths of letters, digits, `_` and `-`, none twice and none the beginning of another's path.
class LayerNames {
 public:
  /// A layer that a node makes, of this name and operator. `weight` is the name of its weights, or empty:
  /// "layer1.0.conv1.weight" names a layer "layer1.0.conv1", the node "/layer1/layer1.0/relu/Relu" one
  /// "layer1.0.relu".
  std::string of(std::string_view node, std::string_view op, std::string_view weight = {});

 private:
  std::string fresh(const std::string& wish);

  std::set<std::string> taken_;         ///< layers
  std::map<std::string, int> numbers_;  ///< the last number behind a name
  std::set<std::string> paths_;         ///< beginnings of layers' paths
};

}  // namespace kasimir
