// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/mixed_pass.h"

#include "kasimir/train/mix_outputs.h"

#include <algorithm>
#include <span>

namespace kasimir {
namespace {

constexpr std::size_t outside = SupernetTensors::Owner::outside;

std::vector<SupernetTensors::Owner> owners_of(const SpaceNetwork& made) {
  std::vector<SupernetTensors::Owner> owners(made.network.layers().size());
  for (std::size_t b = 0; b < made.blocks.size(); ++b) {
    const BlockPlace& block = made.blocks[b];
    for (const OperatorPlace& place : block.operators)
      for (int i = place.first; i < place.end; ++i) owners[static_cast<std::size_t>(i)] = {b, place.op};
    if (block.operators.size() > 1) owners[static_cast<std::size_t>(block.out)] = {b, outside};
  }
  return owners;
}

/// The batch norms that end the branches which are added to a shortcut.
std::vector<std::string> last_norms(const SpaceNetwork& made, const std::vector<SupernetTensors::Owner>& owners) {
  std::vector<std::string> names;
  const auto add = [&](int layer) {
    const Layer& of = made.network.layer(layer);
    if (std::holds_alternative<layer::BatchNorm>(of.op)) names.push_back(of.name);
  };
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const Layer& of = made.network.layers()[i];
    const bool mixes = owners[i].block != outside && owners[i].op == outside;
    if (!std::holds_alternative<layer::Add>(of.op) || mixes) continue;
    const int branch = of.inputs.front();
    const SupernetTensors::Owner& owner = owners[static_cast<std::size_t>(branch)];
    add(branch);
    if (owner.block == outside || owner.op != outside) continue;
    for (const OperatorPlace& place : made.blocks[owner.block].operators) add(place.out);
  }
  return names;
}

at::Tensor numbers(const std::vector<double>& values, bool learn) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kFloat);
  for (std::size_t i = 0; i < values.size(); ++i) tensor.data_ptr<float>()[i] = static_cast<float>(values[i]);
  return tensor.requires_grad_(learn);
}

std::vector<double> slopes_by(const at::Tensor& tensor) {
  std::vector<double> all(static_cast<std::size_t>(tensor.numel()), 0.0);
  const at::Tensor& gradient = tensor.grad();
  if (!gradient.defined()) return all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = gradient.data_ptr<float>()[i];
  return all;
}

}  // namespace

SupernetTensors::SupernetTensors(const NetworkSpace& space, const SupernetOptions& options)
    : made(all_operators(space)),
      widths(options.bits.size()),
      model(made.plan(), ModelOptions{options.seed, options.device, options.peepholes}),
      owners(owners_of(made)) {
  const std::vector<std::string> branches = last_norms(made, owners);
  for (Part* part : model.impl().parts())
    for (const std::string& norm : branches)
      if (part->name == norm + ".weight") part->tensor.detach().fill_(options.branch_start);
  const std::vector<bool> positive = never_negative(made.network);
  const std::vector<int> edge{options.edge_bits};
  for (const WeightedPlace& place : weighted_places(made.plan())) {
    const Owner owner = owners[static_cast<std::size_t>(place.layer)];
    const std::span<const int> bits = owner.block == outside ? std::span<const int>(edge) : options.bits;
    if (bits.empty() || bits[0] == 0) continue;
    const auto from = static_cast<std::size_t>(made.network.layer(place.layer).inputs[0]);
    places.emplace(place.weight, MixedPlace(place, bits, !positive[from], model.impl().device()));
    place_owners.emplace(place.weight, owner);
  }
}

std::vector<at::Tensor> SupernetTensors::learned_steps() const {
  std::vector<at::Tensor> all;
  for (const auto& [weight, place] : places)
    for (const at::Tensor& steps : place.learned()) all.push_back(steps);
  return all;
}

