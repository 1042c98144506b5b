// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/gather.h"

#include "kasimir/base/division.h"
#include "kasimir/base/error.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

using Terms = std::vector<std::pair<int, std::int64_t>>;

void add_term(Terms& terms, int var, std::int64_t factor) {
  const auto same = std::ranges::find(terms, var, &std::pair<int, std::int64_t>::first);
  if (same == terms.end()) {
    if (factor != 0) terms.emplace_back(var, factor);
    return;
  }
  same->second += factor;
  if (same->second == 0) terms.erase(same);
}

/// The number x in 1 .. modulus with `a * x` = 1 modulo `modulus`, for coprime numbers.
std::int64_t inverse(std::int64_t a, std::int64_t modulus) {
  for (std::int64_t x = 1; x < modulus; ++x)
    if (((a * x) % modulus + modulus) % modulus == 1 % modulus) return x;
  return 1;
}

class Solver {
 public:
  Solver(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read, BoundNodes nodes, int dout)
      : target_(graph.tensors[static_cast<std::size_t>(read.tensor)]),
        graph_(graph),
        at_(read.at),
        nodes_(std::move(nodes)),
        vars_(stage.iters),
        state_(vars_.size(), State::open),
        left_(at_.size()),
        solved_(at_.size(), false),
        dout_(dout) {
    made_.factor = stage.factor;
    made_.root = stage.root;
    made_.step = stage.step;
    for (std::size_t i = 0; i < vars_.size(); ++i)
      if (vars_[i].extent == 1) replace(static_cast<int>(i), {{}, 0, {}});
    each_coord([](BoundCoord& coord) {
      if (!coord.wrap || !coord.terms.empty()) return;
      coord.offset -= *coord.wrap * floor_div(coord.offset, *coord.wrap);
      coord.wrap.reset();
    });
  }

  Gathered run() {
    const auto each = [&](auto rule) {
      for (std::size_t axis = 0; axis < at_.size(); ++axis)
        if (!solved_[axis] && rule(axis)) solved_[axis] = true;
    };
    each([&](std::size_t axis) { return join(axis); });
    each([&](std::size_t axis) { return turn(axis); });
    // What is solved for is not summed over: the longest iterator.
    each([&](std::size_t axis) {
      const bool stride_first = strided_is_longest(axis);
      return (stride_first && (phases(axis) || fixed_phase(axis))) || pivot(axis, true) || phases(axis) ||
             fixed_phase(axis);
    });
    each([&](std::size_t axis) { return pivot(axis, false); });
    each([&](std::size_t axis) { return test(axis); });
    finish();
    return {std::move(made_), std::move(ones_)};
  }

 private:
  enum class State : std::uint8_t { open, left, gone };

  [[nodiscard]] std::int64_t extent(int var) const { return vars_[static_cast<std::size_t>(var)].extent; }
  [[nodiscard]] bool open(int var) const { return state_[static_cast<std::size_t>(var)] == State::open; }

  int fresh(std::size_t axis, std::int64_t size, State state) {
    vars_.push_back({target_.axes[axis].kind, size});
    state_.push_back(state);
    return static_cast<int>(vars_.size()) - 1;
  }
  int fresh_digit(std::size_t axis, std::int64_t size) {
    const int var = fresh(axis, size, State::left);
    left_[axis].push_back(var);
    return var;
  }

  template <typename Visit>
  void each_coord(Visit visit) {
    for (BoundCoord& coord : at_) visit(coord);
    for (BoundNode& node : nodes_)
      if (auto* read = std::get_if<BoundRead>(&node))
        for (BoundCoord& coord : read->at) visit(coord);
  }

  /// `form` in place of the iterator, everywhere.
  void replace(int var, const BoundCoord& form) {
    each_coord([&](BoundCoord& coord) {
      const auto found = std::ranges::find(coord.terms, var, &std::pair<int, std::int64_t>::first);
      if (found == coord.terms.end()) return;
      const std::int64_t factor = found->second;
      coord.terms.erase(found);
      coord.offset += factor * form.offset;
      for (const auto& [inner, coefficient] : form.terms) add_term(coord.terms, inner, factor * coefficient);
      if (form.wrap) coord.wrap = form.wrap;
    });
    state_[static_cast<std::size_t>(var)] = State::gone;
  }

