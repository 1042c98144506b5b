// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/supernet_impl.h"

#include <fmt/format.h>

namespace kasimir {
namespace {

constexpr const char* taken_name = "#batches taken";

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

NamedState Supernet::Impl::state() {
  NamedState all;
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
  save_state(
      path, mark_of(impl_->space, impl_->data, impl_->options),
      {{taken_name,
        {static_cast<double>(impl_->weight_batches.taken()), static_cast<double>(impl_->choice_batches.taken())}}},
      impl_->state());
}

void Supernet::load(const std::filesystem::path& path) {
  const SavedState saved(path, "a saved supernet");
  const std::string mark = mark_of(impl_->space, impl_->data, impl_->options);
  if (saved.mark() != mark)
    throw input_error("{}: of another supernet", path.string())
        .note(fmt::format("found is `{}`", saved.mark()))
        .note(fmt::format("needed is `{}`", mark));
  saved.restore(impl_->state());
  const std::vector<double> taken = saved.numbers(taken_name);
  impl_->weight_batches.go_to(static_cast<std::uint64_t>(taken.at(0)));
  impl_->choice_batches.go_to(static_cast<std::uint64_t>(taken.at(1)));
}

}  // namespace kasimir
