// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/model.h"

#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/dictionary.h"
#include "kasimir/train/network_module.h"

#include <algorithm>

namespace kasimir {
namespace {

constexpr std::size_t evaluation_batch = 256;

/// The scores of consecutive batches, on the CPU.
template <typename Use>
void for_each_batch(Model::Impl& model, const ImageSet& images, std::span<const std::int32_t> indices, Use use) {
  const at::NoGradGuard fixed;
  const Batcher batcher(images, model.normalisation);
  for (std::size_t i = 0; i < indices.size(); i += evaluation_batch) {
    const auto part = indices.subspan(i, std::min(evaluation_batch, indices.size() - i));
    const at::Tensor scores = model.forward(image_tensor(batcher, part).to(model.device()), false);
    use(scores.to(at::kCPU, at::kFloat).contiguous(), target_tensor(batcher, part));
  }
}

}  // namespace

Model::Model(const NetworkPlan& plan, const ModelOptions& options) : impl_(std::make_unique<Impl>(plan, options)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

std::int64_t Model::parameters() const {
  std::int64_t count = 0;
  for (const Part* part : impl_->parts()) count += part->learned ? part->tensor.numel() : 0;
  return count;
}

std::vector<NamedTensor> Model::tensors() const {
  std::vector<NamedTensor> all;
  for (const Part* part : impl_->parts())
    all.push_back({part->name, part->tensor.sizes().vec(), part->learned, floats_of(part->tensor)});
  return all;
}

void Model::set_tensor(const std::string& name, const std::vector<float>& values) {
  const auto parts = impl_->parts();
  const auto found = std::ranges::find(parts, name, &Part::name);
  if (found == parts.end()) throw input_error("network {} has no tensor {}", impl_->network.name(), name);
  at::Tensor& tensor = (*found)->tensor;
  if (tensor.numel() != static_cast<std::int64_t>(values.size()))
    throw input_error("tensor {} has {} values, given are {}", name, tensor.numel(), values.size());
  const at::NoGradGuard fixed;
  at::Tensor plain = at::empty(tensor.sizes(), at::kFloat);
  std::ranges::copy(values, plain.data_ptr<float>());
  tensor.copy_(plain);
}

void Model::set_tensors(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& tensor : tensors) set_tensor(tensor.name, tensor.values);
}

void Model::set_quantization(const Quantization& quantization) {
  impl_->quantizers.clear();
  impl_->operands = {};
  if (quantization.empty()) return;
  const auto parts = impl_->parts();
  for (const auto& [weight, place] : quantization) {
    const auto found = std::ranges::find(parts, weight, &Part::name);
    if (found == parts.end()) throw input_error("network {} has no weight {}", impl_->network.name(), weight);
    impl_->quantizers.emplace(weight, FakeQuantizer(place, (*found)->tensor.sizes().vec(), impl_->device()));
  }
  impl_->operands = [impl = impl_.get()](const std::string& weight, at::Tensor& activation, at::Tensor& weights) {
    const auto found = impl->quantizers.find(weight);
    if (found != impl->quantizers.end()) found->second.apply(activation, weights);
  };
}

Quantization Model::quantization() const {
  Quantization now;
  for (const auto& [weight, quantizer] : impl_->quantizers) now[weight] = quantizer.place();
  return now;
}

void Model::set_normalisation(const ChannelStatistics& statistics) {
  KASIMIR_CHECK(statistics.mean.size() == static_cast<std::size_t>(impl_->network.input().c),
                "{} means for {} channels", statistics.mean.size(), impl_->network.input().c);
  impl_->normalisation = statistics;
}

const ChannelStatistics& Model::normalisation() const { return impl_->normalisation; }

std::vector<std::vector<float>> Model::predict(const ImageSet& images, std::span<const std::int32_t> indices) const {
  std::vector<std::vector<float>> all;
  for_each_batch(*impl_, images, indices, [&](const at::Tensor& scores, const at::Tensor&) {
    const auto* from = scores.data_ptr<float>();
    for (std::int64_t i = 0; i < scores.size(0); ++i, from += scores.size(1))
      all.emplace_back(from, from + scores.size(1));
  });
  return all;
}

Score Model::evaluate(const ImageSet& images, std::span<const std::int32_t> indices) const {
  Score score;
  double loss = 0.0;
  double right = 0.0;
  for_each_batch(*impl_, images, indices, [&](const at::Tensor& scores, const at::Tensor& targets) {
    loss += summed_loss(scores, targets);
    right += right_in(scores, targets);
  });
  score.images = static_cast<std::int64_t>(indices.size());
  const double count = std::max<double>(1.0, static_cast<double>(score.images));
  score.loss = loss / count;
  score.accuracy = std::max(0.0, right / count);
  return score;
}

void Model::save(const std::filesystem::path& path) const {
  TensorDictionary dictionary;
  for (const Part* part : impl_->parts())
    dictionary.insert(part->name, part->tensor.detach().to(at::kCPU).contiguous());
  dictionary.insert("normalisation.mean", to_tensor(impl_->normalisation.mean));
  dictionary.insert("normalisation.deviation", to_tensor(impl_->normalisation.deviation));
  write_dictionary(path, dictionary);
}

void Model::load(const std::filesystem::path& path) {
  const TensorDictionary dictionary = read_dictionary(path, "a saved model");
  const auto find = [&](const std::string& name) {
    const auto entry = dictionary.find(name);
    if (entry == dictionary.end())
      throw input_error("{}: holds no tensor {}, which network {} has", path.string(), name, impl_->network.name());
    return entry->value();
  };
  const at::NoGradGuard fixed;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // nothing is changed before everything fits
  for (const Part* part : impl_->parts()) {
    const at::Tensor stored = find(part->name);
    if (stored.sizes() != part->tensor.sizes())
      throw input_error("{}: tensor {} is {}, needed is {}", path.string(), part->name, fmt::join(stored.sizes(), "x"),
                        fmt::join(part->tensor.sizes(), "x"));
    copies.emplace_back(part->tensor, stored);
  }
  const ChannelStatistics stored{to_values(find("normalisation.mean")), to_values(find("normalisation.deviation"))};
  for (auto& [to, from] : copies) to.copy_(from);
  set_normalisation(stored);
}

}  // namespace kasimir
