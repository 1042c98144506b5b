// SPDX-License-Identifier: Apache-2.0
// names primitives: traits of steps share their words
#include "kasimir/synth/step_facts.h"

#include "kasimir/kernel/builder.h"
#include "kasimir/synth/value_facts.h"

#include <algorithm>

namespace kasimir {
namespace {

using Read = BasicRead<Symbolic>;

constexpr std::array<std::string_view, trait_count> trait_names{"view",
                                                                "nothing",
                                                                "permutation",
                                                                "keeps_shape",
                                                                "fills_zeros",
                                                                "wraps",
                                                                "shrinks",
                                                                "pointwise",
                                                                "combination",
                                                                "aligned",
                                                                "commutative",
                                                                "scaling",
                                                                "dense",
                                                                "plain",
                                                                "fold",
                                                                "has_factor",
                                                                "statistics",
                                                                "weighted",
                                                                "linear",
                                                                "zero_to_zero",
                                                                "nonnegative",
                                                                "keeps_nonnegative",
                                                                "odd",
                                                                "even",
                                                                "idempotent",
                                                                "identity_on_nonnegative",
                                                                "keeps_magnitude",
                                                                "sign",
                                                                "sums_to_one",
                                                                "absorbs_before",
                                                                "absorbs_after"};

std::string letters(AxisMask mask) {
  std::string text;
  for (int k = 0; k < axis_kind_count; ++k)
    if (const auto kind = static_cast<AxisKind>(k); (mask & axis_bit(kind)) != 0) text += axis_letter(kind);
  return text;
}

/// The axis of that kind, or nullptr.
const BasicAxis<Symbolic>* axis_in(const std::vector<BasicAxis<Symbolic>>& axes, AxisKind kind) {
  const auto found = std::ranges::find(axes, kind, &BasicAxis<Symbolic>::kind);
  return found == axes.end() ? nullptr : &*found;
}

Size volume_of(const std::vector<BasicAxis<Symbolic>>& axes) {
  Size volume(1);
  for (const auto& axis : axes) volume *= axis.extent;
  return volume;
}

/// Reads one step's stages; each function adds what its name says to the facts.
class Reader {
 public:
  Reader(const Graph& graph, const SiteSet& sites) : graph_(graph), sites_(sites) {
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].role == Role::input) operands_.push_back(static_cast<int>(t));
      if (graph.tensors[t].role == Role::weight) facts_.set(Trait::weighted);
    }
    facts_.operands = static_cast<std::uint8_t>(operands_.size());
  }

  StepFacts read() {
    axes();
    values();
    absorption_after();
    unit_sums();
    const bool one_stage = graph_.stages.size() == 1;
    if (one_stage && facts_.operands == 1) {
      view();
      pointwise();
      scaling();
      dense();
      fold();
    }
    if (one_stage && facts_.operands == 2) combination();
    forms();
    return std::move(facts_);
  }

 private:
  [[nodiscard]] const Tensor& tensor(int index) const { return graph_.tensors[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const Stage& only() const { return graph_.stages.front(); }
  [[nodiscard]] static const Read* read_at(const Stage& stage, int node) {
    return std::get_if<Read>(&stage.nodes[static_cast<std::size_t>(node)]);
  }
  [[nodiscard]] static const Apply* root(const Stage& stage) { return std::get_if<Apply>(&stage.nodes.back()); }
  [[nodiscard]] bool bare() const {
    return only().reduce == Reduce::none && sites_.equal(only().factor, Size(1)) && !only().stat;
  }

  void axes() {
    for (const Stage& stage : graph_.stages) {
      if (stage.stat) facts_.set(Trait::statistics);
      const auto places = iter_places(stage);
      const auto touch = [&](int iter) {
        const int axis = places[static_cast<std::size_t>(iter)].axis;
        if (axis >= 0) facts_.out |= axis_bit(stage.left[static_cast<std::size_t>(axis)].kind);
      };
      std::vector<bool> used(stage.iters.size(), false);
      for (const auto& node : stage.nodes) {
        const auto* read = std::get_if<Read>(&node);
        if (read == nullptr) continue;
        const Tensor& from = tensor(read->tensor);
        for (std::size_t a = 0; a < read->at.size(); ++a) {
          const Coord& coord = read->at[a];
          for (const auto& [iter, factor] : coord.terms) used[static_cast<std::size_t>(iter)] = true;
          const int iter = plain_iter(coord, sites_);
          const bool passes = from.role != Role::weight && iter >= 0 && places[static_cast<std::size_t>(iter)].sole &&
                              stage.left[static_cast<std::size_t>(places[static_cast<std::size_t>(iter)].axis)].kind ==
                                  from.axes[a].kind;
          if (passes) continue;
          if (from.role != Role::weight) facts_.in |= axis_bit(from.axes[a].kind);
          for (const auto& [each, factor] : coord.terms) touch(each);
        }
      }
      for (const LeftAxis& axis : stage.left)
        if (axis.digits.size() != 1 || !used[static_cast<std::size_t>(axis.digits[0])])
          facts_.out |= axis_bit(axis.kind);
    }
  }

  [[nodiscard]] ValueFacts values_with(const ValueFacts& operand) const {
    std::vector<ValueFacts> known(graph_.tensors.size());
    for (std::size_t t = 0; t < known.size(); ++t) {
      if (graph_.tensors[t].role == Role::input) known[t] = operand;
      if (graph_.tensors[t].role == Role::weight) known[t] = {false, false, Parity::even, Degree::constant};
    }
    for (const Stage& stage : graph_.stages) known[static_cast<std::size_t>(stage.out)] = value_facts(stage, known);
    return known[static_cast<std::size_t>(graph_.stages.back().out)];
  }

  void values() {
    const ValueFacts any = values_with({false, false, Parity::odd, Degree::linear});
    facts_.set(Trait::linear, any.degree == Degree::linear);
    facts_.set(Trait::nonnegative, any.nonnegative);
    facts_.set(Trait::zero_to_zero, values_with({true, true, Parity::odd, Degree::linear}).zero);
    facts_.set(Trait::keeps_nonnegative, values_with({false, true, Parity::odd, Degree::linear}).nonnegative);
    parity_ = any.parity;
  }

  /// The axes over which a factor of this node's value can go into weights; nothing if no factor can.
  [[nodiscard]] std::optional<AxisMask> absorbed(const Stage& stage, int node) const {
    if (const Read* from = read_at(stage, node)) {
      if (tensor(from->tensor).role != Role::weight) return std::nullopt;
      std::vector<bool> indexes(stage.iters.size(), false);
      for (const Coord& coord : from->at)
        if (const int iter = plain_iter(coord, sites_); iter >= 0) indexes[static_cast<std::size_t>(iter)] = true;
      AxisMask mask = 0;
      for (const LeftAxis& axis : stage.left)
        if (!axis.digits.empty() &&
            std::ranges::all_of(axis.digits, [&](int digit) { return indexes[static_cast<std::size_t>(digit)]; }))
          mask |= axis_bit(axis.kind);
      return mask;
    }
    const auto* apply = std::get_if<Apply>(&stage.nodes[static_cast<std::size_t>(node)]);
    if (apply == nullptr || apply->b < 0) return std::nullopt;
    const auto a = absorbed(stage, apply->a);
    const auto b = absorbed(stage, apply->b);
    if (apply->fn == Fn::mul) {
      if (!a || !b) return a ? a : b;
      return (*a & *b) == *a ? b : a;
    }
    if (apply->fn == Fn::add && a && b) return static_cast<AxisMask>(*a & *b);
    return std::nullopt;
  }

  void absorption_after() {
    const Stage& last = graph_.stages.back();
    if (last.reduce == Reduce::max) return;
    // A weight that is read twice cannot take a factor for one of its uses.
    std::vector<int> reads(graph_.tensors.size(), 0);
    for (const Stage& stage : graph_.stages)
      for (const auto& node : stage.nodes)
        if (const auto* from = std::get_if<Read>(&node)) ++reads[static_cast<std::size_t>(from->tensor)];
    for (std::size_t t = 0; t < reads.size(); ++t)
      if (graph_.tensors[t].role == Role::weight && reads[t] != 1) return;
    const auto mask = absorbed(last, static_cast<int>(last.nodes.size()) - 1);
    if (!mask) return;
    facts_.set(Trait::absorbs_after);
    facts_.absorbs_out = *mask;
  }

  /// The form of a softmax's end: values divided by their own sum.
  void unit_sums() {
    const Stage& last = graph_.stages.back();
    const Apply* quotient = root(last);
    if (quotient == nullptr || quotient->fn != Fn::div || last.reduce != Reduce::none) return;
    const Read* upper = read_at(last, quotient->a);
    const Read* lower = read_at(last, quotient->b);
    if (upper == nullptr || lower == nullptr) return;
    for (const Stage& total : graph_.stages) {
      const Read* summand =
          total.out == lower->tensor ? read_at(total, static_cast<int>(total.nodes.size()) - 1) : nullptr;
      if (summand == nullptr || summand->tensor != upper->tensor || total.reduce != Reduce::sum) continue;
      facts_.set(Trait::sums_to_one);
      for (int iter : total.reduced) facts_.sum_axes |= axis_bit(total.iters[static_cast<std::size_t>(iter)].kind);
    }
  }

  // --- one stage, one operand -------------------------------------------------------------------------------

  void view() {
    if (!bare() || only().nodes.size() != 1) return;
    facts_.set(Trait::view);
    facts_.set(Trait::nothing, facts_.touched() == 0);
    const Read& from = *read_at(only(), 0);
    const auto& in = tensor(from.tensor).axes;
    const auto& out = tensor(only().out).axes;
    facts_.copies = std::make_shared<const StepFacts::View>(StepFacts::View{only(), in});
    bool once = true;
    std::vector<int> uses(only().iters.size(), 0);
    for (std::size_t a = 0; a < in.size(); ++a) {
      facts_.set(Trait::wraps, from.at[a].wrap.has_value());
      facts_.set(Trait::fills_zeros, leaves(from.at[a], in[a].extent));
      once = once && covers(from.at[a], in[a].extent);
      for (const auto& [iter, factor] : from.at[a].terms) ++uses[static_cast<std::size_t>(iter)];
    }
    once = once && std::ranges::all_of(uses, [](int n) { return n == 1; });
    facts_.set(Trait::permutation, once);
    const bool same = std::ranges::all_of(out, [&](const auto& axis) {
      if ((facts_.touched() & axis_bit(axis.kind)) == 0) return true;
      const auto* before = axis_in(in, axis.kind);
      return before != nullptr && sites_.equal(axis.extent, before->extent);
    });
    facts_.set(Trait::keeps_shape, once && same && in.size() == out.size());
    const Size ratio = volume_of(out) / volume_of(in);
    facts_.set(Trait::shrinks, !ratio.has_free() && sites_.smallest(ratio) < 1.0);
  }

  /// The coordinate takes every value of the axis once: digits of a mixed radix, or a whole turn of a wrap.
  [[nodiscard]] bool covers(const Coord& coord, const Size& extent) const {
    const auto& iters = only().iters;
    if (coord.wrap)
      return coord.terms.size() == 1 && sites_.equal(coord.terms[0].second, Size(1)) &&
             sites_.equal(iters[static_cast<std::size_t>(coord.terms[0].first)].extent, extent);
    if (!coord.offset.is_zero()) return false;
    Size step(1);
    std::vector<bool> taken(coord.terms.size(), false);
    for (std::size_t round = 0; round < taken.size(); ++round) {
      std::size_t next = 0;
      while (next < taken.size() && (taken[next] || !sites_.equal(coord.terms[next].second, step))) ++next;
      if (next == taken.size()) return false;
      taken[next] = true;
      step *= iters[static_cast<std::size_t>(coord.terms[next].first)].extent;
    }
    return sites_.equal(step, extent);
  }

  /// The coordinate may lie outside the axis at some site. What is not known counts as outside.
  [[nodiscard]] bool leaves(const Coord& coord, const Size& extent) const {
    if (coord.wrap || covers(coord, extent)) return false;
    if (sites_.bindings().empty()) return true;
    return std::ranges::any_of(sites_.bindings(), [&](const Binding& binding) {
      const auto known = [&](const Size& size) { return !size.has_free(); };
      if (!known(extent) || !std::ranges::all_of(coord.offset.terms(), known)) return true;
      Rational low = coord.offset.at(binding);
      Rational high = low;
      for (const auto& [iter, factor] : coord.terms) {
        const Size& points = only().iters[static_cast<std::size_t>(iter)].extent;
        if (!known(factor) || !known(points)) return true;
        const Rational far = factor.at(binding) * (points.at(binding) - Rational(1));
        (far < Rational(0) ? low : high) = (far < Rational(0) ? low : high) + far;
      }
      return low < Rational(0) || high >= extent.at(binding);
    });
  }

  void pointwise() {
    if (!bare() || facts_.touched() != 0 || facts_.is(Trait::weighted) || root(only()) == nullptr) return;
    facts_.set(Trait::pointwise);
    facts_.set(Trait::odd, parity_ == Parity::odd);
    facts_.set(Trait::even, parity_ == Parity::even);
    if (only().nodes.size() != 2 || root(only())->b >= 0) return;
    const FnTraits& fn = fn_info(root(only())->fn).traits;
    facts_.set(Trait::idempotent, fn.idempotent);
    facts_.set(Trait::identity_on_nonnegative, fn.identity_on_nonnegative);
    facts_.set(Trait::keeps_magnitude, fn.keeps_magnitude);
    facts_.set(Trait::sign, fn.keeps_magnitude && fn.linear);
  }

  /// The operand's read and the weight's, if the stage's value is their product.
  [[nodiscard]] std::optional<std::pair<const Read*, const Read*>> weighted_product() const {
    const Apply* product = root(only());
    if (product == nullptr || product->fn != Fn::mul || only().nodes.size() != 3) return std::nullopt;
    const Read* a = read_at(only(), product->a);
    const Read* b = read_at(only(), product->b);
    if (a == nullptr || b == nullptr) return std::nullopt;
    if (tensor(a->tensor).role == Role::weight) std::swap(a, b);
    if (tensor(a->tensor).role != Role::input || tensor(b->tensor).role != Role::weight) return std::nullopt;
    return std::pair(a, b);
  }

  /// How often each iterator stands in a read.
  [[nodiscard]] std::vector<int> uses(const Read& read) const {
    std::vector<int> count(only().iters.size(), 0);
    for (const Coord& coord : read.at)
      for (const auto& [iter, factor] : coord.terms) ++count[static_cast<std::size_t>(iter)];
    return count;
  }

  void scaling() {
    const auto product = weighted_product();
    if (!product || !bare() || facts_.in != 0) return;
    facts_.set(Trait::scaling);
    facts_.set(Trait::absorbs_before);
    facts_.scaled = facts_.absorbs_in = facts_.absorbs_out;
  }

  void dense() {
    const auto product = weighted_product();
    if (!product || only().reduce != Reduce::sum || !sites_.equal(only().factor, Size(1))) return;
    facts_.set(Trait::dense);
    facts_.set(Trait::absorbs_before);
    const auto& [from, weight] = *product;
    const auto in_operand = uses(*from);
    const auto in_weight = uses(*weight);
    const auto places = iter_places(only());
    hidden_.assign(only().iters.size(), false);
    for (std::size_t a = 0; a < from->at.size(); ++a) {
      const Coord& coord = from->at[a];
      const AxisKind kind = tensor(from->tensor).axes[a].kind;
      if (!coord.terms.empty() && !coord.wrap && std::ranges::all_of(coord.terms, [&](const auto& term) {
            return in_weight[static_cast<std::size_t>(term.first)] > 0;
          }))
        facts_.absorbs_in |= axis_bit(kind);
      const int iter = plain_iter(coord, sites_);
      if (iter < 0) continue;
      const auto i = static_cast<std::size_t>(iter);
      if (places[i].axis >= 0 || in_operand[i] != 1 || in_weight[i] != 1) continue;
      facts_.free_in |= axis_bit(kind);
      facts_.in_volume *= only().iters[i].extent;
      hidden_[i] = true;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!places[i].sole || in_operand[i] != 0 || in_weight[i] != 1) continue;
      const AxisKind kind = only().left[static_cast<std::size_t>(places[i].axis)].kind;
      facts_.free_out |= axis_bit(kind);
      facts_.out_volume *= only().iters[i].extent;
      hidden_[i] = true;
    }
    facts_.set(Trait::plain,
               (facts_.in & ~facts_.free_in) == 0 && (facts_.out & ~facts_.free_out) == 0 && facts_.free_in != 0);
  }

  void fold() {
    if (only().nodes.size() != 1 || only().reduce == Reduce::none || only().stat) return;
    facts_.set(Trait::fold);
    facts_.set(Trait::has_factor, !sites_.equal(only().factor, Size(1)));
    facts_.reduce = only().reduce;
    const Read& from = *read_at(only(), 0);
    const auto count = uses(from);
    const auto places = iter_places(only());
    hidden_.assign(only().iters.size(), false);
    for (std::size_t a = 0; a < from.at.size(); ++a) {
      const int iter = plain_iter(from.at[a], sites_);
      if (iter < 0) continue;
      const auto i = static_cast<std::size_t>(iter);
      if (places[i].axis >= 0 || count[i] != 1) continue;
      facts_.free_in |= axis_bit(tensor(from.tensor).axes[a].kind);
      hidden_[i] = true;
    }
  }

  // --- one stage, two operands ------------------------------------------------------------------------------

  void combination() {
    const Apply* value = root(only());
    if (!bare() || facts_.is(Trait::weighted) || value == nullptr) return;
    facts_.set(Trait::combination);
    if (only().nodes.size() != 3 || value->b < 0) return;
    const Read* a = read_at(only(), value->a);
    const Read* b = read_at(only(), value->b);
    if (a == nullptr || b == nullptr || a->tensor == b->tensor || facts_.touched() != 0) return;
    // Nothing is touched: every axis is passed on, and both operands have all of them.
    if (a->at.size() != only().left.size() || b->at.size() != only().left.size()) return;
    facts_.set(Trait::aligned);
    facts_.set(Trait::commutative, fn_info(value->fn).traits.commutative);
  }

  // --- identity ---------------------------------------------------------------------------------------------

  /// Passed on by every stage: `in` and `out` are collected over all of them.
  [[nodiscard]] std::vector<bool> hidden(const Stage& stage) const {
    std::vector<bool> result = hidden_;
    result.resize(stage.iters.size(), false);
    const auto places = iter_places(stage);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i].sole &&
          (facts_.touched() & axis_bit(stage.left[static_cast<std::size_t>(places[i].axis)].kind)) == 0)
        result[i] = true;
    return result;
  }

  [[nodiscard]] Form form(bool with_factor) const {
    std::vector<std::uint64_t> words(graph_.tensors.size(), 0);
    for (std::size_t t = 0; t < words.size(); ++t) words[t] = static_cast<std::uint64_t>(graph_.tensors[t].role) << 32U;
    // Tensors count by their number among those of their role: layout does not matter.
    std::array<std::uint64_t, 4> next{};
    for (std::size_t t = 0; t < words.size(); ++t) words[t] += next[static_cast<std::size_t>(graph_.tensors[t].role)]++;
    FormBuilder builder(sites_);
    builder.word(facts_.operands);
    for (const Stage& stage : graph_.stages) builder.stage(graph_, stage, hidden(stage), words, with_factor);
    return builder.form();
  }

  void forms() {
    facts_.form = form(true);
    facts_.factorless = facts_.is(Trait::fold) ? form(false) : facts_.form;
    if (!facts_.is(Trait::dense)) return;
    FormBuilder builder(sites_);
    const auto& axes = tensor(only().out).axes;
    for (int k = 0; k < axis_kind_count; ++k) {
      const auto kind = static_cast<AxisKind>(k);
      if ((facts_.free_out & axis_bit(kind)) == 0) continue;
      builder.word(static_cast<std::uint64_t>(k));
      builder.size(axis_in(axes, kind)->extent);
    }
    facts_.result = builder.form();
  }

  const Graph& graph_;
  const SiteSet& sites_;
  std::vector<int> operands_;
  std::vector<bool> hidden_;  ///< free iterators of the only stage
  Parity parity_ = Parity::none;
  StepFacts facts_;
};

}  // namespace

