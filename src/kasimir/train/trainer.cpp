// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/trainer.h"

#include "kasimir/base/rng.h"
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/checkpoint.h"
#include "kasimir/train/distillation.h"
#include "kasimir/train/failure.h"
#include "kasimir/train/fused_training.h"
#include "kasimir/train/index_stream.h"
#include "kasimir/train/network_module.h"
#include "kasimir/train/sgd.h"
#include "kasimir/train/weight_average.h"

#include <ATen/autocast_mode.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

namespace kasimir {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// bfloat16 where it is asked for, while it lives.
class Autocast {
 public:
  Autocast(bool on, at::DeviceType device) : device_(device), before_(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_enabled(device_, on);
    if (on) at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, before_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool before_;
};

bool mixed(const Recipe& recipe) {
  return recipe.precision == Precision::mixed ||
         (recipe.precision == Precision::automatic && recipe.device == Device::cuda);
}

void check_fit(const NetworkPlan& plan, const Dataset& dataset, const Split& split) {
  const Shape3 wanted = plan.network->input();
  const ImageSet& images = dataset.train;
  const Shape3 found{images.channels, images.height, images.width};
  if (found != wanted)
    throw input_error("network {} takes images of {}, data set {} has {}", plan.network->name(), wanted.str(),
                      dataset.name, found.str());
  if (dataset.target == TargetKind::masks)
    throw input_error("the targets of data set {} are masks, and network {} gives one vector for each image",
                      dataset.name, plan.network->name())
        .note("masks are read and described, but not trained on; train on classes or values");
  if (dataset.target == TargetKind::values &&
      static_cast<std::int64_t>(dataset.classes.size()) != plan.network->classes())
    throw input_error("network {} gives {} numbers, data set {} has {} values", plan.network->name(),
                      plan.network->classes(), dataset.name, dataset.classes.size());
  if (static_cast<std::int64_t>(dataset.classes.size()) > plan.network->classes())
    throw input_error("network {} tells {} classes apart, data set {} has {}", plan.network->name(),
                      plan.network->classes(), dataset.name, dataset.classes.size());
  if (split.train.size() < 2 || split.validation.empty())
    throw input_error("data set {}: {} images to train on and {} to validate on, needed are at least 2 and 1",
                      dataset.name, split.train.size(), split.validation.size());
}

bool same_pixels(const ChannelStatistics& a, const ChannelStatistics& b) {
  return a.mean == b.mean && a.deviation == b.deviation;
}

void check_teacher(const NetworkPlan& plan, const Dataset& dataset, const Recipe& recipe, const Model* teacher) {
  if (recipe.distill <= 0 && teacher == nullptr) return;
  if (recipe.distill <= 0 || teacher == nullptr)
    throw input_error("recipe: distill is {:g} {} a teacher, needed are both or none", recipe.distill,
                      teacher == nullptr ? "without" : "with");
  if (dataset.target != TargetKind::classes)
    throw input_error("recipe: distill is {:g}, but the targets of data set {} are no classes", recipe.distill,
                      dataset.name)
        .note("leave distillation out; what is distilled is a distribution over classes");
  const Network& theirs = teacher->impl().network;
  if (theirs.classes() != plan.network->classes() || theirs.input() != plan.network->input())
    throw input_error("network {} with {} classes of {} cannot teach network {} with {} of {}", theirs.name(),
                      theirs.classes(), theirs.input().str(), plan.network->name(), plan.network->classes(),
                      plan.network->input().str());
}

/// Of the logarithm of a quantisation step, at its highest: a thousand steps can change it by a factor of e.
constexpr double step_rate = 1e-3;

struct Optimisers {
  Sgd weights;
  Adam steps;
  std::optional<WeightAverage> average;
};

/// All that training moves.
std::vector<at::Tensor> moving_tensors(Model::Impl& model) {
  std::vector<at::Tensor> all = model.learned_steps();
  for (const Part* part : model.parts()) all.push_back(part->tensor);
  return all;
}

class Training {
 public:
  Training(const NetworkPlan& plan, const Dataset& dataset, const Split& split, const Recipe& recipe,
           const TrainObserver& observer, const TrainStart& start)
      : dataset_(dataset), split_(split), recipe_(recipe), observer_(observer), start_from_(start) {
    set_threads(recipe.threads);
    result_.machine = describe_machine(recipe.device).str();
    result_.model = std::make_shared<Model>(plan, ModelOptions{recipe.seed, recipe.device, recipe.peepholes});
    if (start.weights == nullptr) {
      result_.model->set_normalisation(start.scale ? *start.scale : channel_statistics(dataset.train, split.train));
    } else {
      result_.model->set_tensors(start.weights->tensors());
      result_.model->set_normalisation(start.weights->normalisation());
    }
    result_.model->set_quantization(start.quantization);
    if (start.teacher != nullptr && !same_pixels(start.teacher->normalisation(), result_.model->normalisation()))
      throw input_error("the teacher {} reads pixels with another mean and deviation than the network",
                        start.teacher->impl().network.name())
          .note("train it on the same part of the data");
    batch_ = std::min<std::size_t>(static_cast<std::size_t>(recipe.batch), split.train.size());
    steps_per_epoch_ = static_cast<std::int64_t>(split.train.size() / batch_);
    result_.fused = fuse_kernels(result_.model->impl(), static_cast<std::int64_t>(batch_), recipe.kernels,
                                 steps_per_epoch_ * recipe.epochs);
  }

