// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data_network.h"

#include "kasimir/search_spec.h"

#include "kasimir/network/norms.h"
#include "kasimir/train/batches.h"
#include "kasimir/train/model.h"
#include "kasimir/train/moments.h"

#include <algorithm>

namespace kasimir {
namespace {

/// As many as calibration takes for its ranges by default, halved: two numbers of each channel ask for less.
constexpr std::int64_t images_for_norms = 256;

}  // namespace

void add_norms_option(CLI::App& app, Norms& norms) {
  app.add_option_function<std::string>(
         "--norms", [&norms](const std::string& word) { norms = word == "keep" ? Norms::keep : Norms::restore; },
         "of an ONNX file whose batch norms have become part of its convolutions: restore puts new ones behind them, "
         "which change nothing before the first training step; keep does not")
      ->check(CLI::IsMember({"restore", "keep"}))
      ->default_str("restore");
}

DataNetwork network_for_data(const std::string& name, double width, Norms norms, const Dataset& data,
                             const DataOptions& reading) {
  const ImageSet& images = data.train;
  DataNetwork made{network_for(name, width, {images.channels, images.height, images.width},
                               static_cast<std::int64_t>(data.classes.size()))};
  if (norms == Norms::keep || !is_onnx_file(name)) return made;
  const std::vector<int> layers = convolutions_without_norms(made.network);
  if (layers.empty()) return made;
  Model model(NetworkPlan{&made.network, {}});
  model.set_normalisation(reading.scale(images, every_index(images)));
  const auto some = stratified_subset(images.labels, std::min(images_for_norms, images.size()), 1);
  return {with_norms(made.network, channel_moments(model, layers, images, some)), static_cast<int>(layers.size())};
}

Network network_as_saved(const Network& network, const std::filesystem::path& weights) {
  const auto shapes = saved_shapes(weights);
  Network made = network;
  if (const auto head = head_of(network)) {
    const auto stored = shapes.find(network.layer(*head).name + ".weight");
    if (stored != shapes.end() && !stored->second.empty() && stored->second[0] != network.classes())
      made = network.with_classes(stored->second[0]);
  }
  std::map<int, ChannelMoments> norms;
  for (const int layer : convolutions_without_norms(made)) {
    if (!shapes.contains(norm_name(made, layer) + ".running_mean")) continue;
    const auto channels = static_cast<std::size_t>(made.layer(layer).out.c);
    norms[layer] = {std::vector<double>(channels, 0), std::vector<double>(channels, 1)};
  }
  return norms.empty() ? made : with_norms(made, norms);
}

}  // namespace kasimir
