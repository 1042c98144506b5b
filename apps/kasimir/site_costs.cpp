// SPDX-License-Identifier: Apache-2.0
#include "kasimir/site_costs.h"

#include "kasimir/trial_plan.h"

#include "kasimir/study/store.h"
#include "kasimir/train/trainer.h"

#include <algorithm>

namespace kasimir {
namespace {

constexpr const char* event_kind = "site";

/// A model of the plan that begins with what the original has learned, where nothing is replaced.
Model begun_from(const Model& original, const NetworkPlan& plan, const ModelOptions& options) {
  Model model(plan, options);
  const auto replaced = [&](const std::string& tensor) {
    return std::ranges::any_of(plan.replaced, [&](const auto& at) {
      return tensor.starts_with(plan.network->layers()[static_cast<std::size_t>(at.first)].name + ".");
    });
  };
  for (const NamedTensor& tensor : original.tensors())
    if (!replaced(tensor.name)) model.set_tensor(tensor.name, tensor.values);
  model.set_normalisation(original.normalisation());
  return model;
}

}  // namespace

SiteCosts::SiteCosts(study::StudyPlace study, const Evaluator& evaluator, const SiteTuning& tuning,
                     const std::atomic<int>& stop)
    : study_(std::move(study)), evaluator_(evaluator), stop_(stop), split_(evaluator.split()) {
  const SearchSpec& spec = evaluator.spec();
  const ImageSet& images = evaluator.data().train;
  recipe_ = spec.recipe(static_cast<int>(study::Rung::quick), 0, 0, images);
  recipe_.epochs = tuning.epochs;
  recipe_.learning_rate *= tuning.rate;
  if (tuning.images > 0 && tuning.images < std::ssize(split_.train))
    split_.train = stratified_subset(images.labels, split_.train, tuning.images, spec.seed);
  settings_ = fmt::format("{} images, {}", split_.train.size(), recipe_.str());
  original_ = trained_original(study_, evaluator.network(), recipe_.device);
  for (const study::Event& event : study::Store::view(study_).events()) {
    if (event.kind != event_kind || event.data.at("settings") != settings_) continue;
    found_[{event.data.at("site"), event.data.at("trial")}] = {event.data.at("latency"), event.data.at("accuracy"),
                                                               event.data.at("refused")};
  }
}

NetworkPlan SiteCosts::plan_with(const std::string& site, int trial) const {
  NetworkPlan plan{&evaluator_.network(), {}};
  if (trial == 0) return plan;
  const auto everywhere = evaluator_.plan_of(study::Store::view(study_).trial(trial));
  const auto& sites = evaluator_.selection().replaced;
  const auto at = std::ranges::find(sites, site, &SiteRef::name);
  plan.replaced.emplace(at->layer, everywhere.replaced.at(at->layer));
  return plan;
}

SiteCosts::Found SiteCosts::found_at(const NetworkPlan& plan) const {
  Found found;
  if (!plan.replaced.empty()) {
    LatencyOptions options;
    options.batch = evaluator_.spec().latency_batch;
    options.threads = evaluator_.spec().latency_threads;
    options.repeats = 15;
    options.min_seconds = 0.5;
    options.verify.work = 2'000'000;  // a fraction of a second
    const auto samples = evaluator_.measured(plan, options);
    if (!samples.ok()) return {1, 0, samples.rejection().str()};
    found.latency = 1 / samples->speedup;
  }
  const Model begin = begun_from(*original_, plan, {recipe_.seed, recipe_.device, {}});
  TrainObserver watch;
  watch.should_stop = [this] { return stop_.load() != study::go_on; };
  const TrainResult trained = train(plan, evaluator_.data(), split_, recipe_, watch, {.weights = &begin});
  if (trained.failed) return {1, 0, trained.failed->str()};
  if (trained.ok()) found.accuracy = trained.validation->accuracy;
  return found;
}

void SiteCosts::keep(const std::string& site, int trial, const Found& found) {
  std::string text;
  if (!found.refused.empty()) {
    text = fmt::format("{} with the kernel of trial {}: {}", site, trial, found.refused);
  } else if (trial == 0) {
    text = fmt::format("the original, trained on: accuracy {:.1f} %", 100 * found.accuracy);
  } else {
    text = fmt::format("{} with the kernel of trial {}: accuracy {:.1f} %, {:.3f} of the original's latency", site,
                       trial, 100 * found.accuracy, found.latency);
  }
  study::Store::join(study_).add_event(study::wall_clock(), event_kind, text,
                                       {{"site", site},
                                        {"trial", trial},
                                        {"latency", found.latency},
                                        {"accuracy", found.accuracy},
                                        {"refused", found.refused},
                                        {"settings", settings_}});
  fmt::print("{}\n", text);
  std::fflush(stdout);
  found_[{site, trial}] = found;
}

bool SiteCosts::measure(const std::string& site, int trial) {
  if (found_.contains({site, trial})) return true;
  const Found found = found_at(plan_with(site, trial));
  if (stop_.load() != study::go_on) return false;
  keep(site, trial, found);
  return true;
}

bool SiteCosts::measure(const std::vector<int>& trials) {
  if (!measure("", 0)) return false;
  for (const SiteRef& site : evaluator_.selection().replaced)
    for (const int trial : trials)
      if (!measure(site.name, trial)) return false;
  return true;
}

std::vector<SiteChoices> SiteCosts::choices(const std::vector<int>& trials) const {
  const double original = found_.at({"", 0}).accuracy;
  std::vector<SiteChoices> all;
  for (const SiteRef& site : evaluator_.selection().replaced) {
    SiteChoices choices{site.name, {0}, {{0, 0}}};
    for (const int trial : trials) {
      const Found& found = found_.at({site.name, trial});
      if (!found.refused.empty()) continue;
      choices.trials.push_back(trial);
      choices.options.push_back({found.latency - 1, std::max(0.0, original - found.accuracy)});
    }
    all.push_back(std::move(choices));
  }
  return all;
}

}  // namespace kasimir
