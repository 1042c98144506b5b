// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/claim_check.h"

#include "kasimir/base/threads.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

__extension__ using Wide = __int128;

/// Values of all symbols at a site. 0: none.
using Values = std::array<std::int64_t, symbol_count>;

/// Reads one kernel's stages at one site. Every number below is whole; what is not, or does not fit, is said.
class SiteReader {
 public:
  SiteReader(const Graph& graph, const Values& values) : graph_(graph), values_(values) {}

  std::optional<Rejection> read() {
    defined_.assign(graph_.tensors.size(), false);
    read_.assign(graph_.tensors.size(), false);
    elements_.assign(graph_.tensors.size(), 1);
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) measure(t);
    for (const Stage& stage : graph_.stages) {
      if (against_) return against_;
      visit(stage);
    }
    read_[static_cast<std::size_t>(graph_.output)] = true;
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (!defined_[t]) say("every tensor has a value", graph_.tensors[t].name);
      if (!read_[t]) say("every tensor is read", graph_.tensors[t].name);
    }
    return against_;
  }

  [[nodiscard]] std::int64_t cost(CostKind kind) const { return cost_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::int64_t largest() const { return largest_; }  ///< elements of an activation for one image
  /// The output without its batch.
  [[nodiscard]] std::vector<std::pair<AxisKind, std::int64_t>> output() {
    std::vector<std::pair<AxisKind, std::int64_t>> axes;
    for (const auto& axis : graph_.tensors[static_cast<std::size_t>(graph_.output)].axes)
      if (axis.kind != AxisKind::batch) axes.emplace_back(axis.kind, extent(axis.extent));
    return axes;
  }

 private:
  void say(std::string rule, std::string with) {
    if (!against_) against_ = Rejection{std::move(rule), std::move(with)};
  }

  std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) say("numbers fit in 64 bits", fmt::format("{} * {}", a, b));
    return result;
  }

  struct Fraction {
    Wide above = 0, below = 1;
  };

  /// A size with numbers in place of symbols, not in lowest terms.
  Fraction fraction(const Size& size) {
    Fraction result{size.coefficient().num(), size.coefficient().den()};
    for (int i = 0; i < symbol_count; ++i) {
      const int power = size.power(static_cast<Symbol>(i));
      const std::int64_t value = values_[static_cast<std::size_t>(i)];
      if (power != 0 && value < 1) {
        say("every symbol has a value", size.str());
        return {};
      }
      Wide& side = power > 0 ? result.above : result.below;
      for (int p = std::abs(power); p > 0; --p)
        if (__builtin_mul_overflow(side, value, &side)) {
          say("numbers fit in 64 bits", size.str());
          return {};
        }
    }
    return result;
  }

  /// Coefficients of iterators may be below 1.
  std::int64_t whole(const Size& size) {
    const Fraction value = fraction(size);
    if (value.above % value.below != 0) say("every size is whole", fmt::format("{} at {}", size.str(), where()));
    const Wide result = value.above / value.below;
    if (result > std::numeric_limits<std::int64_t>::max() || result < std::numeric_limits<std::int64_t>::min())
      say("numbers fit in 64 bits", size.str());
    return static_cast<std::int64_t>(result);
  }

  std::int64_t extent(const Size& size) {
    const std::int64_t value = whole(size);
    if (value < 1) say("every size is at least 1", fmt::format("{} = {} at {}", size.str(), value, where()));
    return value;
  }

  [[nodiscard]] std::string where() const {
    std::string text;
    for (int i = 0; i < symbol_count; ++i)
      if (values_[static_cast<std::size_t>(i)] > 0)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", symbol_name(static_cast<Symbol>(i)),
                            values_[static_cast<std::size_t>(i)]);
    return text;
  }

  void measure(std::size_t t) {
    const Tensor& tensor = graph_.tensors[t];
    for (const auto& axis : tensor.axes) {
      const std::int64_t size = extent(axis.extent);
      if (axis.kind != AxisKind::batch) elements_[t] = product(elements_[t], size);
    }
    extent(tensor.fan_in);
    defined_[t] = tensor.role != Role::between;
    if (tensor.role == Role::between) largest_ = std::max(largest_, elements_[t]);
    if (tensor.role == Role::weight) cost_[static_cast<std::size_t>(CostKind::params)] += elements_[t];
  }

  void visit(const Stage& stage) {
    std::vector<std::int64_t> extents;
    for (const Iter& iter : stage.iters) extents.push_back(extent(iter.extent));
    check_left(stage, extents);
    std::vector<bool> from_tensors;
    std::int64_t products = 0;
    for (const auto& node : stage.nodes) {
      bool varies = false;
      if (const auto* access = std::get_if<BasicRead<Symbolic>>(&node)) {
        check_read(*access);
        varies = true;
      } else if (const auto* apply = std::get_if<Apply>(&node)) {
        const bool a = from_tensors[static_cast<std::size_t>(apply->a)];
        const bool b = apply->b >= 0 && from_tensors[static_cast<std::size_t>(apply->b)];
        varies = a || b;
        products += apply->fn == Fn::mul && a && b ? 1 : 0;
      }
      from_tensors.push_back(varies);
    }
    const auto out = static_cast<std::size_t>(stage.out);
    if (defined_[out]) say("a tensor is defined once", graph_.tensors[out].name);
    defined_[out] = true;
    std::int64_t& bytes = cost_[static_cast<std::size_t>(CostKind::bytes)];
    // The copy that puts the result's axes in order belongs to no step.
    if (stage.step >= 0) bytes += product(elements_[out], static_cast<std::int64_t>(bytes_per_element));
    if (stage.reduce != Reduce::sum || stage.stat || products == 0) return;
    std::int64_t work = products;
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (stage.iters[i].kind != AxisKind::batch) work = product(work, extents[i]);
    cost_[static_cast<std::size_t>(CostKind::macs)] += work;
  }

  void check_left(const Stage& stage, const std::vector<std::int64_t>& extents) {
    const Tensor& out = graph_.tensors[static_cast<std::size_t>(stage.out)];
    if (stage.left.size() != out.axes.size()) return say("a stage names each axis of what it defines", out.name);
    for (std::size_t a = 0; a < stage.left.size(); ++a) {
      std::int64_t digits = 1;
      for (const int digit : stage.left[a].digits) digits = product(digits, extents[static_cast<std::size_t>(digit)]);
      if (const std::int64_t size = extent(out.axes[a].extent); digits != size)
        say("digits multiply to their axis", fmt::format("{} and {} of {} at {}", digits, size, out.name, where()));
    }
  }

  void check_read(const BasicRead<Symbolic>& access) {
    const auto tensor = static_cast<std::size_t>(access.tensor);
    if (!defined_[tensor]) say("a tensor is defined before it is read", graph_.tensors[tensor].name);
    if (access.at.size() != graph_.tensors[tensor].axes.size())
      say("a read has a coordinate for each axis", graph_.tensors[tensor].name);
    read_[tensor] = true;
    for (const Coord& coord : access.at) {
      for (const auto& [iter, factor] : coord.terms) whole(factor);
      if (coord.wrap) extent(*coord.wrap);
      check_offset(coord.offset);
    }
  }

  /// Terms of an offset need not be whole, their sum must be.
  void check_offset(const SizeSum& offset) {
    Fraction sum;
    for (const Size& term : offset.terms()) {
      const Fraction next = fraction(term);
      sum.above = sum.above * next.below + next.above * sum.below;
      sum.below *= next.below;
      if (sum.above % sum.below == 0) sum = {sum.above / sum.below, 1};
    }
    if (sum.above % sum.below != 0) say("every offset is whole", fmt::format("{} at {}", offset.str(), where()));
  }

  const Graph& graph_;
  const Values& values_;
  std::vector<bool> defined_, read_;
  std::vector<std::int64_t> elements_;  ///< for one image
  std::array<std::int64_t, cost_kinds> cost_{};
  std::int64_t largest_ = 0;
  std::optional<Rejection> against_;
};

