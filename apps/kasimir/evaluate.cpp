// SPDX-License-Identifier: Apache-2.0
#include "kasimir/evaluate.h"

#include "kasimir/options.h"
#include "kasimir/sampling.h"
#include "kasimir/sites.h"
#include "kasimir/trial_plan.h"

#include "kasimir/base/files.h"
#include "kasimir/network/norms.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/solver.h"
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

/// Kernels that one trial number may draw beyond the budget of latency or accelerator: each costs the nests of the
/// whole network. A judgement, as the attempts are.
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

/// Whether its first repetition on rung `full` has a result.
bool original_is_trained(const study::Store& store) {
  return std::ranges::any_of(store.jobs_of(0), [](const study::Job& job) {
    return job.rung == study::Rung::full && job.seed == 0 && job.state == study::JobState::done && job.accuracy;
  });
}

}  // namespace

std::filesystem::path weights_path(const study::StudyPlace& study, int trial, int repetition) {
  return study.beside(".weights") / fmt::format("trial-{}-seed-{}.pt", trial, repetition);
}

std::unique_ptr<Model> trained_original(const study::StudyPlace& study, const Network& network, Device device) {
  const auto path = weights_path(study, 0, 0);
  if (!std::filesystem::exists(path))
    throw input_error("{}, the trained original network, is not here", path.string())
        .note("it lies where the worker ran that trained it, beside the study's name; copy it from there");
  auto model = std::make_unique<Model>(NetworkPlan{&network, {}}, ModelOptions{.device = device});
  model->load(path);
  return model;
}

Evaluator::Evaluator(SearchSpec spec, const LoadProgress& progress)
    : spec_(std::move(spec)),
      data_(load_dataset(spec_.data, spec_.load_options(), progress)),
      made_(network_for_data(spec_.network, spec_.width, spec_.norms, data_, spec_.reading)),
      selection_(select_sites(made_.network, {spec_.replace, spec_.keep})),
      split_(split_validation(data_.train, spec_.validation, spec_.seed)),
      budget_(Budget::parse(spec_.budget)),
      sampler_(catalog(), site_loads(selection_.replaced), spec_.sample_options(), spec_.seed),
      original_{&made_.network, {}} {
  trained_ = std::make_unique<TrainedKernels>(catalog(), selection_.replaced.front().site,
                                              HostCosts(made_.network, selection_.replaced));
  if (data_.target == TargetKind::masks)
    throw input_error("the targets of data set {} are masks, and networks here give one vector for each image",
                      data_.name)
        .note("masks are read and described (`kasimir data`), but not trained on; train on classes or values");
  if (spec_.distill > 0 && data_.target != TargetKind::classes)
    throw input_error("--distill was asked for, but the targets of data set {} are no classes", data_.name)
        .note("leave the option out: what is distilled is a distribution over classes");
  if (spec_.device == "cuda" && !has_cuda())
    throw input_error("--device cuda was asked for, but torch finds no CUDA device")
        .note("leave the option out to train on the processor");
  if (!spec_.scores.empty()) {
    const auto count = std::min(score_batch, static_cast<std::int64_t>(split_.train.size()));
    score_images_ = select_images(data_.train, stratified_subset(data_.train.labels, split_.train, count, spec_.seed));
  }
  if (!spec_.accelerator.name.empty()) accelerator_ = std::make_unique<AcceleratorTarget>(spec_.accelerator, original_);
  if (!spec_.quick_size.empty()) quick_ = std::make_unique<QuickImages>(spec_, data_, made_.network, progress);
  if (spec_.latency == "native") native_ = std::make_unique<NativeBench>(original_, spec_.latency_batch);
  if (!native_ || !budget_.latency.given()) return;
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
  if (ratio <= budget_.latency.high * prediction_slack) return std::nullopt;
  return Rejection{"budget: latency",
                   fmt::format("predicted {:.2f} of the original's, at most {} asked", ratio, budget_.latency.high)};
}

Outcome<std::optional<study::AcceleratorCost>> Evaluator::on_accelerator(const Kernel& kernel) const {
  if (!accelerator_) return std::optional<study::AcceleratorCost>();
  const auto cost = accelerator_->cost(replace_with(made_.network, selection_.replaced, kernel));
  if (!cost.ok()) return cost.rejection();
  const double ratio = cost->value / accelerator_->original().value;
  const Limit& limit = budget_.accelerator;
  if (ratio >= limit.low && ratio <= limit.high) return std::optional(*cost);
  return Rejection{"budget: accelerator", fmt::format("{:.2f} of the original's {} on {}, {} asked", ratio,
                                                      spec_.accelerator.objective, spec_.accelerator.name,
                                                      limit.high < ratio ? fmt::format("at most {}", limit.high)
                                                                         : fmt::format("at least {}", limit.low))};
}

