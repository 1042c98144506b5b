// SPDX-License-Identifier: Apache-2.0
#include "kasimir/evaluate.h"

#include "kasimir/options.h"
#include "kasimir/sampling.h"
#include "kasimir/sites.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/latency.h"
#include "kasimir/train/score.h"
#include "kasimir/train/screen.h"
#include "kasimir/train/trainer.h"

#include <algorithm>
#include <functional>

namespace kasimir {

namespace {

/// Attempts that one trial number may use: far more than the few that a legal kernel takes.
constexpr std::uint64_t attempts_per_trial = 20000;

/// Kernels that one trial number may draw beyond the latency budget: each costs the nests of the whole network. A
/// judgement, as the attempts are.
constexpr int most_too_slow = 300;

/// A prediction this far above the limit rules a kernel out: half of them are nearer than that to what is measured
/// (docs/results.md).
constexpr double prediction_slack = 1.1;

/// Images for zero-cost scores: half a usual batch, which keeps them far below the price of an epoch.
constexpr std::int64_t score_batch = 64;

/// Whole or not at all, however the process ends.
void save_whole(const Model& model, const std::filesystem::path& path) {
  make_folder(path.parent_path());
  std::filesystem::path half = path;
  half += ".part";
  model.save(half);
  std::filesystem::rename(half, path);
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value + 0.5); }

}  // namespace

std::filesystem::path weights_path(const study::StudyPlace& study, int trial, int repetition) {
  return study.beside(".weights") / fmt::format("trial-{}-seed-{}.pt", trial, repetition);
}

Evaluator::Evaluator(SearchSpec spec, const LoadProgress& progress)
    : spec_(std::move(spec)),
      data_(load_dataset(spec_.data, spec_.load_options(), progress)),
      made_(network_for_data(spec_.network, spec_.width, spec_.norms, data_, spec_.reading)),
      selection_(select_sites(made_.network, {spec_.replace, spec_.keep})),
      split_(split_validation(data_.train, spec_.validation, spec_.seed)),
      latency_limit_(Budget::parse(spec_.budget).latency),
      sampler_(catalog(), site_loads(selection_.replaced), spec_.sample_options(), spec_.seed),
      original_{&made_.network, {}} {
  if (data_.target == TargetKind::masks)
    throw input_error("the targets of data set {} are masks, and networks here give one vector for each image",
                      data_.name)
        .note("masks are read and described (`kasimir data`), but not trained on; train on classes or values");
  if (spec_.device == "cuda" && !has_cuda())
    throw input_error("--device cuda was asked for, but torch finds no CUDA device")
        .note("leave the option out to train on the processor");
  if (!spec_.scores.empty()) {
    const auto count = std::min(score_batch, static_cast<std::int64_t>(split_.train.size()));
    score_images_ = select_images(data_.train, stratified_subset(data_.train.labels, split_.train, count, spec_.seed));
  }
  if (spec_.latency == "native") native_ = std::make_unique<NativeBench>(original_, spec_.latency_batch);
  if (!native_ || !latency_limit_.given()) return;
  const auto original = predicted(original_);
  KASIMIR_CHECK(original.ok(), "{} as C: {}", made_.network.name(), original.rejection().str());
  original_seconds_ = *original;
}

std::optional<Score> Evaluator::as_it_came() const {
  constexpr std::int64_t most = 1000;  // a look, not a measurement: data sets may have hundreds of thousands
  if (!starts_whole(original_)) return std::nullopt;
  Model model(original_);
  model.set_normalisation(spec_.reading.scale(data_.train, split_.train));
  return model.evaluate(data_.train, stratified_subset(data_.train.labels, split_.validation,
                                                       std::min(most, std::ssize(split_.validation)), spec_.seed));
}

Outcome<double> Evaluator::predicted(const NetworkPlan& plan) const {
  const auto work = count_work(plan, spec_.latency_batch, host_target());
  if (!work.ok()) return work.rejection();
  return reference_latency_model().predict(*work);
}