Values values_at(const Kernel& kernel, const Site& site) {
  Values values{};
  const auto set = [&](Symbol symbol, std::int64_t value) { values[static_cast<std::size_t>(symbol)] = value; };
  set(Symbol::N, 1);
  set(Symbol::Ci, site.ci);
  set(Symbol::Co, site.co);
  set(Symbol::H, site.h);
  set(Symbol::W, site.w);
  set(Symbol::s, site.s);
  for (const Symbol symbol : choice_symbols) set(symbol, kernel.choices[symbol]);
  for (const auto& [at, fit] : kernel.fits)
    if (at == site)
      for (int i = 0; i < free_symbol_count; ++i) set(free_symbol(i), fit[free_symbol(i)]);
  return values;
}

bool is_output(std::vector<std::pair<AxisKind, std::int64_t>> axes, const Site& site) {
  std::ranges::sort(axes);
  return axes == std::vector<std::pair<AxisKind, std::int64_t>>{
                     {AxisKind::channel, site.co}, {AxisKind::height, site.h}, {AxisKind::width, site.w}};
}

/// What a limit leaves as whole numbers: costs are whole.
std::int64_t most_of(const Limit& limit, double replaced) {
  const double high = limit.high * replaced * (1 + limit_tolerance);
  return high < 9e18 ? static_cast<std::int64_t>(std::floor(high)) : std::numeric_limits<std::int64_t>::max();
}
std::int64_t least_of(const Limit& limit, double replaced) {
  return static_cast<std::int64_t>(std::ceil(limit.low * replaced * (1 - limit_tolerance)));
}

double replaced_by(const SiteLoad& load, CostKind kind) {
  const auto written = static_cast<double>(load.site.co * load.site.h * load.site.w);
  return kind == CostKind::macs ? load.macs : kind == CostKind::params ? load.params : bytes_per_element * written;
}

std::optional<Rejection> beyond(const Limit& limit, CostKind kind, double replaced, std::int64_t cost,
                                const std::string& where) {
  const auto say = [&](std::string_view side, std::int64_t bound) {
    return Rejection{fmt::format("budget: {} are {} the limit", cost_name(kind), side),
                     fmt::format("{}, the limit is {}{}", cost, bound, where)};
  };
  if (cost > most_of(limit, replaced)) return say("at most", most_of(limit, replaced));
  if (cost < least_of(limit, replaced)) return say("at least", least_of(limit, replaced));
  return std::nullopt;
}