std::string_view trait_name(Trait trait) { return trait_names[static_cast<std::size_t>(trait)]; }

std::string str(const StepFacts& facts) {
  std::string text;
  const auto add = [&](std::string_view word) { text += fmt::format("{}{}", text.empty() ? "" : " ", word); };
  for (int t = 0; t < trait_count; ++t)
    if (facts.is(static_cast<Trait>(t))) add(trait_name(static_cast<Trait>(t)));
  const auto set = [&](std::string_view name, AxisMask mask) {
    if (mask != 0) add(fmt::format("{}={}", name, letters(mask)));
  };
  set("in", facts.in);
  set("out", facts.out);
  set("free_in", facts.free_in);
  set("free_out", facts.free_out);
  set("scaled", facts.scaled);
  set("absorbs_in", facts.absorbs_in);
  set("absorbs_out", facts.absorbs_out);
  set("sum", facts.sum_axes);
  return text;
}

Graph one_step_graph(const Call& call) {
  Graph graph;
  std::vector<int> tensors;
  for (int i = 0; i < call.primitive().operands; ++i) {
    Tensor operand;
    operand.role = Role::input;
    operand.axes.push_back({AxisKind::batch, Size(Symbol::N)});
    for (const Axis& axis : call.shape(i)) operand.axes.push_back({axis.kind, axis.extent});
    tensors.push_back(static_cast<int>(graph.tensors.size()));
    graph.tensors.push_back(std::move(operand));
  }
  StageBuilder build(graph, tensors, 0);
  call.primitive().stages(call, build);
  graph.output = build.last();
  return graph;
}

StepFacts step_facts(const Graph& graph, const SiteSet& sites) { return Reader(graph, sites).read(); }

}  // namespace kasimir
