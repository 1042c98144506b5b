// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/supernet.h"

#include "kasimir/base/rng.h"
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/memory_meter.h"
#include "kasimir/train/supernet_impl.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace kasimir {
namespace {

void require(bool holds, std::string_view field, double value, std::string_view needed) {
  if (!holds) throw input_error("supernet: {} is {:g}, needed is {}", field, value, needed);
}

void check_fit(const NetworkSpace& space, const ImageSet& images, const SupernetData& data) {
  const Shape3 found{images.channels, images.height, images.width};
  if (found != space.input)
    throw input_error("space {} takes images of {}, the data has {}", space.name, space.input.str(), found.str());
  if (!images.values.empty() || !images.masks.empty())
    throw input_error("space {} learns classes, the data has {}", space.name,
                      images.masks.empty() ? "values" : "masks");
  const std::int64_t classes = derive(space, std::vector<std::size_t>(space.blocks.size(), 0)).network.classes();
  const auto highest = std::ranges::max_element(images.labels);
  if (highest != images.labels.end() && *highest >= classes)
    throw input_error("space {} tells {} classes apart, the data has class {}", space.name, classes, *highest);
  if (data.weights.size() < 2 || data.choices.size() < 2 || data.validation.empty())
    throw input_error("supernet: {} images for weights, {} for choices, {} to validate on, needed are 2, 2 and 1",
                      data.weights.size(), data.choices.size(), data.validation.size());
}

/// Makes the gradients at most as long as `most`, all together.
void clip(const std::vector<Part*>& parts, double most) {
  if (most <= 0) return;
  const at::NoGradGuard fixed;
  std::vector<at::Tensor> gradients;
  double squares = 0;
  for (const Part* part : parts) {
    const at::Tensor& gradient = part->tensor.grad();
    if (!gradient.defined()) continue;
    squares += at::sum(gradient * gradient).item<double>();
    gradients.push_back(gradient);
  }
  const double length = std::sqrt(squares);
  if (length > most) at::_foreach_mul_(gradients, most / length);
}

}  // namespace

void SupernetOptions::check() const {
  for (int width : bits) require_legal(IntegerFormat{width}, "supernet, bits of blocks");
  if (edge_bits != 0) require_legal(IntegerFormat{edge_bits}, "supernet, edge_bits");
  require(batch >= 2, "batch", batch, "at least 2");
  require(learning_rate > 0 && std::isfinite(learning_rate), "learning_rate", learning_rate, "above 0");
  require(lowest_rate >= 0 && lowest_rate <= learning_rate, "lowest_rate", lowest_rate, "0 up to learning_rate");
  require(momentum >= 0 && momentum < 1, "momentum", momentum, "0 or more and below 1");
  require(weight_decay >= 0, "weight_decay", weight_decay, "0 or more");
  require(clip_norm >= 0, "clip_norm", clip_norm, "0 or more");
  require(step_rate >= 0, "step_rate", step_rate, "0 or more");
  require(branch_start >= 0 && std::isfinite(branch_start), "branch_start", branch_start, "0 or more");
  require(crop_padding >= 0, "crop_padding", crop_padding, "0 or more");
  require(recalibration_images >= 2, "recalibration_images", recalibration_images, "at least 2");
}

SupernetMixture mixture_of(const NetworkSpace& space, std::size_t widths, const SupernetDesign& design) {
  if (design.size() != space.blocks.size())
    throw input_error("space {}: a design of {} blocks, needed are {}", space.name, design.size(), space.blocks.size());
  SupernetMixture mixture;
  for (std::size_t b = 0; b < design.size(); ++b) {
    const std::size_t operators = space.blocks[b].operators.size();
    if (design[b].op >= operators || (widths > 0 && design[b].bits >= widths))
      throw input_error("space {}, block {}: operator {} of {} and bits {} of {}, counted from 0", space.name,
                        space.blocks[b].name, design[b].op, operators, design[b].bits, widths);
    BlockMixture block{{design[b].op},
                       std::vector<double>(operators, 0.0),
                       std::vector<std::vector<double>>(operators, std::vector<double>(widths, 0.0))};
    block.op_weight[design[b].op] = 1;
    for (std::vector<double>& row : block.bit_weight)
      if (widths > 0) row[design[b].bits] = 1;
    mixture.push_back(std::move(block));
  }
  return mixture;
}