std::optional<Rejection> Evaluator::predicted_too_slow(const Kernel& kernel) const {
  if (original_seconds_ <= 0) return std::nullopt;
  const auto seconds = predicted(replace_with(made_.network, selection_.replaced, kernel));
  if (!seconds.ok()) return seconds.rejection();
  const double ratio = *seconds / original_seconds_;
  if (ratio <= latency_limit_.high * prediction_slack) return std::nullopt;
  return Rejection{"budget: latency",
                   fmt::format("predicted {:.2f} of the original's, at most {} asked", ratio, latency_limit_.high)};
}

void Evaluator::hold_to_budget(study::JobResult& result) const {
  if (!latency_limit_.given() || result.verdict != study::Verdict::ok) return;
  const double ratio = 1 / result.extra["speedup"].get<double>();
  if (ratio >= latency_limit_.low && ratio <= latency_limit_.high) return;
  result = study::JobResult::rejected(
      "budget: latency", fmt::format("measured {:.2f} of the original's, {} asked", ratio,
                                     latency_limit_.high < ratio ? fmt::format("at most {}", latency_limit_.high)
                                                                 : fmt::format("at least {}", latency_limit_.low)));
}

void Evaluator::check_space() const { check_space_of(sampler_); }

Outcome<study::Proposal> Evaluator::ask(int number) const {
  const LayerCost total = made_.network.cost();
  LayerCost replaced;
  for (const SiteRef& site : selection_.replaced) replaced += site.cost;
  if (number == 0)
    return study::Proposal{"",
                           "original",
                           {{"strategy", "original"}},
                           {replaced.macs, replaced.params},
                           {total.macs, total.params},
                           nlohmann::json::object()};
  const std::uint64_t first = static_cast<std::uint64_t>(number) * attempts_per_trial;
  Rejection last{"sampling: no legal kernel was found", ""};
  SampleMemory memory(sampler_);
  int too_slow = 0;
  const Strategy& strategy = strategy_named(spec_.strategy);
  const History seen = strategy.uses_history ? history() : History{};
  for (std::uint64_t i = 0; i < attempts_per_trial && too_slow < most_too_slow; ++i) {
    auto idea = strategy.propose({sampler_, memory, number, first + i, seen});
    if (!idea.ok()) {
      last.with = idea.rejection().str();
      continue;
    }
    const Sampled* sampled = &idea->sampled;
    if (const auto slow = predicted_too_slow(sampled->kernel)) {
      last.with = slow->str();
      ++too_slow;
      continue;
    }
    study::Proposal proposal;
    proposal.kernel = str(sampled->kernel);
    proposal.hash = fmt::format("{:016x}", sampled->label.fingerprint);
    proposal.origin = idea->origin;
    proposal.replaced = {whole(sampled->cost.total_macs), whole(sampled->cost.total_params)};
    proposal.network = {total.macs - replaced.macs + proposal.replaced.macs,
                        total.params - replaced.params + proposal.replaced.params};
    proposal.budget_use = {{"macs", sampled->cost.total_macs / static_cast<double>(replaced.macs)},
                           {"params", sampled->cost.total_params / static_cast<double>(replaced.params)},
                           {"global", sampled->label.view.is_global}};
    return proposal;
  }
  last.with = too_slow < most_too_slow
                  ? fmt::format("{} attempts, the last one: {}", attempts_per_trial, last.with)
                  : fmt::format("{} kernels beyond the latency budget, the last one: {}", too_slow, last.with);
  return last;
}

