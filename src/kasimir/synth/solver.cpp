// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/solver.h"

#include "kasimir/base/text.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace kasimir {

Polynomial::Polynomial(const SizeSum& sum, const Binding& binding) {
  for (const Size& size : sum.terms()) {
    Term term{1.0, {}};
    Size bound = size;
    for (int i = 0; i < free_symbol_count; ++i) {
      term.powers[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(size.power(free_symbol(i)));
      bound /= Size(free_symbol(i), size.power(free_symbol(i)));
    }
    term.factor = bound.value_at(binding);
    terms_.push_back(term);
  }
}

double Polynomial::at(std::span<const std::int64_t> free) const {
  double sum = 0.0;
  for (const Term& term : terms_) {
    double value = term.factor;
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (int p = term.powers[i]; p > 0; --p) value *= static_cast<double>(free[i]);
      for (int p = term.powers[i]; p < 0; ++p) value /= static_cast<double>(free[i]);
    }
    sum += value;
  }
  return sum;
}

std::vector<Size> whole_sizes(const Graph& graph) {
  std::set<Size> sizes;
  for (const Tensor& tensor : graph.tensors)
    for (const auto& axis : tensor.axes) sizes.insert(axis.extent);
  for (const Stage& stage : graph.stages) {
    for (const Iter& iter : stage.iters) sizes.insert(iter.extent);
    for (const auto& node : stage.nodes) {
      const auto* read = std::get_if<BasicRead<Symbolic>>(&node);
      if (read == nullptr) continue;
      for (const Coord& coord : read->at)
        for (const auto& term : coord.terms) sizes.insert(term.second);
    }
  }
  return {sizes.begin(), sizes.end()};
}

namespace {

/// One site as the solver sees it. Values are indexed like the kernel's free symbols x0, x1, ..
struct SiteProblem {
  SiteLoad load;
  Binding binding;
  std::vector<Size> whole;  ///< sizes with free symbols that must be whole
  Polynomial macs, params;
  std::vector<Polynomial> volumes;
  std::vector<std::int64_t> value;  ///< indexed by free symbol number; 1 where not in use
};

class Solver {
 public:
  Solver(const Kernel& kernel, const Graph& graph, const SolverOptions& options)
      : symbols_(kernel.free_symbols()),
        options_(options),
        cost_(cost(graph)),
        sizes_(whole_sizes(graph)),
        choices_(kernel.choices),
        graph_(graph) {}

  std::optional<Rejection> add(const SiteLoad& load) {
    SiteProblem site;
    site.load = load;
    site.binding = load.site.binding();
    site.binding.set(Symbol::N, 1);
    for (Symbol symbol : {Symbol::g, Symbol::r, Symbol::k})
      if (choices_.has(symbol)) site.binding.set(symbol, choices_[symbol]);
    for (const Size& size : sizes_) {
      if (size.has_free()) {
        site.whole.push_back(size);
      } else if (const auto extent = size.extent_at(site.binding); !extent.ok()) {
        return extent.rejection();
      }
    }
    site.macs = Polynomial(cost_.macs, site.binding);
    site.params = Polynomial(cost_.params, site.binding);
    for (const Tensor& tensor : graph_.tensors) {
      if (tensor.role != Role::between) continue;
      Size volume(1);
      for (const auto& axis : tensor.axes) volume *= axis.extent;
      site.volumes.emplace_back(SizeSum(volume), site.binding);
    }
    site.value.assign(free_symbol_count, 1);
    sites_.push_back(std::move(site));
    return std::nullopt;
  }

  [[nodiscard]] std::vector<SiteProblem>& sites() { return sites_; }
  [[nodiscard]] const std::vector<Symbol>& symbols() const { return symbols_; }

