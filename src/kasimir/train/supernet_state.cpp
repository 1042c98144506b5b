// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/dictionary.h"
#include "kasimir/train/supernet_impl.h"

#include <fmt/format.h>

#include <algorithm>

namespace kasimir {
namespace {

// Names that no tensor of a network has.
constexpr const char* mark_key = "#mark";
constexpr const char* taken_key = "#batches taken";

/// What must be the same for a file to be of this supernet.
std::string mark_of(const NetworkSpace& space, const SupernetData& data, const SupernetOptions& options) {
  std::string operators;
  for (const SpaceBlock& block : space.blocks) {
    operators += operators.empty() ? "" : ";";
    for (const BlockOperator& op : block.operators) operators += (&op == block.operators.data() ? "" : ",") + op.name;
  }
  return fmt::format("{} ({}), bits {} and {}, batch {}, seed {}, {} and {} images", space.name, operators,
                     fmt::join(options.bits, ","), options.edge_bits, options.batch, options.seed, data.weights.size(),
                     data.choices.size());
}

}  // namespace

std::vector<std::pair<std::string, at::Tensor>> Supernet::Impl::state() {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for (const Part* part : tensors.model.impl().parts()) all.emplace_back(part->name, part->tensor);
  for (const auto& [weight, place] : tensors.places)
    for (const auto& named : place.state()) all.push_back(named);
  const auto add = [&](const char* kind, const std::vector<at::Tensor>& of) {
    for (std::size_t i = 0; i < of.size(); ++i) all.emplace_back(fmt::format("#{} {}", kind, i), of[i]);
  };
  add("velocity", sgd.state());
  add("adam", adam.state());
  return all;
}

void Supernet::save(const std::filesystem::path& path) const {
  TensorDictionary dictionary;
  for (const auto& [name, tensor] : impl_->state()) dictionary.insert(name, tensor.detach().to(at::kCPU).contiguous());
  const std::string mark = mark_of(impl_->space, impl_->data, impl_->options);
  dictionary.insert(mark_key, to_tensor(std::vector<double>(mark.begin(), mark.end())));
  dictionary.insert(taken_key, to_tensor({static_cast<double>(impl_->weight_batches.taken()),
                                          static_cast<double>(impl_->choice_batches.taken())}));
  write_dictionary(path, dictionary);
}

void Supernet::load(const std::filesystem::path& path) {
  const TensorDictionary dictionary = read_dictionary(path, "a saved supernet");
  const auto numbers = [&](const char* key) {
    const auto entry = dictionary.find(key);
    return entry == dictionary.end() ? std::vector<double>() : to_values(entry->value());
  };
  const std::string mark = mark_of(impl_->space, impl_->data, impl_->options);
  const std::vector<double> stored = numbers(mark_key);
  if (!std::ranges::equal(stored, mark, {}, {}, [](char c) { return static_cast<double>(c); }))
    throw input_error("{}: of another supernet", path.string())
        .note(fmt::format("found is `{}`", std::string(stored.begin(), stored.end())))
        .note(fmt::format("needed is `{}`", mark));
  const at::NoGradGuard fixed;
  for (const auto& [name, tensor] : impl_->state()) {
    const auto entry = dictionary.find(name);
    KASIMIR_CHECK(entry != dictionary.end() && entry->value().sizes() == tensor.sizes(), "{}: tensor {}", path.string(),
                  name);
    tensor.copy_(entry->value());
  }
  const std::vector<double> taken = numbers(taken_key);
  impl_->weight_batches.go_to(static_cast<std::uint64_t>(taken.at(0)));
  impl_->choice_batches.go_to(static_cast<std::uint64_t>(taken.at(1)));
}

}  // namespace kasimir
