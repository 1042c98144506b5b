// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/search_space.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

/// Builds networks of a space: `chosen` are the operators of each block.
class Builder {
 public:
  Builder(const NetworkSpace& space, std::vector<std::vector<std::size_t>> chosen)
      : space_(space), chosen_(std::move(chosen)) {}

  SpaceNetwork build() && {
    NetworkBuilder net(space_.name, space_.input);
    space_.build(net, [this](NetworkBuilder& builder, int from) { return place(builder, from); });
    KASIMIR_CHECK(places_.size() == space_.blocks.size(), "{} blocks placed of {}", places_.size(),
                  space_.blocks.size());
    SpaceNetwork made{std::move(net).finish(), {}, std::move(places_)};
    for (const auto& [layer, kernel] : kernels_) {
      const auto site = site_of(made.network, layer);
      KASIMIR_CHECK(site.ok(), "kernel {} at {}: {}", kernel->name, made.network.layer(layer).name,
                    site.rejection().str());
      made.replaced.emplace(layer, std::pair(*kernel, *site));
    }
    return made;
  }

 private:
  int place(NetworkBuilder& net, int from) {
    KASIMIR_CHECK(places_.size() < space_.blocks.size(), "more than {} blocks placed", space_.blocks.size());
    const SpaceBlock& block = space_.blocks[places_.size()];
    BlockPlace placed;
    std::vector<int> results;
    for (std::size_t op : chosen_[places_.size()]) {
      placed.operators.push_back(append(net, block, op, from));
      results.push_back(placed.operators.back().out);
    }
    placed.out = results.size() == 1 ? results[0] : net.add(block.name + ".mix", layer::Add{}, results);
    places_.push_back(std::move(placed));
    return places_.back().out;
  }

  OperatorPlace append(NetworkBuilder& net, const SpaceBlock& block, std::size_t op, int from) {
    const BlockOperator& chosen = block.operators[op];
    const std::string prefix = block.name + "." + chosen.name + ".";
    OperatorPlace placed;
    placed.op = op;
    placed.first = next_layer(net);
    placed.out = chosen.append(net, prefix, from);
    placed.end = next_layer(net);
    if (chosen.kernel) kernels_.emplace_back(convolution(net, placed, prefix), chosen.kernel);
    return placed;
  }

  static int next_layer(const NetworkBuilder& net) { return static_cast<int>(net.size()); }

  static int convolution(const NetworkBuilder& net, const OperatorPlace& placed, const std::string& prefix) {
    for (int i = placed.first; i < placed.end; ++i)
      if (net.layer(i).name == prefix + "conv") return i;
    KASIMIR_CHECK(false, "no layer {}conv", prefix);
  }

  const NetworkSpace& space_;
  std::vector<std::vector<std::size_t>> chosen_;
  std::vector<BlockPlace> places_;
  std::vector<std::pair<int, std::shared_ptr<const Kernel>>> kernels_;
};

/// The site at which a kernel would stand in each block; none where kernels are not offered.
std::vector<std::optional<Site>> kernel_sites(const NetworkSpace& space) {
  NetworkSpace probe = space;
  for (SpaceBlock& block : probe.blocks)
    if (block.kernel_form) block.operators = {{"kernel", block.kernel_form}};
  const SpaceNetwork made = derive(probe, std::vector<std::size_t>(probe.blocks.size(), 0));
  std::vector<std::optional<Site>> sites(probe.blocks.size());
  for (std::size_t b = 0; b < sites.size(); ++b) {
    if (!probe.blocks[b].kernel_form) continue;
    const auto layer = made.network.find(probe.blocks[b].name + ".kernel.conv");
    KASIMIR_CHECK(layer.has_value(), "block {} has no layer conv for kernels", probe.blocks[b].name);
    const auto site = site_of(made.network, *layer);
    if (site.ok()) sites[b] = *site;
  }
  return sites;
}

}  // namespace

std::size_t NetworkSpace::find_operator(std::size_t block, const std::string& operator_name) const {
  const auto& operators = blocks.at(block).operators;
  const auto found = std::ranges::find(operators, operator_name, &BlockOperator::name);
  if (found != operators.end()) return static_cast<std::size_t>(found - operators.begin());
  std::vector<std::string> known;
  for (const BlockOperator& op : operators) known.push_back(op.name);
  throw input_error("space {}, block {}: no operator `{}`, {}", name, blocks.at(block).name, operator_name,
                    suggestion(operator_name, known));
}

SpaceNetwork derive(const NetworkSpace& space, std::span<const std::size_t> operators) {
  if (operators.size() != space.blocks.size())
    throw input_error("space {}: {} operators, needed is one for each of {} blocks", space.name, operators.size(),
                      space.blocks.size());
  std::vector<std::vector<std::size_t>> chosen;
  for (std::size_t b = 0; b < operators.size(); ++b) {
    if (operators[b] >= space.blocks[b].operators.size())
      throw input_error("space {}, block {}: operator {} of {}, counted from 0", space.name, space.blocks[b].name,
                        operators[b], space.blocks[b].operators.size());
    chosen.push_back({operators[b]});
  }
  return Builder(space, std::move(chosen)).build();
}

SpaceNetwork all_operators(const NetworkSpace& space) {
  std::vector<std::vector<std::size_t>> chosen;
  for (const SpaceBlock& block : space.blocks) {
    chosen.emplace_back(block.operators.size());
    std::iota(chosen.back().begin(), chosen.back().end(), 0U);
  }
  return Builder(space, std::move(chosen)).build();
}

std::vector<std::size_t> offer_kernels(NetworkSpace& space, std::span<const Kernel> kernels) {
  const auto sites = kernel_sites(space);
  std::vector<std::size_t> offered;
  for (const Kernel& kernel : kernels) {
    const auto shared = std::make_shared<const Kernel>(kernel);
    std::optional<Rejection> rejection;
    std::size_t count = 0;
    for (std::size_t b = 0; b < sites.size(); ++b) {
      if (!sites[b]) continue;
      if (const auto graph = lower_at(kernel, *sites[b], 1); !graph.ok()) {
        rejection = graph.rejection();
        continue;
      }
      space.blocks[b].operators.push_back({kernel.name, space.blocks[b].kernel_form, shared});
      ++count;
    }
    if (count == 0)
      throw input_error("kernel {} fits no block of space {}: {}", kernel.name, space.name,
                        rejection ? rejection->str() : "none offers kernels");
    offered.push_back(count);
  }
  return offered;
}

std::vector<WeightedLayer> weighted_layers(const SpaceNetwork& network) {
  std::vector<WeightedLayer> all;
  for (int i = 0; i < static_cast<int>(network.network.layers().size()); ++i) {
    const Op& op = network.network.layer(i).op;
    if (std::holds_alternative<layer::Conv>(op) || std::holds_alternative<layer::Linear>(op)) all.push_back({i});
  }
  for (std::size_t b = 0; b < network.blocks.size(); ++b) {
    for (const OperatorPlace& place : network.blocks[b].operators) {
      for (WeightedLayer& weighted : all) {
        if (weighted.layer < place.first || weighted.layer >= place.end) continue;
        weighted.block = static_cast<int>(b);
        weighted.op = static_cast<int>(place.op);
      }
    }
  }
  return all;
}

}  // namespace kasimir
