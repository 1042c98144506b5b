// SPDX-License-Identifier: Apache-2.0
#include "kasimir/find.h"

#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/find.h"

#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

std::string count_text(std::uint64_t count) { return grouped(static_cast<std::int64_t>(count)); }

std::string asked(const Sampler& sampler) {
  const GrowthLimits& limits = sampler.options().limits;
  return fmt::format("asked: --budget {} with {}..{} primitives, --seed {}", sampler.options().budget.str(),
                     limits.min_primitives, limits.max_primitives, sampler.seed());
}

Error not_found(const Sampler& sampler, const Kernel& kernel, const Target& target, const FindResult& result) {
  Error error = unsolved_error("nothing that computes the same as `{}` was drawn in {} attempts", kernel.name,
                               count_text(result.attempts));
  error.note(asked(sampler));
  error.note(fmt::format("{} of them gave a legal kernel", count_text(result.legal)));
  if (result.refuted > 0)
    error.note(fmt::format("{} seemed equal at one site and differed at a second one", count_text(result.refuted)));
  const auto most = static_cast<std::size_t>(sampler.options().limits.max_primitives);
  if (target.kernel.steps.size() > most)
    error.note(fmt::format("the file's kernel takes {} steps here, more than are drawn", target.kernel.steps.size()));
  const auto missing = steps_not_offered(sampler, target);
  for (const std::string& step : missing) error.note(fmt::format("no primitive offers the step `{}` here", step));
  if (missing.empty())
    error.note("each of its steps can be drawn: try more attempts, another seed, or fewer primitives");
  return error;
}

void print(const Sampler& sampler, const FindResult& result, bool json) {
  const Hit& first = result.hits.front();
  if (json) {
    fmt::print("{}\n", nlohmann::json{{"attempt", first.attempt + 1},
                                      {"attempts", result.attempts},
                                      {"legal", result.legal},
                                      {"hits", result.hits.size()},
                                      {"refuted", result.refuted},
                                      {"agreement", words(first.agreement)},
                                      {"kernel", str(first.kernel)},
                                      {"seed", sampler.seed()}}
                           .dump());
    return;
  }
  fmt::print("first drawn in attempt {}; {} {} in {} attempts with seed {}\n{}\n\n{}", count_text(first.attempt + 1),
             count_text(result.hits.size()), result.hits.size() == 1 ? "hit" : "hits", count_text(result.attempts),
             sampler.seed(), words(first.agreement), str(first.kernel));
}

}  // namespace

int find_kernel(const std::vector<SiteLoad>& sites, SampleOptions sampling, bool any_length, std::uint64_t seed,
                const FindOptions& options) {
  const Kernel kernel = parse_kernel(read_file(options.file), catalog(), options.file);
  if (any_length) {
    sampling.limits.min_primitives = 1;
    sampling.limits.max_primitives = std::min(static_cast<int>(kernel.steps.size()) + 2, GrowthLimits::most_primitives);
  }
  const Sampler sampler(catalog(), sites, std::move(sampling), seed);
  const auto target = target_for(sampler, kernel);
  if (!target.ok())
    throw unsolved_error("`{}` cannot be drawn for these sites: {}", kernel.name, target.rejection().str())
        .note(asked(sampler));
  const FindResult result = find(sampler, *target, {options.most_attempts, options.hits, options.threads});
  if (result.hits.empty()) throw not_found(sampler, kernel, *target, result);
  print(sampler, result, options.json);
  return 0;
}

}  // namespace kasimir
