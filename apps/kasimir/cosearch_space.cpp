// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch_space.h"

#include "kasimir/sites.h"

#include "kasimir/base/text.h"
#include "kasimir/network/fbnet_space.h"
#include "kasimir/network/quantization.h"
#include "kasimir/network/residual_space.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/study/assignment.h"
#include "kasimir/study/store.h"
#include "kasimir/train/window_form.h"

#include <algorithm>
#include <filesystem>

namespace kasimir {
namespace {

bool is_kernel(const std::string& word) { return word.starts_with("study:") || word.find('.') != std::string::npos; }

/// Kernels of the trials of a study that were trained in full, without the original.
std::vector<Kernel> kernels_of_study(const std::string& path) {
  std::vector<Kernel> kernels;
  const auto store = study::Store::view(path);
  for (const auto& trial : store.trials()) {
    const auto jobs = store.jobs_of(trial.number);
    const bool full = std::ranges::any_of(
        jobs, [](const study::Job& job) { return job.rung == study::Rung::full && job.accuracy.has_value(); });
    if (full && !trial.kernel.empty() && !study::is_assignment(trial.kernel))
      kernels.push_back(parse_kernel(trial.kernel, catalog(), fmt::format("{}: trial {}", path, trial.number)));
  }
  if (kernels.empty()) throw input_error("{}: no trial was trained in full, so that it has no kernels to offer", path);
  return kernels;
}

NetworkSpace bare_space(const SpaceOptions& options, const std::vector<std::string>& operators, const Dataset& data) {
  const Shape3 input{data.train.channels, data.train.height, data.train.width};
  const auto classes = static_cast<std::int64_t>(data.classes.size());
  if (options.name == "residual") {
    const ResidualSize size{"residual", input, classes, options.widths, options.blocks};
    return operators.empty() ? residual_space(size) : residual_space(size, operators);
  }
  FbnetSize size = fbnet_size(options.name);
  size.input = input;
  size.classes = classes;
  return operators.empty() ? fbnet_space(size) : fbnet_space(size, operators);
}

ConvLayer conv_layer(const Network& network, int index) {
  const Layer& of = network.layer(index);
  const Shape3 in = network.input_of(index);
  if (const auto* linear = std::get_if<layer::Linear>(&of.op))
    return fully_connected(of.name, static_cast<int>(linear->in), static_cast<int>(linear->out));
  const auto& op = std::get<layer::Conv>(of.op);
  ConvLayer made;
  made.name = of.name;
  made.cin = static_cast<int>(op.in);
  made.cout = static_cast<int>(op.out);
  made.height = static_cast<int>(in.h);
  made.width = static_cast<int>(in.w);
  made.kernel_h = static_cast<int>(op.dilation * (op.kernel_h - 1) + 1);
  made.kernel_w = static_cast<int>(op.dilation * (op.kernel_w - 1) + 1);
  made.stride = static_cast<int>(op.stride);
  made.groups = static_cast<int>(op.groups);
  made.padding_h = static_cast<int>(2 * op.pad_h);
  made.padding_w = static_cast<int>(2 * op.pad_w);
  return made;
}

int product(const BoundStage& stage, const std::vector<int>& iters) {
  std::int64_t all = 1;
  for (const int iter : iters) all *= stage.iters[static_cast<std::size_t>(iter)].extent;
  return static_cast<int>(all);
}

/// One direction of a window.
struct Direction {
  int out = 1, size = 1, stride = 1;
};

ConvLayer conv_of_form(const std::string& name, const BoundStage& stage, const WindowForm& form) {
  const int groups = product(stage, form.groups);
  ConvLayer made;
  made.name = name;
  made.groups = groups;
  made.cin = groups * product(stage, form.ins);
  made.cout = groups * product(stage, form.outs);
  // Two directions have windows or strides; what else is walked (tokens, groups of positions) adds to the rows.
  std::vector<Direction> directions;
  int rest = 1;
  for (const WindowWalk& walk : form.walks) {
    const Direction one{static_cast<int>(walk.output), static_cast<int>(walk.dilation * (walk.size - 1) + 1),
                        static_cast<int>(walk.stride)};
    if (walk.identity() && directions.size() == 2) {
      rest *= one.out;
    } else {
      directions.push_back(one);
    }
  }
  while (directions.size() < 2) directions.emplace_back();
  const int stride = std::max(directions[0].stride, directions[1].stride);
  made.stride = stride;
  made.height = directions[0].out * stride * rest;
  made.width = directions[1].out * stride;
  made.kernel_h = directions[0].size;
  made.kernel_w = directions[1].size;
  made.padding_h = std::max(0, directions[0].size - stride);
  made.padding_w = std::max(0, directions[1].size - stride);
  return made;
}

std::vector<ConvLayer> layers_of_kernel(const std::string& name, const Kernel& kernel, const Site& site) {
  const auto graph = lower_at(kernel, site, 1);
  KASIMIR_CHECK(graph.ok(), "kernel {} at {}: {}", kernel.name, site.str(), graph.rejection().str());
  std::vector<ConvLayer> layers;
  for (const BoundStage& stage : graph->stages) {
    const auto weighted = weighted_product(*graph, stage);
    if (!weighted) continue;
    const auto form = window_form(*graph, stage);
    if (!form)
      throw input_error("kernel {}: `{}` is no convolution, which is what this accelerator's chunks compute",
                        kernel.name, str(*graph, stage));
    layers.push_back(conv_of_form(fmt::format("{}.{}", name, graph->tensors[static_cast<std::size_t>(stage.out)].name),
                                  stage, *form));
  }
  return layers;
}

}  // namespace

NetworkSpace network_space(const SpaceOptions& options, const Dataset& data) {
  std::vector<std::string> names, files;
  for (const std::string& word : options.operators) (is_kernel(word) ? files : names).push_back(word);
  NetworkSpace space = bare_space(options, names, data);
  if (files.empty()) return space;
  // Free sizes of a kernel's file get values for the convolutions of the first operators.
  const SpaceNetwork first = derive(space, std::vector<std::size_t>(space.blocks.size(), 0));
  const auto loads = site_loads(find_sites(first.network));
  std::vector<Kernel> kernels;
  for (const std::string& file : files) {
    if (file.starts_with("study:")) {
      for (Kernel& kernel : kernels_of_study(file.substr(6))) kernels.push_back(std::move(kernel));
    } else {
      kernels.push_back(read_kernel(file, loads));
    }
  }
  offer_kernels(space, kernels);
  return space;
}

ChoiceSpace choice_space(const NetworkSpace& space, const std::vector<int>& bits) {
  ChoiceSpace made;
  made.bits = bits;
  for (const SpaceBlock& block : space.blocks) {
    BlockSpace& one = made.blocks.emplace_back();
    one.name = block.name;
    for (const BlockOperator& op : block.operators) one.ops.push_back(op.name);
  }
  return made;
}

BlockLayers block_layers(const NetworkSpace& space, int edge_bits) {
  const SpaceNetwork all = all_operators(space);
  BlockLayers made;
  for (const SpaceBlock& block : space.blocks) made.layers.emplace_back(block.operators.size());
  for (const WeightedLayer& weighted : weighted_layers(all)) {
    const std::string& name = all.network.layer(weighted.layer).name;
    const auto replaced = all.replaced.find(weighted.layer);
    const std::vector<ConvLayer> layers = replaced == all.replaced.end()
                                              ? std::vector<ConvLayer>{conv_layer(all.network, weighted.layer)}
                                              : layers_of_kernel(name, replaced->second.first, replaced->second.second);
    if (weighted.block == WeightedLayer::outside) {
      for (ConvLayer layer : layers) {
        layer.bits = {edge_bits, edge_bits};
        made.outside.push_back(layer);
      }
    } else {
      auto& of = made.layers[static_cast<std::size_t>(weighted.block)][static_cast<std::size_t>(weighted.op)];
      of.insert(of.end(), layers.begin(), layers.end());
    }
  }
  return made;
}

}  // namespace kasimir