  void run(TrainResult& out) {
    const auto failed = out_of_memory_in([&] { epochs(); });
    if (failed) result_.failed = failed;
    result_.seconds = seconds_since(start_);
    if (training_seconds_ > 0)
      result_.images_per_second = static_cast<double>(result_.steps) * static_cast<double>(batch_) / training_seconds_;
    out = std::move(result_);
  }

 private:
  void epochs() {
    Model::Impl& model = result_.model->impl();
    const Batcher batcher(dataset_.train, model.normalisation);
    Optimisers optimisers{Sgd(model.parts(), {recipe_.momentum, recipe_.nesterov, recipe_.weight_decay}),
                          Adam(model.learned_steps()),
                          {}};
    if (recipe_.average > 0) optimisers.average.emplace(moving_tensors(model), recipe_.average);
    const std::string of = start_from_.checkpoint.empty() ? "" : mark(model);
    const int done = resume(of, model, optimisers);
    for (int epoch = done + 1; epoch <= recipe_.epochs; ++epoch) {
      const auto began = Clock::now();
      EpochRow row;
      row.epoch = epoch;
      if (!train_epoch(model, batcher, optimisers, row)) return;
      if (optimisers.average) optimisers.average->swap();
      const Score score = result_.model->evaluate(dataset_.train, split_.validation);
      if (optimisers.average) optimisers.average->swap();
      row.validation_loss = score.loss;
      row.validation_accuracy = score.accuracy;
      row.seconds = seconds_since(began);
      result_.curve.push_back(row);
      if (observer_.epoch) observer_.epoch(row);
      result_.validation = score;
      if (!start_from_.checkpoint.empty())
        save_checkpoint(start_from_.checkpoint, of, {result_.steps, result_.curve}, state_of(model, optimisers));
    }
    if (optimisers.average) optimisers.average->swap();
    if (!result_.validation) result_.validation = result_.model->evaluate(dataset_.train, split_.validation);
    if (recipe_.evaluate_test) result_.test = result_.model->evaluate(dataset_.test, every_index(dataset_.test));
  }

  /// What must be the same for a checkpoint to be of this training: all that it depends on. Before its first step.
  [[nodiscard]] std::string mark(Model::Impl& model) const {
    std::uint64_t start = 0;
    const auto add = [&](std::string_view bytes) {
      for (const char byte : bytes) start = mix_bits(start ^ static_cast<unsigned char>(byte));
    };
    const auto add_tensor = [&](const at::Tensor& tensor) {
      for (const float value : floats_of(tensor)) start = mix_bits(start ^ std::bit_cast<std::uint32_t>(value));
    };
    for (const Part* part : model.parts()) {
      add(part->name);
      add_tensor(part->tensor);
    }
    for (const auto& [weight, quantizer] : model.quantizers) {
      const QuantizedPlace place = quantizer.place();
      add(fmt::format("{} {} {}", weight, place.weight.str(), place.activation.str()));
    }
    for (const at::Tensor& steps : model.learned_steps()) add_tensor(steps);
    if (start_from_.teacher != nullptr)
      for (const at::Tensor& tensor : moving_tensors(start_from_.teacher->impl())) add_tensor(tensor);
    if (const auto& scale = start_from_.scale)
      add(fmt::format("{} {}", fmt::join(scale->mean, " "), fmt::join(scale->deviation, " ")));
    return fmt::format("{}, {}, {}, {} quantised places, start {:016x}", model.network.name(), dataset_.fingerprint,
                       recipe_.str(), model.quantizers.size(), start);
  }

  static NamedState state_of(Model::Impl& model, const Optimisers& optimisers) {
    NamedState all;
    for (const Part* part : model.parts()) all.emplace_back(part->name, part->tensor);
    const auto add = [&](const std::string& kind, const std::vector<at::Tensor>& tensors) {
      for (std::size_t i = 0; i < tensors.size(); ++i) all.emplace_back(fmt::format("#{}{}", kind, i), tensors[i]);
    };
    add("log step ", model.learned_steps());
    add("velocity ", optimisers.weights.state());
    add("adam ", optimisers.steps.state());
    if (optimisers.average) add("average ", optimisers.average->state());
    return all;
  }