History Evaluator::history() const {
  KASIMIR_CHECK(study_, "a strategy looks into the study of seed {}, but there is none", spec_.seed);
  const auto store = std::make_shared<study::Store>(study::Store::view(*study_));
  std::vector<study::RungResult> results = store->results(study::Rung::quick);
  std::erase_if(results, [](const study::RungResult& result) { return result.trial == 0; });
  std::ranges::stable_sort(results, std::ranges::greater{}, &study::RungResult::accuracy);
  History seen;
  std::map<int, study::Counts> networks;
  for (const study::Trial& trial : store->trials()) networks[trial.number] = trial.network;
  for (const study::RungResult& result : results) {
    const study::Counts& network = networks.at(result.trial);
    seen.parents.push_back(
        {result.trial, result.accuracy, static_cast<double>(network.macs), static_cast<double>(network.params)});
  }
  seen.kernel = [store](int trial) { return store->trial(trial).kernel; };
  return seen;
}

NetworkPlan Evaluator::plan_of(const study::Trial& trial) const {
  if (trial.number == 0) return original_;
  return replace_with(made_.network, selection_.replaced,
                      parse_kernel(trial.kernel, catalog(), fmt::format("trial {}", trial.number)));
}

std::optional<study::JobResult> Evaluator::screened(const NetworkPlan& plan) const {
  constexpr std::int64_t images = 64;
  std::vector<std::int32_t> few(split_.train.begin(),
                                split_.train.begin() + std::min<std::ptrdiff_t>(images, std::ssize(split_.train)));
  ScreenOptions options;
  options.slowest = spec_.slowest;
  options.device = spec_.device == "cuda" ? Device::cuda : Device::cpu;
  const ScreenResult result = screen(plan, select_images(data_.train, few), options);
  if (result.ok()) return std::nullopt;
  return study::JobResult::rejected(result.rejected->rule, result.rejected->with);
}

std::vector<study::ScoreRow> Evaluator::scored(const NetworkPlan& plan) const {
  if (spec_.scores.empty()) return {};
  const Device device = spec_.device == "cuda" ? Device::cuda : Device::cpu;
  std::vector<study::ScoreRow> rows;
  for (const ScoreResult& score : zero_cost_scores(plan, score_images_, spec_.scores, {spec_.seed, device, 0}))
    rows.push_back({score.name, score.value, score.rejected ? score.rejected->str() : "", score.seconds});
  return rows;
}

std::optional<study::JobResult> Evaluator::dropped(const std::vector<study::ScoreRow>& scores) const {
  if (scores.empty() || spec_.score_keep >= 1 || !study_) return std::nullopt;
  std::vector<std::vector<study::ScoreRow>> earlier;
  const auto store = study::Store::view(*study_);
  for (const nlohmann::json& result : store.recent_results(study::Rung::quick, study::score_window))
    if (auto others = study::scores_in(result); !others.empty()) earlier.push_back(std::move(others));
  return study::dropped_by_scores(earlier, scores, spec_.score_keep);
}

Outcome<LatencySamples> Evaluator::measured(const NetworkPlan& plan, const LatencyOptions& options) const {
  return native_ ? native_->measure(plan, options) : measure_latency(plan, original_, options);
}

void Evaluator::quick_latency(const NetworkPlan& plan, study::JobResult& result) const {
  // An estimate for choosing finalists while other workers run: paired with the original, so that their ratio holds.
  LatencyOptions options;
  options.batch = spec_.latency_batch;
  options.repeats = 7;
  options.min_seconds = 0;
  options.verify.work = 2'000'000;  // a fraction of a second; finalists are checked at larger sites
  const auto samples = measured(plan, options);
  if (!samples.ok()) {
    result = study::JobResult::failed(samples.rejection().rule, samples.rejection().with);
    return;
  }
  result.latency_ms = samples->candidate.median;
  result.extra["speedup"] = samples->speedup;
  double worst = 0;
  for (const VerifyResult& check : samples->checks) worst = std::max(worst, check.error);
  result.extra["verified_error"] = worst;
}

