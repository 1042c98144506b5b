// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/checkpoint.h"

#include "kasimir/base/error.h"

namespace kasimir {
namespace {

constexpr const char* steps_name = "#steps";
constexpr const char* curve_name = "#curve";

std::vector<double> numbers_of(const EpochRow& row) {
  return {static_cast<double>(row.epoch), row.train_loss,    row.train_accuracy, row.validation_loss,
          row.validation_accuracy,        row.learning_rate, row.seconds};
}

EpochRow row_of(const double* numbers) {
  return {static_cast<int>(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6]};
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const std::string& mark, const TrainingState& state,
                     const NamedState& tensors) {
  std::vector<double> curve;
  for (const EpochRow& row : state.curve) {
    const std::vector<double> numbers = numbers_of(row);
    curve.insert(curve.end(), numbers.begin(), numbers.end());
  }
  save_state(path, mark, {{steps_name, {static_cast<double>(state.steps)}}, {curve_name, curve}}, tensors);
}

std::optional<TrainingState> load_checkpoint(const std::filesystem::path& path, const std::string& mark,
                                             const NamedState& tensors) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const SavedState saved(path, "a checkpoint of a training");
  if (saved.mark() != mark)
    throw input_error("{}: the checkpoint of another training", path.string())
        .note(fmt::format("it is of `{}`", saved.mark()))
        .note("delete the file to begin anew");
  saved.restore(tensors);
  TrainingState state;
  state.steps = static_cast<std::int64_t>(saved.numbers(steps_name).at(0));
  const std::vector<double> curve = saved.numbers(curve_name);
  const std::size_t width = numbers_of({}).size();
  for (std::size_t i = 0; i + width <= curve.size(); i += width) state.curve.push_back(row_of(&curve[i]));
  return state;
}

}  // namespace kasimir