  /// The number of epochs that a checkpoint has.
  int resume(const std::string& of, Model::Impl& model, const Optimisers& optimisers) {
    if (start_from_.checkpoint.empty()) return 0;
    const auto state = load_checkpoint(start_from_.checkpoint, of, state_of(model, optimisers));
    if (!state || state->curve.empty()) return 0;
    result_.steps = state->steps;
    result_.curve = state->curve;
    return result_.curve.back().epoch;
  }

  /// False if the training is over before its end.
  bool train_epoch(Model::Impl& model, const Batcher& batcher, Optimisers& optimisers, EpochRow& row) {
    const auto order = shuffled(split_.train, recipe_.seed, static_cast<std::uint64_t>(row.epoch));
    const Augmentation augmentation{recipe_.crop_padding, recipe_.flip,
                                    mix_bits(recipe_.seed) + static_cast<std::uint64_t>(row.epoch)};
    for (std::int64_t step = 0; step < steps_per_epoch_; ++step) {
      const auto began = Clock::now();
      row.learning_rate =
          rate_at(result_.steps, steps_per_epoch_ * recipe_.epochs, recipe_.learning_rate, recipe_.warmup);
      const auto part = std::span(order).subspan(static_cast<std::size_t>(step) * batch_, batch_);
      const at::Tensor images = image_tensor(batcher, part, augmentation).to(model.device());
      const double loss = train_step(model, images, target_tensor(batcher, part).to(model.device()), row);
      if (!std::isfinite(loss)) {
        result_.failed =
            Rejection{"diverged", fmt::format("loss is {} in epoch {} step {}", loss, row.epoch, step + 1)};
        return false;
      }
      optimisers.weights.step(row.learning_rate);
      optimisers.steps.step(row.learning_rate / recipe_.learning_rate * step_rate);
      ++result_.steps;
      if (optimisers.average) optimisers.average->update(result_.steps);
      row.train_loss += loss / static_cast<double>(steps_per_epoch_);
      training_seconds_ += seconds_since(began);
      if (ends(row.epoch, step + 1)) return false;
    }
    return true;
  }

  [[nodiscard]] at::Tensor scores_of(Model::Impl& model, const at::Tensor& images, bool training) const {
    const Autocast precision(mixed(recipe_), model.device().type());
    return model.forward(images, training).to(at::kFloat);
  }

  /// What the teacher says of the images.
  [[nodiscard]] at::Tensor taught(const at::Tensor& images) const {
    const at::NoGradGuard fixed;
    return scores_of(start_from_.teacher->impl(), images, false);
  }

  double train_step(Model::Impl& model, const at::Tensor& images, const at::Tensor& targets, EpochRow& row) const {
    const at::Tensor scores = scores_of(model, images, true);
    at::Tensor loss = mean_loss(scores, targets, recipe_.label_smoothing);
    if (start_from_.teacher != nullptr)
      loss = at::add(loss.mul(1 - recipe_.distill),
                     distillation_loss(scores, taught(images), recipe_.distill_temperature), recipe_.distill);
    loss.backward();
    const double right = right_in(scores, targets);
    row.train_accuracy += right / static_cast<double>(batch_) / static_cast<double>(steps_per_epoch_);
    return loss.item<double>();
  }

  bool ends(int epoch, std::int64_t step) {
    if (observer_.should_stop && observer_.should_stop()) {
      result_.stopped = true;
      return true;
    }
    const bool last = epoch == recipe_.epochs && step == steps_per_epoch_;
    if (last || recipe_.time_limit_s <= 0 || seconds_since(start_) <= recipe_.time_limit_s) return false;
    result_.failed =
        Rejection{"time limit", fmt::format("{:g} s were over in epoch {} of {}, step {} of {}", recipe_.time_limit_s,
                                            epoch, recipe_.epochs, step, steps_per_epoch_)};
    return true;
  }

  const Dataset& dataset_;
  const Split& split_;
  const Recipe& recipe_;
  const TrainObserver& observer_;
  const TrainStart& start_from_;
  TrainResult result_;
  std::size_t batch_ = 1;
  std::int64_t steps_per_epoch_ = 0;
  double training_seconds_ = 0.0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

TrainResult train(const NetworkPlan& plan, const Dataset& dataset, const Split& split, const Recipe& recipe,
                  const TrainObserver& observer, const TrainStart& start) {
  recipe.check();
  check_fit(plan, dataset, split);
  check_teacher(plan, dataset, recipe, start.teacher);
  TrainResult result;
  std::optional<MemoryMeter> meter;
  if (recipe.memory_limit > 0) meter.emplace(recipe.memory_limit);
  // The model itself may already be too large.
  const auto failed = out_of_memory_in([&] { Training(plan, dataset, split, recipe, observer, start).run(result); });
  if (failed) result.failed = failed;
  return result;
}

}  // namespace kasimir
