// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/export_c.h"

#include "kasimir/base/error.h"
#include "kasimir/codegen/tune.h"

#include <algorithm>

namespace kasimir {
namespace {

std::string bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Whole runs of `batch` images, the first images once more behind the last ones.
std::vector<float> whole_runs(const std::vector<float>& values, std::int64_t per_image, std::int64_t batch) {
  KASIMIR_CHECK(per_image > 0 && static_cast<std::int64_t>(values.size()) >= per_image, "no image to check with");
  const auto all = static_cast<std::int64_t>(values.size()) / per_image;
  std::vector<float> taken;
  for (std::int64_t i = 0; i < round_up(all, batch); ++i) {
    const auto from = values.begin() + i % all * per_image;
    taken.insert(taken.end(), from, from + per_image);
  }
  return taken;
}

std::string makefile(const ExportCOptions& options) {
  return fmt::format(
      "# `make` builds the program that checks and times the network, `make check` compares its scores with stored "
      "ones.\n"
      "CC ?= cc\n"
      "CFLAGS ?= -O3{} -ffp-contract=fast{}\n"
      "\n"
      "net_main: net_main.c net.c net.h\n"
      "\t$(CC) -std=gnu11 $(CFLAGS) -o $@ net_main.c net.c -lm\n"
      "\n"
      "check: net_main\n"
      "\t./net_main net.weights check.input check.output\n"
      "\n"
      ".PHONY: check\n",
      options.target ? " -march=native -mprefer-vector-width=512" : "", options.threads > 1 ? " -fopenmp" : "");
}

}  // namespace

std::vector<ExportedFile> export_c(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                   const ExportNotes& notes, const ExportCheck& check, const ExportCOptions& options) {
  COptions names;
  if (options.target) names.target = *options.target;
  names.threads = options.threads;
  names.quantised = !options.quantization.empty();
  auto made = network_as_c(plan, options.batch, weights, names, !options.target, options.quantization);
  if (!made.ok())
    throw input_error("network {} cannot be written as C: {}", plan.network->name(), made.rejection().str());
  if (options.tune_seconds > 0) {
    KASIMIR_CHECK(options.target.has_value(), "tuning is for one processor");
    TuningCache cache(options.tuning_cache);
    const auto tuned = tune_network(*made, names, cache, {.seconds = options.tune_seconds});
    if (!tuned.ok()) throw unsolved_error("the network cannot be tuned: {}", tuned.rejection().str());
  }
  std::string about = "/*\n";
  for (const auto& [key, value] : notes) about += fmt::format(" * {}: {}\n", key, value);
  about += " */\n";
  const Shape3 in = plan.network->input();
  return {{"net.h", made->made.c.header},
          {"net.c", about + made->made.c.source},
          {"net_main.c", c_main(names)},
          {"net.weights", bytes(made->weights)},
          {"check.input", bytes(whole_runs(check.input, in.c * in.h * in.w, options.batch))},
          {"check.output", bytes(whole_runs(check.output, plan.network->classes(), options.batch))},
          {"Makefile", makefile(options)}};
}

}  // namespace kasimir
