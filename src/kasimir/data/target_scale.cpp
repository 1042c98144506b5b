// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/target_scale.h"

#include <cmath>

namespace kasimir {

std::vector<ValueScale> bring_to_scale(ImageSet& train, ImageSet& test) {
  const std::size_t images = train.labels.size();
  const std::size_t count = train.values.size() / images;
  std::vector<ValueScale> scales(count);
  for (std::size_t k = 0; k < count; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < images; ++i) sum += static_cast<double>(train.values[i * count + k]);
    const double mean = sum / static_cast<double>(images);
    double squares = 0;
    for (std::size_t i = 0; i < images; ++i)
      squares += std::pow(static_cast<double>(train.values[i * count + k]) - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(images));
    scales[k] = {mean, deviation > 0 ? deviation : 1};
  }
  for (ImageSet* set : {&train, &test})
    for (std::size_t i = 0; i < set->values.size(); ++i) {
      const ValueScale& scale = scales[i % count];
      set->values[i] = static_cast<float>((static_cast<double>(set->values[i]) - scale.mean) / scale.deviation);
    }
  return scales;
}

}  // namespace kasimir
