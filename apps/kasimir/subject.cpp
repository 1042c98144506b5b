// SPDX-License-Identifier: Apache-2.0
#include "kasimir/subject.h"

#include "kasimir/evaluate.h"
#include "kasimir/sites.h"
#include "kasimir/trial_plan.h"

#include "kasimir/study/store.h"
#include "kasimir/train/batches.h"

namespace kasimir {
namespace {

using Notes = std::vector<std::pair<std::string, std::string>>;

void place_kernel(const SubjectOptions& options, Subject& subject) {
  subject.plan = {subject.network.get(), {}};
  subject.notes = {{"network", subject.network->name()}};
  if (options.kernel.empty()) return;
  const auto sites = find_sites(*subject.network, {options.common.replace, options.common.keep});
  subject.plan = replace_with(*subject.network, sites, read_kernel(options.kernel, site_loads(sites)));
  subject.notes.emplace_back("kernel", options.kernel);
}

void train_again(const SubjectOptions& options, const SearchSpec& spec, const Dataset& data, Subject& subject) {
  const Split split = split_validation(data.train, spec.validation, spec.seed);
  const Recipe recipe = spec.recipe(static_cast<int>(study::Rung::full), options.trial, 0, data.train);
  const auto teacher = recipe.distill > 0 ? trained_original(options.study, *subject.network, recipe.device) : nullptr;
  TrainObserver watch;
  watch.epoch = [&](const EpochRow& row) {
    fmt::print("epoch {} of {}: validation accuracy {:.4f}\n", row.epoch, recipe.epochs, row.validation_accuracy);
    std::fflush(stdout);
  };
  TrainStart start;
  start.teacher = teacher.get();
  start.scale = spec.reading.own_scale(data.train.channels);
  const TrainResult trained = train(subject.plan, data, split, recipe, watch, start);
  if (!trained.ok()) throw unsolved_error("the training failed: {}", trained.failed->str());
  subject.model = trained.model;
  subject.notes.emplace_back("weights", "trained for this export");
  subject.notes.emplace_back("recipe", recipe.str());
  subject.notes.emplace_back("seed", std::to_string(recipe.seed));
  subject.notes.emplace_back("validation accuracy", fmt::format("{:.4f}", trained.validation->accuracy));
  if (trained.test) subject.notes.emplace_back("test accuracy", fmt::format("{:.4f}", trained.test->accuracy));
}

/// The weights that are asked for, or those of the first repetition that the search has kept, with what the study knows
/// of their training.
std::string weights_of(const SubjectOptions& options, const study::Store& store, Notes& notes) {
  if (!options.weights.empty()) return options.weights;
  for (const study::Job& job : store.jobs_of(options.trial)) {
    const auto path = weights_path(options.study, options.trial, job.seed);
    if (job.rung != study::Rung::full || !job.accuracy || !std::filesystem::exists(path)) continue;
    notes.emplace_back("recipe", job.result.value("recipe", ""));
    notes.emplace_back("repetition", std::to_string(job.seed));
    notes.emplace_back("validation accuracy", fmt::format("{:.4f}", *job.accuracy));
    return path.string();
  }
  throw input_error("there are no weights of trial {} beside {}: a search keeps those of finalists", options.trial,
                    options.study)
      .note("--train trains the trial again with the study's longest recipe; --weights FILE takes those of a file");
}

}  // namespace

std::vector<float> planar_images(const Model& model, const ImageSet& images) {
  const Batcher batcher(images, model.normalisation());
  const std::vector<std::int32_t> all = every_index(images);
  std::vector<float> rows(all.size() * images.image_bytes());
  batcher.write(all, {}, rows);
  // From [image][row][column][channel] to [image][channel][row][column].
  const auto channels = static_cast<std::size_t>(images.channels);
  const std::size_t places = images.image_bytes() / channels;
  std::vector<float> planar(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < places; ++p)
        planar[(i * channels + c) * places + p] = rows[(i * places + p) * channels + c];
  return planar;
}

Subject subject_from_zoo(const SubjectOptions& options) {
  Subject subject;
  subject.network = std::make_unique<Network>(
      network_for(options.common.network, options.common.width, parse_input(options.common.input), 0));
  if (is_onnx_file(options.common.network) && !options.weights.empty())
    *subject.network = network_as_saved(*subject.network, options.weights);
  place_kernel(options, subject);
  subject.model = std::make_shared<Model>(subject.plan);
  if (options.weights.empty()) {
    subject.model->set_tensors(random_weights(subject.plan, options.common.seed));
    subject.notes.emplace_back(
        "weights", subject.network->start() == nullptr
                       ? fmt::format("random, seed {}", options.common.seed)
                       : fmt::format("of {}; of kernels random, seed {}", options.common.network, options.common.seed));
  } else {
    subject.model->load(options.weights);
    subject.notes.emplace_back("weights", options.weights);
  }
  return subject;
}

Subject subject_for_data(const SubjectOptions& options, const Dataset& data) {
  Subject subject;
  const bool saved = is_onnx_file(options.common.network) && !options.weights.empty();
  DataNetwork made = network_for_data(options.common.network, options.common.width, saved ? Norms::keep : options.norms,
                                      data, options.reading);
  subject.network =
      std::make_unique<Network>(saved ? network_as_saved(made.network, options.weights) : std::move(made.network));
  place_kernel(options, subject);
  if (made.restored > 0) subject.notes.emplace_back("batch norms put back", std::to_string(made.restored));
  subject.notes.emplace_back("data", data.description);
  return subject;
}

Subject subject_from_study(const SubjectOptions& options) {
  if (options.trial < 0) throw input_error("--trial is missing: which trial of {} is meant", options.study);
  const auto store = study::Store::view(options.study);
  const auto trial = store.trial(options.trial);
  Subject subject;
  const SearchSpec& spec = subject.spec.emplace(SearchSpec::from_json(store.info().spec));
  subject.notes = {{"study", options.study}, {"trial", std::to_string(trial.number)}};
  const std::string weights = options.train ? "" : weights_of(options, store, subject.notes);
  const Dataset& data = subject.data.emplace(load_dataset(spec.data, spec.load_options()));
  subject.network =
      std::make_unique<Network>(network_for_data(spec.network, spec.width, spec.norms, data, spec.reading).network);
  subject.plan = trial_plan(trial, *subject.network, select_sites(*subject.network, {spec.replace, spec.keep}).replaced,
                            [&](int number) { return store.trial(number).kernel; });
  subject.notes.emplace_back("network", subject.network->name());
  subject.notes.emplace_back("data", data.description);
  if (options.train) {
    train_again(options, spec, data, subject);
  } else {
    subject.model = std::make_shared<Model>(subject.plan);
    subject.model->load(weights);
    subject.notes.emplace_back("weights", weights);
    subject.notes.emplace_back(
        "test accuracy", fmt::format("{:.4f}", subject.model->evaluate(data.test, every_index(data.test)).accuracy));
  }
  return subject;
}

}  // namespace kasimir
