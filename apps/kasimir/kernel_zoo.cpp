// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel_zoo.h"

#include "kasimir/options.h"
#include "kasimir/search_spec.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/kernelzoo/facts.h"
#include "kasimir/kernelzoo/folder.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/study/store.h"
#include "kasimir/study/summary.h"

#include <algorithm>
#include <cstdlib>

namespace kasimir {
namespace {

using std::filesystem::path;

/// The folder that came with the program: beside it where it was built, `share` of the prefix where it is installed.
path own_zoo() {
  const path here = path(own_path()).parent_path();
  const path built = here / "share" / "kasimir" / "zoo";
  return is_directory(built) ? built : here.parent_path() / "share" / "kasimir" / "zoo";
}

path user_zoo() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data != 0) return path(data) / "kasimir" / "zoo";
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == 0 ? path() : path(home) / ".local" / "share" / "kasimir" / "zoo";
}

/// Data of a folder by the folder's name: where it lies is nobody else's concern.
std::string data_name(const std::string& data) {
  const path place(data);
  return place.is_absolute() ? place.filename().string() : data;
}

std::string recipe_of(const study::Store& store, int trial) {
  for (const study::Job& job : store.jobs_of(trial))
    if (job.rung == study::Rung::full && job.accuracy) return job.result.value("recipe", "");
  return "";
}

std::optional<double> spread_of(const std::optional<study::Measured>& measured) {
  return measured && measured->count > 1 ? std::optional(measured->spread) : std::nullopt;
}

void take_accuracy(const study::TrialSummary& trial, const study::TrialSummary& original, kernelzoo::Result& result) {
  result.seeds = trial.accuracy->count;
  result.validation = trial.accuracy->value;
  result.validation_spread = spread_of(trial.accuracy);
  result.original_validation = original.accuracy->value;
  result.original_validation_spread = spread_of(original.accuracy);
  if (!trial.test_accuracy || !original.test_accuracy) return;
  result.test = trial.test_accuracy->value;
  result.test_spread = spread_of(trial.test_accuracy);
  result.original_test = original.test_accuracy->value;
  result.original_test_spread = spread_of(original.test_accuracy);
}

void take_latency(const study::TrialSummary& trial, const SearchSpec& spec, const study::StudyInfo& info,
                  kernelzoo::Result& result) {
  if (!trial.latency_ratio) return;
  result.latency_ratio = trial.latency_ratio->value;
  if (trial.latency_ms) result.latency_ms = trial.latency_ms->value;
  if (trial.original_ms) result.original_ms = trial.original_ms->value;
  result.engine = spec.latency;
  result.machine = info.machine;
  result.batch = trial.batch;
  result.threads = trial.threads;
}

}  // namespace

std::vector<path> zoo_folders() {
  std::vector<path> folders;
  if (const path user = user_zoo(); !user.empty()) folders.push_back(user);
  folders.push_back(own_zoo());
  return folders;
}

kernelzoo::Entry zoo_entry_of(const study::StudyPlace& study, int number, const std::string& name) {
  const auto store = study::Store::view(study);
  const study::StudyInfo info = store.info();
  const SearchSpec spec = SearchSpec::from_json(info.spec);
  if (is_onnx_file(spec.network))
    throw input_error("{} searched in {}, which others do not have", study.str(), spec.network)
        .note("the zoo takes results in networks that Kasimir builds; write the kernel alone to a file and add that");
  const study::Trial stored = store.trial(number);
  const auto all = study::summaries(store);
  const auto& trial = *std::ranges::find(all, number, &study::TrialSummary::number);
  if (number == 0) throw input_error("trial 0 of {} is the original network, not a kernel", study.str());
  if (trial.rung != study::Rung::full || !trial.accuracy)
    throw input_error(
        "trial {} of {} was not trained in full: {}", number, study.str(),
        trial.rung ? fmt::format("it reached rung {}", study::name_of(*trial.rung)) : "it has no accuracy")
        .note("the zoo takes finalists; `kasimir study show` lists them");
  if (all.front().rung != study::Rung::full || !all.front().accuracy)
    throw input_error("the original of {} has no accuracy to stand beside that of trial {}", study.str(), number)
        .note("the same `kasimir search` goes on with it");

  kernelzoo::Entry entry;
  entry.kernel = parse_kernel(stored.kernel, catalog(), fmt::format("trial {}", number));
  if (!name.empty()) entry.kernel.name = name;
  entry.fingerprint = kernelzoo::fingerprint_of(entry.kernel);
  kernelzoo::Result result;
  result.network = spec.network;
  if (spec.width != 1.0) result.width = spec.width;
  const auto& input = info.spec.at("input");
  result.input = Shape3{input.at(0), input.at(1), input.at(2)}.str();
  result.classes = info.spec.at("classes").get<std::int64_t>();
  result.replace = spec.replace;
  result.keep = spec.keep;
  result.macs = trial.network.macs;
  result.params = trial.network.params;
  result.data = data_name(spec.data);
  result.recipe = recipe_of(store, number);
  take_accuracy(trial, all.front(), result);
  take_latency(trial, spec, info, result);
  result.program = info.program;
  result.command = info.spec.value("command", "");
  entry.results.push_back(std::move(result));
  return entry;
}

std::vector<GivenKernel> given_kernels(const std::vector<std::string>& words) {
  std::vector<GivenKernel> given;
  const auto take = [&](const kernelzoo::Entry& entry) {
    given.push_back({fmt::format("zoo/{}", entry.kernel.name), str(entry.kernel)});
  };
  const auto take_file = [&](const path& file) {
    given.push_back({file.string(), str(parse_kernel(read_file(file), catalog(), file.string()))});
  };
  for (const std::string& word : words) {
    if (word == "zoo") {
      std::ranges::for_each(kernelzoo::read_zoo(zoo_folders(), catalog()), take);
    } else if (std::filesystem::is_directory(word)) {
      std::vector<path> files;
      for (const auto& found : std::filesystem::directory_iterator(word))
        if (found.path().extension() == ".txt") files.push_back(found.path());
      std::ranges::sort(files);
      std::ranges::for_each(files, take_file);
    } else if (std::filesystem::exists(word)) {
      take_file(word);
    } else if (word.find_first_of("/.") != std::string::npos) {
      take_file(word);  // says that there is no such file
    } else {
      const auto entries = kernelzoo::read_zoo(zoo_folders(), catalog());
      take(kernelzoo::entry_named(entries, word));
    }
  }
  return given;
}

}  // namespace kasimir