KeptStatistics::KeptStatistics(const std::vector<Part*>& statistics) {
  for (const Part* part : statistics) {
    tensors_.push_back(part->tensor);
    before_.push_back(part->tensor.clone());
  }
}

KeptStatistics::~KeptStatistics() {
  const at::NoGradGuard fixed;
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].copy_(before_[i]);
}

Supernet::Impl::Impl(const NetworkSpace& space_of, const ImageSet& images_of, const SupernetData& data_of,
                     const SupernetOptions& options_of)
    : space(space_of),
      images(images_of),
      data(data_of),
      options(options_of),
      tensors(space, options),
      sgd(tensors.model.impl().parts(), {options.momentum, options.momentum > 0, options.weight_decay}),
      adam(tensors.learned_steps()),
      batcher(images, channel_statistics(images, data.weights)),
      weight_batches(data.weights, static_cast<std::size_t>(options.batch), mix_bits(options.seed)),
      choice_batches(data.choices, static_cast<std::size_t>(options.batch), mix_bits(options.seed + 1)),
      recalibration(shuffled(data.weights, 1, 0)) {
  recalibration.resize(std::min(recalibration.size(), static_cast<std::size_t>(options.recalibration_images)));
  tensors.model.set_normalisation(channel_statistics(images, data.weights));
  std::map<std::string, Part*> by_name;
  for (Part* part : tensors.model.impl().parts()) by_name[part->name] = part;
  for (std::size_t i = 0; i < tensors.owners.size(); ++i)
    for (const LayerPart& part : layer_parts(tensors.made.plan(), static_cast<int>(i)))
      if (!part.learned()) statistics.emplace_back(by_name.at(part.name), i);
}

std::vector<Part*> Supernet::Impl::statistics_of(const MixedPass& pass) const {
  std::vector<Part*> all;
  for (const auto& [part, layer] : statistics)
    if (pass.computes(layer)) all.push_back(part);
  return all;
}

void Supernet::Impl::reestimate(const std::vector<Part*>& of) {
  const auto batch = std::min(recalibration.size(), static_cast<std::size_t>(options.batch));
  average_statistics(of, recalibration.size() / batch, [&](std::size_t b) {
    const auto indices = std::span(recalibration).subspan(b * batch, batch);
    (void)tensors.model.impl().forward(batch_of(indices).first, true);
  });
}

std::pair<at::Tensor, at::Tensor> Supernet::Impl::batch_of(std::span<const std::int32_t> indices,
                                                           const Augmentation& how) {
  const at::Device device = tensors.model.impl().device();
  return {image_tensor(batcher, indices, how).to(device), label_tensor(batcher, indices).to(device)};
}

std::pair<at::Tensor, at::Tensor> Supernet::Impl::next_weight_batch() {
  const auto indices = weight_batches.next();
  return batch_of(indices, {options.crop_padding, options.flip, mix_bits(options.seed) + weight_batches.epoch()});
}

at::Tensor Supernet::Impl::loss_of(const std::pair<at::Tensor, at::Tensor>& batch) {
  return at::cross_entropy_loss(tensors.model.impl().forward(batch.first, true), batch.second);
}

Supernet::Supernet(const NetworkSpace& space, const ImageSet& images, const SupernetData& data,
                   const SupernetOptions& options) {
  options.check();
  check_fit(space, images, data);
  impl_ = std::make_unique<Impl>(space, images, data, options);
}
Supernet::~Supernet() = default;
Supernet::Supernet(Supernet&&) noexcept = default;
Supernet& Supernet::operator=(Supernet&&) noexcept = default;

const NetworkSpace& Supernet::space() const { return impl_->space; }
const SpaceNetwork& Supernet::network() const { return impl_->tensors.made; }
const SupernetOptions& Supernet::options() const { return impl_->options; }