  [[nodiscard]] int uses(int var) const {
    return static_cast<int>(std::ranges::count_if(at_, [&](const BoundCoord& coord) {
      return std::ranges::any_of(coord.terms, [&](const auto& term) { return term.first == var; });
    }));
  }

  /// Digits of nothing else that cover the axis, most significant first.
  bool join(std::size_t axis) {
    const BoundCoord& coord = at_[axis];
    if (coord.offset != 0 || coord.wrap) return false;
    Terms terms = coord.terms;
    std::ranges::sort(terms, std::greater{}, &std::pair<int, std::int64_t>::second);
    std::int64_t weight = target_.axes[axis].extent;
    for (const auto& [var, factor] : terms) {
      if (!open(var) || uses(var) != 1 || weight % extent(var) != 0) return false;
      weight /= extent(var);
      if (factor != weight) return false;
    }
    if (weight != 1) return false;
    for (const auto& [var, factor] : terms) {
      left_[axis].push_back(var);
      state_[static_cast<std::size_t>(var)] = State::left;
    }
    return true;
  }

  /// `t = wrap(+-i + b, n)` gives `i = wrap(+-(t - b), n)`, where i stands alone.
  bool turn(std::size_t axis) {
    const BoundCoord coord = at_[axis];
    if (!coord.wrap || coord.terms.size() != 1) return false;
    const auto [var, sign] = coord.terms[0];
    const std::int64_t n = *coord.wrap;
    if ((sign != 1 && sign != -1) || !open(var) || extent(var) != n || target_.axes[axis].extent != n) return false;
    bool alone = uses(var) == 1;
    for (const BoundNode& node : nodes_) {
      const auto* read = std::get_if<BoundRead>(&node);
      if (read == nullptr) continue;
      for (const BoundCoord& other : read->at) {
        const bool holds = std::ranges::any_of(other.terms, [&](const auto& term) { return term.first == var; });
        if (holds) alone = alone && other.terms.size() == 1 && (other.wrap ? *other.wrap == n : is_plain(other));
      }
    }
    if (!alone) return false;
    const int t = fresh_digit(axis, n);
    replace(var, {{{t, sign}}, -sign * coord.offset, n});
    return true;
  }
  static bool is_plain(const BoundCoord& coord) {
    return coord.terms.size() == 1 && coord.terms[0].second == 1 && coord.offset == 0 && !coord.wrap;
  }

  /// Some factor of the term is zero where the iterator is outside its extent: the term is linear in `dout`.
  [[nodiscard]] bool tested(int var) const {
    return tested_by(static_cast<int>(nodes_.size()) - 1, var) || in_dout(var);
  }
  [[nodiscard]] bool in_dout(int var) const {
    return std::ranges::any_of(nodes_, [&](const BoundNode& node) {
      const auto* read = std::get_if<BoundRead>(&node);
      return read != nullptr && read->tensor == dout_ && bounds(*read, var);
    });
  }
  [[nodiscard]] bool tested_by(int node, int var) const {
    const BoundNode& of = nodes_[static_cast<std::size_t>(node)];
    if (const auto* read = std::get_if<BoundRead>(&of)) return bounds(*read, var);
    const auto* apply = std::get_if<Apply>(&of);
    return apply != nullptr && apply->fn == Fn::mul && (tested_by(apply->a, var) || tested_by(apply->b, var));
  }
  [[nodiscard]] bool bounds(const BoundRead& read, int var) const {
    if (read.tensor < 0) return false;
    const auto& axes = graph_.tensors[static_cast<std::size_t>(read.tensor)].axes;
    for (std::size_t a = 0; a < read.at.size(); ++a)
      if (is_plain(read.at[a]) && read.at[a].terms[0].first == var && axes[a].extent == extent(var)) return true;
    return false;
  }

  /// One more factor: an element of a tensor of ones.
  void multiply_by_ones(const BoundCoord& at, std::int64_t size) {
    const int value = static_cast<int>(nodes_.size()) - 1;
    ones_.push_back({nodes_.size(), size});
    nodes_.emplace_back(BoundRead{-1, {at}});
    nodes_.emplace_back(Apply{Fn::mul, value, value + 1});
  }