  /// Sets every free symbol to its largest legal value of at most ratio * Co, or to its least legal one.
  /// Symbols are chosen in order, each legal with those before it. False if one has no legal value.
  bool place(SiteProblem& site, double ratio) const {
    std::ranges::fill(site.value, 1);
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      const std::int64_t aim =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(ratio * static_cast<double>(site.load.site.co)));
      const auto value = nearest_legal(site, i, aim);
      if (!value) return false;
      site.value[index(symbols_[i])] = *value;
    }
    return true;
  }

  /// The largest legal value <= aim for symbol i, on lanes if there is one, else the least legal value above.
  [[nodiscard]] std::optional<std::int64_t> nearest_legal(const SiteProblem& site, std::size_t i,
                                                          std::int64_t aim) const {
    const std::int64_t lane = options_.lane;
    for (std::int64_t v = aim / lane * lane; v >= lane; v -= lane)
      if (legal(site, i, v)) return v;
    for (std::int64_t v = std::min(aim, lane); v >= 1; --v)
      if (legal(site, i, v)) return v;
    const std::int64_t top = 8 * std::max(site.load.site.ci, site.load.site.co);
    for (std::int64_t v = aim + 1; v <= top; ++v)
      if (legal(site, i, v)) return v;
    return std::nullopt;
  }

  /// Whether the value keeps every size whole whose free symbols are all chosen (symbols 0..i).
  [[nodiscard]] bool legal(const SiteProblem& site, std::size_t i, std::int64_t v) const {
    Binding binding = site.binding;
    for (std::size_t j = 0; j < i; ++j) binding.set(symbols_[j], site.value[index(symbols_[j])]);
    binding.set(symbols_[i], v);
    return std::ranges::all_of(site.whole, [&](const Size& size) {
      for (std::size_t j = i + 1; j < symbols_.size(); ++j)
        if (size.has(symbols_[j])) return true;
      if (!size.has(symbols_[i])) return true;
      return size.extent_at(binding).ok();
    });
  }

  [[nodiscard]] bool legal_now(const SiteProblem& site) const {
    Binding binding = site.binding;
    for (Symbol symbol : symbols_) binding.set(symbol, site.value[index(symbol)]);
    return std::ranges::all_of(site.whole, [&](const Size& size) { return size.extent_at(binding).ok(); });
  }

  [[nodiscard]] bool small_enough(const SiteProblem& site) const {
    return std::ranges::all_of(site.volumes, [&](const Polynomial& volume) {
      return volume.at(site.value) <= static_cast<double>(options_.most_elements);
    });
  }

  static std::size_t index(Symbol symbol) {
    return static_cast<std::size_t>(symbol) - static_cast<std::size_t>(Symbol::x0);
  }

 private:
  std::vector<Symbol> symbols_;
  SolverOptions options_;
  Cost cost_;
  std::vector<Size> sizes_;
  Binding choices_;
  const Graph& graph_;
  std::vector<SiteProblem> sites_;
};

/// The budget of one site, or of the whole network when a limit is absolute.
class Judge {
 public:
  Judge(const Budget& budget, std::vector<SiteProblem>& sites) : budget_(&budget), sites_(&sites) {}

  [[nodiscard]] bool below_high(const SiteProblem& site) const {
    return (!budget_->macs.relative || site.macs.at(site.value) <= budget_->macs.high * site.load.macs) &&
           (!budget_->params.relative || site.params.at(site.value) <= budget_->params.high * site.load.params);
  }
  [[nodiscard]] bool total_below_high() const {
    return (budget_->macs.relative || total(&SiteProblem::macs) <= budget_->macs.high) &&
           (budget_->params.relative || total(&SiteProblem::params) <= budget_->params.high);
  }
  [[nodiscard]] double total(Polynomial SiteProblem::* what) const {
    double sum = 0.0;
    for (const SiteProblem& site : *sites_) sum += static_cast<double>(site.load.count) * (site.*what).at(site.value);
    return sum;
  }

  [[nodiscard]] std::optional<Rejection> check() const {
    if (auto reason = check_one("macs", budget_->macs, &SiteProblem::macs, &SiteLoad::macs)) return reason;
    return check_one("params", budget_->params, &SiteProblem::params, &SiteLoad::params);
  }

 private:
  std::optional<Rejection> check_one(std::string_view name, const Limit& limit, Polynomial SiteProblem::* what,
                                     double SiteLoad::* replaced) const {
    const auto rejection = [&](bool low, const std::string& found) {
      return Rejection{fmt::format("budget: {} {} {}", name, low ? "at least" : "at most",
                                   limit.relative ? fmt::format("{:g}", low ? limit.low : limit.high)
                                                  : si(low ? limit.low : limit.high)),
                       found};
    };
    if (!limit.relative) {
      const double sum = total(what);
      if (sum > limit.high) return rejection(false, si(sum));
      if (sum < limit.low) return rejection(true, si(sum));
      return std::nullopt;
    }
    for (const SiteProblem& site : *sites_) {
      const double share = (site.*what).at(site.value) / (site.load.*replaced);
      if (share > limit.high * (1 + 1e-12))
        return rejection(false, fmt::format("{:.3g} at {}", share, site.load.site.str()));
      if (share < limit.low * (1 - 1e-12))
        return rejection(true, fmt::format("{:.3g} at {}", share, site.load.site.str()));
    }
    return std::nullopt;
  }