void Evaluator::hold_to_budget(study::JobResult& result) const {
  if (!budget_.latency.given() || result.verdict != study::Verdict::ok) return;
  const double ratio = 1 / result.extra["speedup"].get<double>();
  if (ratio >= budget_.latency.low && ratio <= budget_.latency.high) return;
  result = study::JobResult::rejected(
      "budget: latency", fmt::format("measured {:.2f} of the original's, {} asked", ratio,
                                     budget_.latency.high < ratio ? fmt::format("at most {}", budget_.latency.high)
                                                                  : fmt::format("at least {}", budget_.latency.low)));
}

void Evaluator::check_space() const { check_space_of(sampler_); }

Outcome<study::Proposal> Evaluator::ask(int number) const {
  const LayerCost& total = trained_->host().total;
  const LayerCost& replaced = trained_->host().replaced;
  if (number == 0) {
    study::Proposal original{"",
                             "original",
                             {{"strategy", "original"}},
                             {replaced.macs, replaced.params},
                             {total.macs, total.params},
                             nlohmann::json::object()};
    if (accelerator_) original.network.accelerator = accelerator_->original();
    return original;
  }
  if (static_cast<std::size_t>(number) <= spec_.seed_kernels.size()) {
    const auto& [from, text] = spec_.seed_kernels[static_cast<std::size_t>(number) - 1];
    const auto sampled = given(parse_kernel(text, catalog(), from));
    if (!sampled.ok()) return sampled.rejection();
    const auto placed = on_accelerator(sampled->kernel);
    if (!placed.ok()) return placed.rejection();
    return proposal(*sampled, {{"strategy", "given"}, {"from", from}}, *placed);
  }
  const std::uint64_t first = static_cast<std::uint64_t>(number) * attempts_per_trial;
  Rejection last{"sampling: no legal kernel was found", ""};
  SampleMemory memory(sampler_);
  int too_slow = 0;
  const Strategy& strategy = strategy_named(spec_.strategy);
  const auto store = strategy.uses_history ? seen_study() : nullptr;
  const History seen = store ? history(*store) : History{};
  const StudyFacts facts{[&](int trial) { return store->trial(trial).kernel; },
                         [&](int trial) {
                           for (const study::Job& job : store->jobs_of(trial))
                             if (job.rung == study::Rung::quick)
                               return in_order(study::scores_in(job.result), spec_.scores);
                           return in_order({}, spec_.scores);
                         },
                         [&](const Kernel& kernel) {
                           const NetworkPlan plan = replace_with(made_.network, selection_.replaced, kernel);
                           return in_order(scored(plan), spec_.scores);
                         }};
  SamplerSource source(sampler_, memory, *trained_, facts);
  for (std::uint64_t i = 0; i < attempts_per_trial && too_slow < most_too_slow; ++i) {
    auto idea = strategy.propose({source, spec_.seed, number, first + i, seen});
    if (!idea.ok()) {
      last.with = idea.rejection().str();
      continue;
    }
    if (const auto slow = predicted_too_slow(idea->sampled.kernel)) {
      last.with = slow->str();
      ++too_slow;
      continue;
    }
    const auto placed = on_accelerator(idea->sampled.kernel);
    if (!placed.ok()) {
      last.with = placed.rejection().str();
      ++too_slow;
      continue;
    }
    return proposal(idea->sampled, idea->origin, *placed);
  }
  last.with = too_slow < most_too_slow ? fmt::format("{} attempts, the last one: {}", attempts_per_trial, last.with)
                                       : fmt::format("{} kernels too costly, the last one: {}", too_slow, last.with);
  return last;
}

