// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/sampler.h"

#include "kasimir/base/near_miss.h"
#include "kasimir/base/threads.h"
#include "kasimir/synth/find.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kasimir {
namespace {

/// A name from the text, so that the same kernel has the same name in every run.
void name_by_text(Kernel& kernel) {
  kernel.name = "k";
  std::uint64_t hash = 0;
  for (char c : str(kernel)) hash = mix_bits(hash ^ static_cast<unsigned char>(c));
  kernel.name = fmt::format("k_{:08x}", hash >> 32);
}

/// g and r are the same numbers at every site: divisors of all channel counts.
std::vector<Binding> possible_choices(const std::vector<SiteLoad>& sites) {
  std::int64_t common = 0;
  for (const SiteLoad& load : sites) common = std::gcd(std::gcd(common, load.site.ci), load.site.co);
  const auto dividing = [&](std::initializer_list<std::int64_t> values) {
    std::vector<std::int64_t> possible;
    std::ranges::copy_if(values, std::back_inserter(possible), [&](std::int64_t value) { return common % value == 0; });
    return possible.empty() ? std::vector<std::int64_t>{1} : possible;
  };
  std::vector<Binding> choices;
  for (const std::int64_t g : dividing({2, 4, 8, 16}))
    for (const std::int64_t r : dividing({2, 4, 8})) choices.push_back(Binding().set(Symbol::g, g).set(Symbol::r, r));
  return choices;
}

}  // namespace

Sampler::Sampler(Catalog catalog, std::vector<SiteLoad> sites, SampleOptions options, std::uint64_t seed)
    : catalog_(catalog), sites_(std::move(sites)), options_(std::move(options)), seed_(seed) {
  options_.limits.check(catalog);
  if (sites_.empty()) throw input_error("there is no site to sample kernels for");
  const auto named = [](const std::vector<std::string>& names, const Primitive* p) {
    return std::ranges::find(names, p->name) != names.end();
  };
  for (const Primitive* primitive : catalog) {
    const bool allowed = (options_.limits.allow.empty() || named(options_.limits.allow, primitive)) &&
                         !named(options_.limits.forbid, primitive);
    weights_.push_back(allowed ? primitive->weight : 0.0);
  }
  if (std::ranges::all_of(weights_, [](double weight) { return weight == 0.0; }))
    throw input_error("no primitive is left: all that are allowed are forbidden too");
  choices_ = possible_choices(sites_);
}

std::uint64_t Sampler::space() const {
  std::uint64_t hash = 0;
  const auto add = [&](std::int64_t value) { hash = mix_bits(hash ^ static_cast<std::uint64_t>(value)); };
  for (const SiteLoad& load : sites_)
    for (const std::int64_t value : {load.site.ci, load.site.co, load.site.h, load.site.w, load.site.s, load.count})
      add(value);
  for (const Primitive* primitive : catalog_)
    for (const char c : primitive->name) add(c);
  return hash;
}

struct SampleMemory::Place {
  World world;
  CostLines lines;
  NormalFormer former;
  Semantics semantics;
  Growth growth;
  FitProblem problem;
  FitSolution solution;
  std::vector<double> bytes;                           ///< of one term
  std::array<std::vector<double>, cost_kinds> fixed;  ///< by site
  Place(const Sampler& sampler, const std::vector<double>& weights, const std::vector<Binding>& choices)
      : world(sampler.catalog(), sampler.sites(),
              {sampler.options().solver.lane, sampler.options().solver.most_elements,
               sampler.options().limits.weights_may_depend_on_resolution, weights, choices}),
        lines(sampler.sites(), sampler.options().budget, world.lanes()),
        former(world),
        semantics(world),
        growth(world, sampler.options().limits, lines, former) {
    problem.set_sites(sampler.sites());
  }
};

SampleMemory::SampleMemory(const Sampler& sampler)
    : place_(std::make_unique<Place>(sampler, sampler.weights_, sampler.choices_)) {}
SampleMemory::SampleMemory(SampleMemory&&) noexcept = default;
SampleMemory& SampleMemory::operator=(SampleMemory&&) noexcept = default;
SampleMemory::~SampleMemory() = default;

