// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/checkpoint.h"

#include "kasimir/base/error.h"
#include "kasimir/train/dictionary.h"

#include <algorithm>

namespace kasimir {
namespace {

// Names that no tensor of a network has.
constexpr const char* mark_key = "#mark";
constexpr const char* steps_key = "#steps";
constexpr const char* curve_key = "#curve";

std::vector<double> numbers_of(const EpochRow& row) {
  return {static_cast<double>(row.epoch), row.train_loss,    row.train_accuracy, row.validation_loss,
          row.validation_accuracy,        row.learning_rate, row.seconds};
}

EpochRow row_of(const double* numbers) {
  return {static_cast<int>(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6]};
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const std::string& mark, const TrainingState& state,
                     const TrainingTensors& tensors) {
  TensorDictionary dictionary;
  for (const auto& [name, tensor] : tensors) dictionary.insert(name, tensor.detach().to(at::kCPU).contiguous());
  std::vector<double> curve;
  for (const EpochRow& row : state.curve) {
    const std::vector<double> numbers = numbers_of(row);
    curve.insert(curve.end(), numbers.begin(), numbers.end());
  }
  dictionary.insert(mark_key, to_tensor(std::vector<double>(mark.begin(), mark.end())));
  dictionary.insert(steps_key, to_tensor({static_cast<double>(state.steps)}));
  dictionary.insert(curve_key, to_tensor(curve));
  write_dictionary(path, dictionary);
}

std::optional<TrainingState> load_checkpoint(const std::filesystem::path& path, const std::string& mark,
                                             const TrainingTensors& tensors) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const TensorDictionary dictionary = read_dictionary(path, "a checkpoint of a training");
  const auto numbers = [&](const char* key) {
    const auto entry = dictionary.find(key);
    return entry == dictionary.end() ? std::vector<double>() : to_values(entry->value());
  };
  const std::vector<double> stored = numbers(mark_key);
  if (!std::ranges::equal(stored, mark, {}, {}, [](char c) { return static_cast<double>(c); }))
    throw input_error("{}: the checkpoint of another training", path.string())
        .note(fmt::format("it is of `{}`", std::string(stored.begin(), stored.end())))
        .note("delete the file to begin anew");
  const at::NoGradGuard fixed;
  for (const auto& [name, tensor] : tensors) {
    const auto entry = dictionary.find(name);
    KASIMIR_CHECK(entry != dictionary.end() && entry->value().sizes() == tensor.sizes(), "{}: tensor {}", path.string(),
                  name);
    tensor.copy_(entry->value());
  }
  TrainingState state;
  state.steps = static_cast<std::int64_t>(numbers(steps_key).at(0));
  const std::vector<double> curve = numbers(curve_key);
  const std::size_t width = numbers_of({}).size();
  for (std::size_t i = 0; i + width <= curve.size(); i += width) state.curve.push_back(row_of(&curve[i]));
  return state;
}

}  // namespace kasimir
