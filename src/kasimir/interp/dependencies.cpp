// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/dependencies.h"

#include <algorithm>

namespace kasimir {

View analyse(const BoundGraph& training) {
  const BoundGraph graph = freeze(training);
  const BoundTensor& input = graph.tensors[static_cast<std::size_t>(graph.input)];
  const auto channels = static_cast<std::size_t>(input.axes[1].extent);
  const auto height = static_cast<std::size_t>(input.axes[2].extent);
  const auto width = static_cast<std::size_t>(input.axes[3].extent);
  KASIMIR_CHECK(channels <= 256 && height * width <= 256, "{} channels, {} x {} positions", channels, height, width);

  DependencyDomain domain;
  TensorValues<Dependencies> values(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i)
    if (graph.tensors[i].role != Role::between) values[i].resize(static_cast<std::size_t>(elements(graph.tensors[i])));
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t at = 0; at < height * width; ++at) {
      Dependencies& value = values[static_cast<std::size_t>(graph.input)][c * height * width + at];
      value.channels.set(c);
      value.positions.set(at);
    }
  }
  evaluate(graph, domain, values);

  View view;
  const auto& output = values[static_cast<std::size_t>(graph.output)];
  std::vector<bool> sees(output.size() / (height * width), false);   // by output channel: the input at all
  std::vector<bool> mixes(output.size() / (height * width), false);  // every input channel
  for (std::size_t i = 0; i < output.size(); ++i) {
    const Dependencies& on = output[i];
    const std::size_t own = i % (height * width);
    if (on.channels.any()) sees[i / (height * width)] = true;
    if (on.channels.count() == channels) mixes[i / (height * width)] = true;
    view.is_global = view.is_global || on.positions.count() == height * width;
    for (std::size_t at = 0; at < height * width; ++at) {
      if (at == own || !on.positions.test(at)) continue;
      view.sees_neighbourhood = true;
      view.sees_height = view.sees_height || at / width != own / width;
      view.sees_width = view.sees_width || at % width != own % width;
    }
  }
  view.is_blind = std::ranges::count(sees, false) > 0;
  view.mixes_channels = std::ranges::count(mixes, false) == 0;
  return view;
}

}  // namespace kasimir