double Supernet::weight_step(const SupernetMixture& mixture, double progress) {
  const SupernetOptions& options = impl_->options;
  double loss = 0;
  {
    const MixedPass pass(impl_->tensors, mixture, PassKind::weights);
    const at::Tensor of_batch = impl_->loss_of(impl_->next_weight_batch());
    of_batch.backward();
    loss = of_batch.item<double>();
  }
  if (!std::isfinite(loss))
    throw unsolved_error("supernet: the loss is {} in weight step {}", loss, impl_->weight_batches.taken())
        .note(fmt::format("the learning rate is {:g}; try a smaller one", options.learning_rate));
  clip(impl_->tensors.model.impl().parts(), options.clip_norm);
  const double share = 0.5 * (1.0 + std::cos(std::numbers::pi * std::clamp(progress, 0.0, 1.0)));
  impl_->sgd.step(options.lowest_rate + (options.learning_rate - options.lowest_rate) * share);
  impl_->adam.step(options.step_rate * share);
  return loss;
}

MixtureSlopes Supernet::choice_step(const SupernetMixture& mixture) {
  const MixedPass pass(impl_->tensors, mixture, PassKind::choices);
  const KeptStatistics kept(impl_->statistics_of(pass));
  const at::Tensor loss = impl_->loss_of(impl_->batch_of(impl_->choice_batches.next()));
  loss.backward();
  MixtureSlopes slopes = pass.slopes();
  slopes.loss = loss.item<double>();
  return slopes;
}

Score Supernet::validate(const SupernetDesign& design) {
  const MixedPass pass(impl_->tensors, mixture_of(impl_->space, impl_->tensors.widths, design), PassKind::plain);
  const auto statistics = impl_->statistics_of(pass);
  const KeptStatistics kept(statistics);
  impl_->reestimate(statistics);
  return impl_->tensors.model.evaluate(impl_->images, impl_->data.validation);
}

DerivedNetwork Supernet::derive_network(const SupernetDesign& design) {
  SupernetTensors& tensors = impl_->tensors;
  const MixedPass pass(tensors, mixture_of(impl_->space, tensors.widths, design), PassKind::plain);
  const auto statistics = impl_->statistics_of(pass);
  const KeptStatistics kept(statistics);
  impl_->reestimate(statistics);

  std::vector<std::size_t> operators;
  for (const SupernetChoice& choice : design) operators.push_back(choice.op);
  DerivedNetwork derived{derive(impl_->space, operators), {}, {}, tensors.model.normalisation()};
  std::map<std::string, const Part*> parts;
  for (const Part* part : tensors.model.impl().parts()) parts[part->name] = part;
  for (int i = 0; i < static_cast<int>(derived.made.network.layers().size()); ++i) {
    for (const LayerPart& part : layer_parts(derived.made.plan(), i)) {
      const Part& shared = *parts.at(part.name);
      derived.weights.push_back({part.name, part.shape, shared.learned, floats_of(shared.tensor)});
      const auto place = tensors.places.find(part.name);
      if (place == tensors.places.end()) continue;
      const std::size_t block = tensors.place_owners.at(part.name).block;
      const std::size_t width = block == SupernetTensors::Owner::outside ? 0 : design[block].bits;
      derived.quantization[part.name] = place->second.at_width(width);
    }
  }
  return derived;
}

Model DerivedNetwork::model(Device device) const {
  ModelOptions options;
  options.device = device;
  Model made_model(made.plan(), options);
  made_model.set_tensors(weights);
  made_model.set_normalisation(normalisation);
  made_model.set_quantization(quantization);
  return made_model;
}

std::int64_t Supernet::saved_bytes(const SupernetMixture& mixture, bool choice_step) {
  const MixedPass pass(impl_->tensors, mixture, choice_step ? PassKind::choices : PassKind::weights);
  const KeptStatistics kept(impl_->statistics_of(pass));
  const std::size_t size = std::min(impl_->data.weights.size(), static_cast<std::size_t>(impl_->options.batch));
  const auto batch = impl_->batch_of(std::span(impl_->data.weights).first(size));
  (void)impl_->loss_of(batch);  // what the first pass makes once and keeps is not the step's
  const MemoryMeter meter(0);
  const at::Tensor loss = impl_->loss_of(batch);
  return meter.in_use();
}

}  // namespace kasimir