/// Rounding of sums in floating point stays below this share.
constexpr double rounding = 1e-9;

std::optional<Rejection> check_weights(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors)
    for (const auto& axis : tensor.axes)
      if (tensor.role == Role::weight && (axis.extent.has(Symbol::H) || axis.extent.has(Symbol::W)))
        return Rejection{"no weight depends on H or W", fmt::format("{} of {}", axis.extent.str(), tensor.name)};
  return std::nullopt;
}

}  // namespace

std::optional<Rejection> disagreement(const KernelClaim& claim, const ClaimRules& rules) {
  std::vector<Site> sites;
  for (const SiteLoad& load : rules.sites) sites.push_back(load.site);
  const auto graph = lower(claim.kernel, SiteSet(sites, claim.kernel.choices));
  if (!graph.ok()) return graph.rejection();
  if (!rules.weights_may_depend_on_resolution)
    if (auto reason = check_weights(*graph)) return reason;
  std::array<std::int64_t, cost_kinds> total{};
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const SiteLoad& load = rules.sites[i];
    const Values values = values_at(claim.kernel, load.site);
    const std::string where = " at " + load.site.str();
    SiteReader reader(*graph, values);
    if (auto reason = reader.read()) return reason;
    if (!is_output(reader.output(), load.site)) return Rejection{"the result is [c=Co, h=H, w=W]", where};
    if (reader.largest() > rules.most_elements)
      return Rejection{"no tensor is too large", fmt::format("{} elements{}", reader.largest(), where)};
    for (const CostKind kind : all_cost_kinds) {
      const auto k = static_cast<std::size_t>(kind);
      const std::int64_t cost = reader.cost(kind);
      total[k] += cost * load.count;
      if (!claim.cost[k].empty() &&
          std::abs(claim.cost[k][i] - static_cast<double>(cost)) > rounding * claim.cost[k][i])
        return Rejection{fmt::format("{} are those that are claimed", cost_name(kind)),
                         fmt::format("{}, {:.17g} are claimed{}", cost, claim.cost[k][i], where)};
      if (!rules.budget[kind].relative) continue;
      if (auto reason = beyond(rules.budget[kind], kind, replaced_by(load, kind), cost, where)) return reason;
    }
  }
  for (const CostKind kind : all_cost_kinds)
    if (!rules.budget[kind].relative)
      if (auto reason = beyond(rules.budget[kind], kind, 1.0, total[static_cast<std::size_t>(kind)], " in all"))
        return reason;
  return std::nullopt;
}

KernelClaim claim_of(const Sampler& sampler, const SampleMemory& memory) {
  KernelClaim claim{sampler.kernel(memory), {}};
  const auto keep = [&](CostKind kind) {
    claim.cost[static_cast<std::size_t>(kind)] = memory.solution().cost[static_cast<std::size_t>(kind)];
  };
  keep(CostKind::macs);
  keep(CostKind::params);
  // The sampler does not count bytes that no budget limits.
  if (sampler.options().budget.bytes.given()) keep(CostKind::bytes);
  return claim;
}

ClaimRules rules_of(const Sampler& sampler) {
  const SampleOptions& options = sampler.options();
  return {sampler.sites(), options.budget, options.solver.most_elements,
          options.limits.weights_may_depend_on_resolution};
}

ClaimCheck check_claims(const Sampler& sampler, const ClaimRules& rules, const CheckOptions& options,
                        const std::function<bool(const ClaimCheck&)>& go_on) {
  constexpr std::uint64_t per_thread = 256;
  struct Verdict {
    bool legal = false;
    std::optional<Rejection> against;
    std::string kernel;
  };
  std::vector<SampleMemory> memories;
  for (int t = 0; t < std::max(options.threads, 1); ++t) memories.emplace_back(sampler);
  std::vector<Verdict> verdicts(per_thread * memories.size());
  ClaimCheck check;
  while (check.agreed < options.wanted && !check.against && go_on(check)) {
    on_threads(memories.size(), [&](std::size_t thread) {
      for (std::size_t i = thread * per_thread; i < (thread + 1) * per_thread; ++i) {
        verdicts[i] = {};
        verdicts[i].legal = !sampler.draw(options.first + check.attempts + i, memories[thread]);
        if (!verdicts[i].legal) continue;
        const KernelClaim claim = claim_of(sampler, memories[thread]);
        verdicts[i].against = disagreement(claim, rules);
        if (verdicts[i].against) verdicts[i].kernel = str(claim.kernel);
      }
    });
    // In order, and only up to what ends the check: the same numbers on any number of threads.
    for (const Verdict& verdict : verdicts) {
      if (check.agreed == options.wanted || check.against) break;
      ++check.attempts;
      check.agreed += verdict.legal && !verdict.against ? 1 : 0;
      check.against = verdict.against;
      check.kernel = verdict.kernel;
    }
  }
  return check;
}

}  // namespace kasimir
