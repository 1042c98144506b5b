// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/network/zoo.h"
#include "kasimir/network/zoo/records.h"

#include <algorithm>
#include <array>

namespace kasimir {

std::span<const ZooRecord> zoo() {
  using namespace zoo_records;
  static const std::array records{resnet8, resnet20, resnet18, vgg16, mobilenet_v2, densenet121};
  return records;
}

const ZooRecord& zoo_record(std::string_view name) {
  const auto found =
      std::find_if(zoo().begin(), zoo().end(), [&](const ZooRecord& record) { return record.name == name; });
  if (found != zoo().end()) return *found;
  std::vector<std::string> known;
  for (const ZooRecord& record : zoo()) known.emplace_back(record.name);
  const std::vector<std::string> near = nearest(name, known);
  if (near.empty()) throw input_error("unknown network `{}`, known: {}", name, join(known, ", "));
  throw input_error("unknown network `{}`, did you mean `{}`?", name, near.front());
}

Network zoo_network(std::string_view name, const ZooOptions& options) {
  const ZooRecord& record = zoo_record(name);
  if (options.classes < 1) throw input_error("network `{}`: classes is {}, needed at least 1", name, options.classes);
  if (!(options.width > 0 && options.width <= 64))
    throw input_error("network `{}`: width is {}, needed more than 0 and at most 64", name, options.width);
  return record.build(options);
}

Network zoo_network(std::string_view name) { return zoo_network(name, zoo_record(name).defaults); }

}  // namespace kasimir