  const Budget* budget_;
  std::vector<SiteProblem>* sites_;
};

/// Raises one symbol at one site as far as everything stays legal and within the budget.
void fill_up(const Solver& solver, const Judge& judge, SiteProblem& site, Symbol symbol, std::int64_t lane) {
  const std::size_t i = Solver::index(symbol);
  const std::int64_t top = 4 * std::max(site.load.site.ci, site.load.site.co);
  std::int64_t best = site.value[i];
  for (std::int64_t v = (best / lane + 1) * lane; v <= top; v += lane) {
    site.value[i] = v;
    if (!solver.legal_now(site)) continue;
    if (!judge.below_high(site) || !judge.total_below_high() || !solver.small_enough(site)) break;
    best = v;
  }
  site.value[i] = best;
}

/// The largest common ratio to Co at which everything fits, by bisection; negative if not even the least widths do.
double common_ratio(Solver& solver, const Judge& judge, std::vector<SiteProblem*> sites) {
  const auto fits = [&](double ratio) {
    for (SiteProblem* site : sites)
      if (!solver.place(*site, ratio) || !judge.below_high(*site) || !solver.small_enough(*site)) return false;
    return judge.total_below_high();
  };
  if (!fits(0.0)) return -1.0;
  double low = 0.0;
  double high = 4.0;
  constexpr int halvings = 9;  // 4 / 2^9 < 1/64: finer than a lane of 8 at 512 channels
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  fits(low);
  return low;
}

}  // namespace

Outcome<FitCost> fit(Kernel& kernel, const Graph& graph, std::span<const SiteLoad> loads, const Budget& budget,
                     const SolverOptions& options) {
  Solver solver(kernel, graph, options);
  for (const SiteLoad& load : loads)
    if (auto reason = solver.add(load)) return *reason;
  const Judge judge(budget, solver.sites());
  kernel.fits.clear();
  if (!solver.symbols().empty()) {
    for (SiteProblem& site : solver.sites())
      if (!solver.place(site, 0.0)) return Rejection{"every free symbol has a legal value", site.load.site.str()};
    // Relative limits bind at each site alone; an absolute one couples the sites, which then share one ratio.
    std::vector<SiteProblem*> together;
    for (SiteProblem& site : solver.sites()) {
      if (budget.macs.relative && budget.params.relative) {
        common_ratio(solver, judge, {&site});
      } else {
        together.push_back(&site);
      }
    }
    if (!together.empty()) common_ratio(solver, judge, together);
    for (SiteProblem& site : solver.sites())
      for (Symbol symbol : solver.symbols()) fill_up(solver, judge, site, symbol, options.lane);
  }
  for (const SiteProblem& site : solver.sites())
    if (!solver.small_enough(site))
      return Rejection{"memory: no tensor is too large",
                       fmt::format("above {} elements at {}", options.most_elements, site.load.site.str())};
  if (auto reason = judge.check()) return *reason;
  FitCost result;
  for (const SiteProblem& site : solver.sites()) {
    result.macs.push_back(site.macs.at(site.value));
    result.params.push_back(site.params.at(site.value));
    if (solver.symbols().empty()) continue;
    Binding fitted;
    for (Symbol symbol : solver.symbols()) fitted.set(symbol, site.value[Solver::index(symbol)]);
    kernel.fits.emplace_back(site.load.site, fitted);
  }
  result.total_macs = judge.total(&SiteProblem::macs);
  result.total_params = judge.total(&SiteProblem::params);
  return result;
}

Outcome<Binding> any_fit(const Kernel& kernel, const Graph& graph, const Site& site) {
  Solver solver(kernel, graph, {.lane = 1});
  if (auto reason = solver.add({site})) return *reason;
  SiteProblem& problem = solver.sites().front();
  if (!solver.place(problem, 0.5)) return Rejection{"every free symbol has a legal value", site.str()};
  Binding fitted;
  for (Symbol symbol : solver.symbols()) fitted.set(symbol, problem.value[Solver::index(symbol)]);
  return fitted;
}

}  // namespace kasimir