MixedPass::MixedPass(SupernetTensors& tensors, const SupernetMixture& mixture, PassKind kind)
    : tensors_(tensors), kind_(kind) {
  KASIMIR_CHECK(mixture.size() == tensors.made.blocks.size(), "a mixture of {} blocks for {}", mixture.size(),
                tensors.made.blocks.size());
  const bool choices = kind == PassKind::choices;
  for (std::size_t b = 0; b < mixture.size(); ++b) {
    const BlockMixture& of = mixture[b];
    const std::size_t count = tensors.made.blocks[b].operators.size();
    KASIMIR_CHECK(of.op_weight.size() == count && of.bit_weight.size() == count && !of.active.empty(),
                  "block {}: {} and {} weights for {} operators, {} active", b, of.op_weight.size(),
                  of.bit_weight.size(), count, of.active.size());
    Block block{std::vector<Operator>(count), of.active, {}};
    std::vector<double> active_weights;
    for (std::size_t op : of.active) {
      Operator& made = block.operators.at(op);
      made.weight = of.op_weight[op];
      made.computed = made.weight != 0 || choices;
      active_weights.push_back(made.weight);
      if (tensors.widths == 0) continue;
      KASIMIR_CHECK(of.bit_weight[op].size() == tensors.widths, "{} bit weights for {} widths",
                    of.bit_weight[op].size(), tensors.widths);
      made.mix = numbers(of.bit_weight[op], choices && made.weight != 0);
    }
    block.op_weights = numbers(active_weights, choices);
    blocks_.push_back(std::move(block));
  }
  Model::Impl& model = tensors_.model.impl();
  model.around = [this](int index, const auto& results, const auto& compute) { return layer(index, results, compute); };
  model.operands = [this](const std::string& weight, at::Tensor& activation, at::Tensor& weights) {
    quantise(weight, activation, weights);
  };
  if (choices) let_weights_learn(false);
}

MixedPass::~MixedPass() {
  tensors_.model.impl().around = {};
  tensors_.model.impl().operands = {};
  if (kind_ == PassKind::choices) let_weights_learn(true);
}

void MixedPass::let_weights_learn(bool learn) {
  for (Part* part : tensors_.model.impl().parts())
    if (part->learned) part->tensor.requires_grad_(learn);
}

bool MixedPass::computes(std::size_t layer) const {
  const SupernetTensors::Owner& owner = tensors_.owners[layer];
  return owner.op == outside || blocks_[owner.block].operators[owner.op].computed;
}

at::Tensor MixedPass::layer(int index, const std::vector<at::Tensor>& results,
                            const std::function<at::Tensor()>& compute) {
  const SupernetTensors::Owner& owner = tensors_.owners[static_cast<std::size_t>(index)];
  if (owner.block == outside) return compute();
  if (owner.op == outside) return mixed(owner.block, results);
  const Operator& of = blocks_[owner.block].operators[owner.op];
  if (!of.computed) return {};
  if (of.weight != 0) return compute();
  const at::NoGradGuard fixed;
  return compute();
}

at::Tensor MixedPass::mixed(std::size_t block, const std::vector<at::Tensor>& results) const {
  const Block& of = blocks_[block];
  std::vector<at::Tensor> outputs;
  std::vector<double> weights;
  std::vector<std::size_t> which;
  const auto output = [&](std::size_t op) {
    return results[static_cast<std::size_t>(tensors_.made.blocks[block].operators[op].out)];
  };
  if (kind_ == PassKind::choices) {
    for (std::size_t op : of.active) outputs.push_back(output(op));
    return mix_outputs(outputs, of.op_weights);
  }
  at::Tensor sum;
  for (std::size_t op : of.active) {
    const double weight = of.operators[op].weight;
    if (weight == 0) continue;
    const at::Tensor term = weight == 1 ? output(op) : at::mul(output(op), weight);
    sum = sum.defined() ? at::add(sum, term) : term;
  }
  KASIMIR_CHECK(sum.defined(), "all operators of block {} have weight 0", block);
  return sum;
}

void MixedPass::quantise(const std::string& weight, at::Tensor& activation, at::Tensor& weights) {
  const auto place = tensors_.places.find(weight);
  if (place == tensors_.places.end()) return;
  const SupernetTensors::Owner& owner = tensors_.place_owners.at(weight);
  const at::Tensor mix = owner.block == outside ? at::Tensor() : blocks_[owner.block].operators[owner.op].mix;
  place->second.apply(activation, weights, mix, kind_ == PassKind::weights);
}

MixtureSlopes MixedPass::slopes() const {
  MixtureSlopes all;
  for (const Block& block : blocks_) {
    std::vector<double> by_op(block.operators.size(), 0.0);
    const std::vector<double> active = slopes_by(block.op_weights);
    for (std::size_t k = 0; k < active.size(); ++k) by_op[block.active[k]] = active[k];
    all.op.push_back(by_op);
    std::vector<std::vector<double>> by_bits;
    for (const Operator& of : block.operators)
      by_bits.push_back(of.mix.defined() ? slopes_by(of.mix) : std::vector<double>(tensors_.widths, 0.0));
    all.bits.push_back(std::move(by_bits));
  }
  return all;
}

}  // namespace kasimir