study::JobResult Evaluator::train_rung(const study::Job& job, int trial, const NetworkPlan& plan,
                                       study::JobObserver& observer) const {
  const auto rung = static_cast<int>(job.rung);
  const std::int64_t images = spec_.rungs[static_cast<std::size_t>(rung)].images;
  Split split = split_;
  if (images > 0 && images < std::ssize(split.train))
    split.train = stratified_subset(data_.train.labels, split_.train, images, spec_.seed);
  const Recipe recipe = spec_.recipe(rung, job.seed, data_.train);
  TrainObserver watch;
  watch.epoch = [&](const EpochRow& row) {
    observer.epoch({row.epoch, row.train_loss, row.train_accuracy, row.validation_loss, row.validation_accuracy,
                    row.learning_rate, row.seconds});
  };
  watch.should_stop = observer.should_stop;
  TrainStart start;
  start.scale = spec_.reading.own_scale(data_.train.channels);
  const TrainResult trained = train(plan, data_, split, recipe, watch, start);
  if (trained.stopped) return study::JobResult::stopped();
  if (trained.failed) return study::JobResult::failed(trained.failed->rule, trained.failed->with);
  if (study_ && job.rung == study::Rung::full) save_whole(*trained.model, weights_path(*study_, trial, job.seed));
  study::JobResult result;
  result.accuracy = trained.validation->accuracy;
  result.loss = trained.validation->loss;
  if (trained.test) result.test_accuracy = trained.test->accuracy;
  result.extra = {{"recipe", recipe.str()},
                  {"images_per_second", trained.images_per_second},
                  {"machine", trained.machine},
                  {"train_images", std::ssize(split.train)},
                  {"validation_images", std::ssize(split.validation)}};
  return result;
}

study::JobResult Evaluator::latency(const NetworkPlan& plan) const {
  LatencyOptions options;
  options.batch = spec_.latency_batch;
  options.threads = spec_.latency_threads;
  options.repeats = 40;
  options.min_seconds = 3;
  if (native_ && spec_.latency_tune > 0) native_->tune_with(TuningCache(tuning_cache_path()), spec_.latency_tune);
  const auto samples = measured(plan, options);
  if (!samples.ok()) return study::JobResult::failed(samples.rejection().rule, samples.rejection().with);
  study::JobResult result;
  result.latency_ms = samples->candidate.median;
  for (std::size_t i = 0; i < samples->candidate_ms.size(); ++i)
    result.latency.push_back(
        {options.threads, options.batch, static_cast<int>(i), samples->candidate_ms[i], samples->original_ms[i]});
  result.extra = {{"machine", samples->machine},
                  {"speedup", samples->speedup},
                  {"engine", spec_.latency},
                  {"set_aside", samples->set_aside}};
  return result;
}

study::JobResult Evaluator::first_rung(const study::Job& job, const study::Trial& trial, const NetworkPlan& plan,
                                       study::JobObserver& observer) const {
  // Before it is trained: what is too slow costs no more than its compilation.
  study::JobResult measured;
  quick_latency(plan, measured);
  hold_to_budget(measured);
  if (measured.verdict != study::Verdict::ok) return measured;
  study::JobResult result = train_rung(job, trial.number, plan, observer);
  if (result.verdict != study::Verdict::ok) return result;
  result.latency_ms = measured.latency_ms;
  result.extra.update(measured.extra);
  return result;
}

study::JobResult Evaluator::evaluate(const study::Job& job, const study::Trial& trial,
                                     study::JobObserver& observer) const {
  const NetworkPlan plan = plan_of(trial);
  if (job.rung == study::Rung::latency) return latency(plan);
  if (job.rung != study::Rung::quick) return train_rung(job, trial.number, plan, observer);
  const bool candidate = trial.number != 0;
  if (candidate)
    if (auto refused = screened(plan)) return *refused;
  const std::vector<study::ScoreRow> scores = scored(plan);
  const auto worse = candidate ? dropped(scores) : std::nullopt;
  study::JobResult result = worse       ? *worse
                            : candidate ? first_rung(job, trial, plan, observer)
                                        : train_rung(job, trial.number, plan, observer);
  if (!scores.empty()) study::add_scores(result.extra, scores);
  return result;
}

}  // namespace kasimir