  /// `t = a * p + rest` with a = +-1 is solved for p; of several iterators the one with the longest extent.
  bool pivot(std::size_t axis, bool only_tested) {
    const BoundCoord coord = at_[axis];
    if (coord.wrap) return false;
    int best = -1;
    std::int64_t sign = 1;
    for (const auto& [var, factor] : coord.terms) {
      if ((factor != 1 && factor != -1) || !open(var) || (only_tested && !tested(var))) continue;
      if (wrapped(var) || (best >= 0 && extent(var) <= extent(best))) continue;
      best = var;
      sign = factor;
    }
    if (best < 0) return false;
    if (!tested(best)) multiply_by_ones({{{best, 1}}, 0, {}}, extent(best));
    const int t = fresh_digit(axis, target_.axes[axis].extent);
    BoundCoord form{{{t, sign}}, -sign * coord.offset, {}};
    for (const auto& [var, factor] : coord.terms)
      if (var != best) form.terms.emplace_back(var, -sign * factor);
    replace(best, form);
    return true;
  }
  /// It occurs under a wrap, whose values repeat.
  [[nodiscard]] bool wrapped(int var) const {
    return std::ranges::any_of(nodes_, [&](const BoundNode& node) {
      const auto* read = std::get_if<BoundRead>(&node);
      return read != nullptr && std::ranges::any_of(read->at, [&](const BoundCoord& coord) {
               return coord.wrap && std::ranges::any_of(coord.terms, [&](const auto& t) { return t.first == var; });
             });
    });
  }

  /// The iterator with a stride s > 1 that a factor tests, where s divides the axis; its stride, or 0.
  [[nodiscard]] std::pair<int, std::int64_t> strided(std::size_t axis) const {
    const BoundCoord& coord = at_[axis];
    if (coord.wrap) return {-1, 0};
    for (const auto& [var, factor] : coord.terms)
      if (factor > 1 && open(var) && tested(var) && !wrapped(var) && target_.axes[axis].extent % factor == 0)
        return {var, factor};
    return {-1, 0};
  }

  [[nodiscard]] bool strided_is_longest(std::size_t axis) const {
    const int i = strided(axis).first;
    return i >= 0 && std::ranges::all_of(at_[axis].terms, [&](const auto& term) {
             return term.first == i || !open(term.first) || extent(term.first) < extent(i);
           });
  }

  /// `c = s*i + a*r + rest`, a and s coprime. With c = s*q + p and a*b = 1 + m*s:
  /// `r = s*j + b*(p - rest)` and `i = q - a*j - m*(p - rest)`.
  bool phases(std::size_t axis) {
    const auto [i, s] = strided(axis);
    if (i < 0) return false;
    const BoundCoord coord = at_[axis];
    int r = -1;
    std::int64_t a = 0;
    for (const auto& [var, factor] : coord.terms)
      if (var != i && open(var) && factor > 0 && std::gcd(factor, s) == 1 && !wrapped(var) && r < 0) {
        r = var;
        a = factor;
      }
    if (r < 0) return false;
    const std::int64_t b = inverse(a, s);
    const std::int64_t m = (a * b - 1) / s;
    if (!tested(r)) multiply_by_ones({{{r, 1}}, 0, {}}, extent(r));
    const int q = fresh_digit(axis, target_.axes[axis].extent / s);
    const int p = fresh_digit(axis, s);
    // p - rest
    BoundCoord shift{{{p, 1}}, -coord.offset, {}};
    for (const auto& [var, factor] : coord.terms)
      if (var != i && var != r) shift.terms.emplace_back(var, -factor);
    std::int64_t least = shift.offset;
    std::int64_t most = shift.offset;
    for (const auto& [var, factor] : shift.terms) (factor < 0 ? least : most) += factor * (extent(var) - 1);
    const std::int64_t first = ceil_div(-b * most, s);
    const std::int64_t last = floor_div(extent(r) - 1 - b * least, s);
    const int j = fresh(axis, std::max<std::int64_t>(1, last - first + 1), State::open);
    BoundCoord of_r{{{j, s}}, s * first + b * shift.offset, {}};
    BoundCoord of_i{{{q, 1}, {j, -a}}, -a * first - m * shift.offset, {}};
    for (const auto& [var, factor] : shift.terms) {
      add_term(of_r.terms, var, b * factor);
      add_term(of_i.terms, var, -m * factor);
    }
    replace(r, of_r);
    replace(i, of_i);
    if (extent(j) == 1) replace(j, {{}, 0, {}});
    return true;
  }
  /// `c = s*(i + rest) + b`: only elements of one rest modulo s are read; the others are sent outside of `i`.
  bool fixed_phase(std::size_t axis) {
    const auto [i, s] = strided(axis);
    if (i < 0) return false;
    const BoundCoord coord = at_[axis];
    BoundCoord of_i{{}, -floor_div(coord.offset, s), {}};
    std::int64_t far = extent(i) + target_.axes[axis].extent / s + std::abs(of_i.offset) + 1;
    for (const auto& [var, factor] : coord.terms) {
      if (var == i) continue;
      if (factor % s != 0) return false;
      of_i.terms.emplace_back(var, -factor / s);
      far += std::abs(factor / s) * extent(var);
    }
    const int q = fresh_digit(axis, target_.axes[axis].extent / s);
    const int p = fresh_digit(axis, s);
    of_i.terms.emplace_back(q, 1);
    of_i.terms.emplace_back(p, far);
    of_i.offset -= far * (coord.offset - s * floor_div(coord.offset, s));
    replace(i, of_i);
    return true;
  }