Identity SampleMemory::identity() { return place_->former.identity(place_->growth.steps()); }
std::optional<Fingerprint> SampleMemory::fingerprint() {
  return place_->semantics.fingerprint(place_->growth.steps(), place_->growth.open_symbols());
}
Semantics::Waste SampleMemory::waste() {
  return place_->semantics.waste(place_->growth.steps(), place_->growth.open_symbols());
}
std::uint64_t SampleMemory::weight_sizes() { return place_->semantics.weight_sizes(place_->growth.steps()); }
Identity SampleMemory::identity_of(std::span<const GrownStep> steps) { return place_->former.identity(steps); }
const Growth& SampleMemory::growth() const { return place_->growth; }
Growth& SampleMemory::growth() { return place_->growth; }
const FitSolution& SampleMemory::solution() const { return place_->solution; }
std::vector<std::int64_t>& SampleMemory::refused() { return place_->growth.refused(); }

void Sampler::bound(SampleMemory& memory) const {
  constexpr std::size_t most_moves = 2'000'000;
  if (memory.place_->world.move_count() > most_moves) memory = SampleMemory(*this);
}

FitFailure Sampler::solve(SampleMemory& memory) const {
  pose(*memory.place_);
  return memory.place_->problem.solve(options_.budget, options_.solver, memory.place_->solution);
}

std::optional<Rejection> Sampler::draw(std::uint64_t index, SampleMemory& memory) const {
  bound(memory);
  SampleMemory::Place& place = *memory.place_;
  Rng rng(seed_, index);
  // A preference, not a rule: what uses little of the budget may still come.
  constexpr int most_wasteful = 8;
  constexpr int most_runs = 3;
  int wasteful = 0;
  int runs = 1;
  FitFailure failure;
  for (bool grown = place.growth.run(rng); grown;) {
    failure = solve(memory);
    if (failure.ok() && (wasteful == most_wasteful || uses_budget(place.solution, place.growth.open_symbols())))
      return std::nullopt;
    wasteful += failure.ok() ? 1 : 0;
    grown = place.growth.again(rng);
    if (grown || wasteful == 0 || runs == most_runs) continue;
    wasteful = ++runs == most_runs ? most_wasteful : most_wasteful / 2;
    grown = place.growth.run(rng);
  }
  if (!failure.ok()) return explain(failure, options_.budget, sites_, options_.solver);
  return Rejection{place.world.rule(place.growth.failure()), place.growth.failure_example()};
}

/// Whether free sizes use the upper limit of a band up, at the site where they use most of it. What a kernel without
/// free sizes costs is as it is.
bool Sampler::uses_budget(const FitSolution& solution, int open_symbols) const {
  const auto is_band = [&](CostKind kind) {
    const Limit& limit = options_.budget[kind];
    return limit.low > 0.0 && limit.high < std::numeric_limits<double>::infinity();
  };
  if (open_symbols == 0 || std::ranges::none_of(all_cost_kinds, is_band)) return true;
  return std::max(std::ranges::max(solution.use), solution.objective.use) >= options_.solver.enough_use;
}

/// Costs and conditions of the steps as the budget solver takes them.
void Sampler::pose(SampleMemory::Place& place) const {
  const Growth& growth = place.growth;
  FitProblem& problem = place.problem;
  problem.reset(static_cast<std::uint8_t>((1U << static_cast<unsigned>(growth.open_symbols())) - 1U));
  for (auto& sum : place.fixed) sum.assign(sites_.size(), 0.0);
  const int sites = place.world.site_count();
  for (const GrownStep& step : growth.steps()) {
    const MoveCosts& details = place.world.costs(step.written.move);
    for (const CostKind kind : all_cost_kinds) {
      std::vector<double>& sum = place.fixed[static_cast<std::size_t>(kind)];
      const double* const costs = details.fixed_of(kind, sites);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += costs[i];
    }
    if (growth.world().move(step.written.move).open_symbols == 0) continue;
    for (const FreeTerm& term : details.macs) problem.add_macs(term.powers, term.factor);
    for (const FreeTerm& term : details.params) problem.add_params(term.powers, term.factor);
    for (const FreeTerm& term : details.volumes) {
      problem.limit_volume(term.powers, term.factor);
      if (!options_.budget.bytes.given()) continue;
      place.bytes = term.factor;
      for (double& factor : place.bytes) factor *= bytes_per_element;
      problem.add_bytes(term.powers, place.bytes);
    }
    for (const WholeTerm& term : details.whole) problem.require_whole(term.powers, term.num, term.den);
  }
  for (const CostKind kind : all_cost_kinds)
    if (kind != CostKind::bytes || options_.budget.bytes.given())
      problem.add_cost(kind, Powers{}, place.fixed[static_cast<std::size_t>(kind)]);
}