study::Proposal Evaluator::proposal(const Sampled& sampled, nlohmann::json origin,
                                    const std::optional<study::AcceleratorCost>& accelerator) const {
  const LayerCost& replaced = trained_->host().replaced;
  study::Proposal proposal;
  proposal.kernel = str(sampled.kernel);
  proposal.hash = fmt::format("{:016x}", sampled.label.fingerprint);
  proposal.origin = std::move(origin);
  proposal.replaced = counts_of(sampled);
  proposal.network = trained_->host().with(proposal.replaced);
  proposal.network.accelerator = accelerator;
  proposal.budget_use = {{"macs", sampled.cost.total_macs / static_cast<double>(replaced.macs)},
                         {"params", sampled.cost.total_params / static_cast<double>(replaced.params)},
                         {"global", sampled.label.view.is_global}};
  return proposal;
}

Outcome<Sampled> Evaluator::given(Kernel kernel) const {
  std::vector<Site> sites;
  for (const SiteLoad& load : sampler_.sites()) sites.push_back(load.site);
  const auto graph = lower(kernel, SiteSet(sites, kernel.choices));
  if (!graph.ok()) return graph.rejection();
  auto cost = fit(kernel, *graph, sampler_.sites(), sampler_.options().budget, {});
  if (!cost.ok()) return cost.rejection();
  if (auto slow = predicted_too_slow(kernel)) return *slow;
  auto found = label(kernel);
  if (!found.ok()) return found.rejection();
  Sampled sampled;
  sampled.kernel = std::move(kernel);
  sampled.cost = *std::move(cost);
  sampled.label = *found;
  return sampled;
}

std::unique_ptr<study::Store> Evaluator::seen_study() const {
  KASIMIR_CHECK(study_, "a strategy looks into the study of seed {}, but there is none", spec_.seed);
  return std::make_unique<study::Store>(study::Store::view(*study_));
}

History Evaluator::history(const study::Store& store) {
  History seen;
  for (const study::RungResult& result : store.results(study::Rung::quick)) {
    const study::Point point = point_of(result.accuracy, result.network);
    if (result.trial == 0)
      seen.original = point;
    else
      seen.parents.push_back({result.trial, point});
  }
  std::ranges::stable_sort(seen.parents, std::ranges::greater{}, [](const Parent& p) { return p.point.accuracy; });
  return seen;
}

NetworkPlan Evaluator::plan_of(const study::Trial& trial) const {
  return trial_plan(trial, made_.network, selection_.replaced, [this](int number) {
    KASIMIR_CHECK(study_, "trial {} of a study is asked for, but there is none", number);
    return study::Store::view(*study_).trial(number).kernel;
  });
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
  if (!quick_ || job.rung != study::Rung::quick) return train_on(data_, job, trial, plan, observer);
  const auto small = quick_->plan(plan);
  if (!small.ok())
    return study::JobResult::rejected(small.rejection().rule,
                                      fmt::format("on images of {}: {}", spec_.quick_size, small.rejection().with));
  return train_on(quick_->data(), job, trial, *small, observer);
}

study::JobResult Evaluator::train_on(const Dataset& data, const study::Job& job, int trial, const NetworkPlan& plan,
                                     study::JobObserver& observer) const {
  const auto rung = static_cast<int>(job.rung);
  const std::int64_t images = spec_.rungs[static_cast<std::size_t>(rung)].images;
  Split split = split_;
  if (images > 0 && images < std::ssize(split.train))
    split.train = stratified_subset(data.train.labels, split_.train, images, spec_.seed);
  const Recipe recipe = spec_.recipe(rung, trial, job.seed, data.train);
  std::unique_ptr<Model> teacher;
  if (recipe.distill > 0) {
    KASIMIR_CHECK(study_, "trial {} is taught by a study, but there is none", trial);
    if (!original_is_trained(study::Store::view(*study_)))
      return study::JobResult::failed("no teacher", "the original, which teaches, could not be trained");
    teacher = trained_original(*study_, made_.network, recipe.device);
  }
  TrainObserver watch;
  watch.epoch = [&](const EpochRow& row) {
    observer.epoch({row.epoch, row.train_loss, row.train_accuracy, row.validation_loss, row.validation_accuracy,
                    row.learning_rate, row.seconds});
  };
  watch.should_stop = observer.should_stop;
  TrainStart start;
  start.teacher = teacher.get();
  start.scale = spec_.reading.own_scale(data.train.channels);
  const TrainResult trained = train(plan, data, split, recipe, watch, start);
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
                  {"fused_kernels", trained.fused.fused},
                  {"train_images", std::ssize(split.train)},
                  {"image_size", fmt::format("{}x{}", data.train.height, data.train.width)},
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