  /// No iterator can be solved for: every element asks whether it is the one that is read.
  bool test(std::size_t axis) {
    const std::int64_t size = target_.axes[axis].extent;
    BoundCoord at = at_[axis];
    if (size == 1 && at.terms.empty() && at.offset == 0) return true;
    KASIMIR_CHECK(!at.wrap, "the gradient by {} would need a test of a wrapped coordinate", target_.name);
    const int t = fresh_digit(axis, size);
    for (auto& term : at.terms) term.second = -term.second;
    at.offset = -at.offset;
    at.terms.emplace_back(t, 1);
    multiply_by_ones(at, 1);
    return true;
  }

  void finish() {
    std::vector<bool> read(vars_.size(), false);
    for (const BoundNode& node : nodes_)
      if (const auto* of = std::get_if<BoundRead>(&node))
        for (const BoundCoord& coord : of->at)
          for (const auto& term : coord.terms) read[static_cast<std::size_t>(term.first)] = true;
    std::vector<int> place(vars_.size(), -1);
    const auto take = [&](int var) {
      place[static_cast<std::size_t>(var)] = static_cast<int>(made_.iters.size());
      made_.iters.push_back(vars_[static_cast<std::size_t>(var)]);
      return place[static_cast<std::size_t>(var)];
    };
    for (std::size_t axis = 0; axis < left_.size(); ++axis) {
      LeftAxis digits{target_.axes[axis].kind, {}};
      for (int var : left_[axis]) digits.digits.push_back(take(var));
      made_.left.push_back(std::move(digits));
    }
    std::int64_t idle = 1;
    for (int var = 0; var < static_cast<int>(vars_.size()); ++var) {
      if (!open(var)) continue;
      if (read[static_cast<std::size_t>(var)]) {
        made_.reduced.push_back(take(var));
      } else {
        idle *= extent(var);
      }
    }
    each_coord([&](BoundCoord& coord) {
      for (auto& term : coord.terms) term.first = place[static_cast<std::size_t>(term.first)];
    });
    made_.reduce = made_.reduced.empty() ? Reduce::none : Reduce::sum;
    made_.factor = made_.factor * (made_.root ? Rational(idle) * Rational(idle) : Rational(idle));
    made_.nodes = std::move(nodes_);
    if (made_.reduce == Reduce::none) scale_by_constant();
  }

  /// Without a reduction the factor is part of the expression, so that it stays element-wise.
  void scale_by_constant() {
    if (made_.factor == Rational(1)) return;
    const int value = static_cast<int>(made_.nodes.size()) - 1;
    made_.nodes.emplace_back(Constant{made_.factor});
    if (made_.root) made_.nodes.emplace_back(Apply{Fn::sqrt, value + 1});
    made_.nodes.emplace_back(Apply{Fn::mul, value, static_cast<int>(made_.nodes.size()) - 1});
    made_.factor = Rational(1);
    made_.root = false;
  }

  const BoundTensor& target_;
  const BoundGraph& graph_;
  std::vector<BoundCoord> at_;  ///< of the read, per axis of its tensor
  BoundNodes nodes_;
  std::vector<BoundIter> vars_;
  std::vector<State> state_;
  std::vector<std::vector<int>> left_;  ///< per axis: digits, most significant first
  std::vector<bool> solved_;
  int dout_;
  BoundStage made_;
  std::vector<OnesRead> ones_;
};

}  // namespace

Gathered gather(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read, BoundNodes nodes, int dout) {
  return Solver(graph, stage, read, std::move(nodes), dout).run();
}

}  // namespace kasimir