std::optional<Rejection> Sampler::unwanted(const View& view) const {
  const Wanted& wanted = options_.wanted;
  const auto forbidden = [&](LabelName label) { return forbids(wanted.labels, label); };
  const bool pointwise = forbidden(LabelName::rows) || forbidden(LabelName::columns) ||
                         forbidden(LabelName::neighbourhood) || forbidden(LabelName::reach);
  if (view.is_blind) return Rejection{"screen: every output depends on the input", ""};
  if (wanted.channel_mixing && !forbidden(LabelName::mixing) && !view.mixes_channels)
    return Rejection{"screen: every output sees every input channel", ""};
  if (wanted.neighbourhood && !pointwise && !(view.sees_height && view.sees_width))
    return Rejection{"screen: some output sees other rows and other columns", ""};
  if (!wanted.allow_global && view.is_global) return Rejection{"screen: no output sees the whole image", ""};
  return std::nullopt;
}

std::optional<Rejection> Sampler::unwanted(Sampled& sampled) const {
  if (auto reason = unwanted(sampled.label.view)) return reason;
  const auto& rules = options_.wanted.labels;
  if (rules.empty()) return std::nullopt;
  const auto labels = exact_labels(sampled.kernel, costs_of(rules));
  if (!labels.ok()) return labels.rejection();
  sampled.exact = *labels;
  std::vector<Site> sites;
  for (const SiteLoad& load : sites_) sites.push_back(load.site);
  return broken_rule(rules, sampled.kernel, *labels, sites);
}

/// What rules about labels say counts instead.
std::optional<Rejection> Sampler::wasteful(const Kernel& kernel, SampleMemory::Place& place) const {
  const auto screened = [&](LabelName label) {
    return std::ranges::find(options_.wanted.labels, label, &LabelRule::label) == options_.wanted.labels.end();
  };
  const bool blind = screened(LabelName::blind);
  const bool idle = screened(LabelName::idle);
  if (options_.wanted.allow_waste || (!blind && !idle)) return std::nullopt;
  const auto waste = place.semantics.waste(place.growth.steps(), place.growth.open_symbols());
  if (blind && waste.blind) return Rejection{"screen: every output channel changes with the input", ""};
  if (idle && waste.idle_step != no_id)
    return Rejection{"screen: no step may be left out",
                     fmt::format("`{}`", str(kernel.steps[static_cast<std::size_t>(waste.idle_step)]))};
  return std::nullopt;
}

Kernel Sampler::kernel(const SampleMemory& memory) const {
  const Growth& growth = memory.growth();
  Kernel kernel = to_kernel(growth.world(), growth.choice(), growth.steps());
  for (std::size_t i = 0; i < sites_.size() && growth.open_symbols() > 0; ++i) {
    Binding values;
    for (int k = 0; k < growth.open_symbols(); ++k)
      values.set(free_symbol(k), memory.solution().values[i][static_cast<std::size_t>(k)]);
    kernel.fits.emplace_back(sites_[i].site, values);
  }
  name_by_text(kernel);
  return kernel;
}

Outcome<Sampled> Sampler::attempt(std::uint64_t index, SampleMemory& memory, SampleStats* stats) const {
  const auto failed = draw(index, memory);
  const Growth& growth = memory.growth();
  const World& world = growth.world();
  auto& refused = memory.refused();
  for (std::size_t rule = 0; rule < refused.size(); ++rule)
    if (stats != nullptr && refused[rule] > 0)
      stats->refused[world.rule(static_cast<std::int32_t>(rule))] += refused[rule];
  std::ranges::fill(refused, 0);
  if (failed) return *failed;
  return describe(index, memory);
}

Outcome<Sampled> Sampler::describe(std::uint64_t index, const SampleMemory& memory) const {
  Sampled sampled;
  sampled.attempt = index;
  sampled.kernel = kernel(memory);
  const FitSolution& solution = memory.solution();
  sampled.cost = {solution.cost[0],  solution.cost[1],  solution.cost[2],  solution.total[0],
                  solution.total[1], solution.total[2], solution.objective};
  auto found = label(sampled.kernel);
  if (!found.ok()) return found.rejection();
  sampled.label = *found;
  if (auto reason = unwanted(sampled)) return *reason;
  if (auto reason = wasteful(sampled.kernel, *memory.place_)) return *reason;
  return sampled;
}

namespace {

/// What the threads found in as many attempts each, in order.
struct Block {
  std::vector<std::optional<Outcome<Sampled>>> results;
  std::vector<SampleStats> stats;
};

Block attempt_block(const Sampler& sampler, std::uint64_t first, std::uint64_t per_thread,
                    std::vector<SampleMemory>& memories, bool with_kin) {
  Block block{std::vector<std::optional<Outcome<Sampled>>>(per_thread * memories.size()),
              std::vector<SampleStats>(per_thread * memories.size())};
  on_threads(memories.size(), [&](std::size_t thread) {
    SampleMemory& memory = memories[thread];
    for (std::uint64_t i = thread * per_thread; i < (thread + 1) * per_thread; ++i) {
      auto& result = block.results[i];
      result = sampler.attempt(first + i, memory, &block.stats[i]);
      if (with_kin && result->ok())
        (*result)->kin = {memory.identity(), memory.fingerprint(), memory.solution().objective.modelled};
    }
  });
  return block;
}

}  // namespace

SampleStats sample(const Sampler& sampler, std::size_t count, std::uint64_t most_attempts, int threads,
                   const std::function<void(const Sampled&)>& found, SeenSet* seen) {
  SampleStats stats;
  std::unordered_set<std::string> texts;
  std::unordered_set<std::uint64_t> functions;
  std::map<Fingerprint, Kernel> first_of;  // what was kept, to compare what seems to be the same function
  constexpr std::uint64_t per_thread = 32;
  std::vector<SampleMemory> memories;
  for (int t = 0; t < std::max(threads, 1); ++t) memories.emplace_back(sampler);
  std::size_t kept = 0;
  while (kept < count && stats.attempts < most_attempts) {
    Block block = attempt_block(sampler, stats.attempts, per_thread, memories, seen != nullptr);
    // Counted in order and only up to the attempt that completes the count: the same numbers on any number of threads.
    const std::uint64_t first = stats.attempts;
    for (std::uint64_t i = 0; i < block.results.size() && kept < count && first + i < most_attempts; ++i) {
      ++stats.attempts;
      for (const auto& [rule, number] : block.stats[i].refused) stats.refused[rule] += number;
      const Outcome<Sampled>& result = *block.results[i];
      if (!result.ok()) {
        ++stats.rejected[result.rejection().rule];
        const Rejection& reason = result.rejection();
        keep_nearest(stats.nearest[reason.rule], reason.rule, reason.with);
        continue;
      }
      ++stats.legal;
      if (!texts.insert(str(result->kernel)).second) {
        ++stats.same_text;
        continue;
      }
      if (seen != nullptr) {
        const auto& kin = *result->kin;
        const auto differs = [&] {
          const auto met = kin.function ? first_of.find(*kin.function) : first_of.end();
          return met != first_of.end() && compare(met->second, result->kernel, sampler.sites()) == Agreement::refuted;
        };
        const Novelty novelty = seen->add(kin, differs);
        ++stats.seen[static_cast<std::size_t>(novelty)];
        if (!worth_keeping(novelty)) continue;
        if (kin.function) first_of.try_emplace(*kin.function, result->kernel);
      }
      if (!functions.insert(result->label.fingerprint).second) ++stats.same_function;
      ++kept;
      found(*result);
    }
    if (seen != nullptr) seen->flush();
  }
  return stats;
}

}  // namespace kasimir
