// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/field_plan.h"

#include "kasimir/interp/field.h"
#include "kasimir/interp/field_arithmetic.h"
#include "kasimir/interp/interpreter.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <ranges>

namespace kasimir {
namespace {

/// Iterators, the slowest first. Those of extent 1 are left out everywhere.
using Order = std::vector<int>;
using Mask = std::uint64_t;  ///< a set of iterators
constexpr Mask bit(int iter) { return Mask{1} << static_cast<unsigned>(iter); }

/// Values for each point of some iterators, dense.
struct Array {
  FieldPlace place;
  Order order;
};

/// Whether the walk passes neighbours one after the other, from where it begins.
bool is_one_run(const FieldWalk& walk) {
  if (walk.stride != 1 && walk.length > 1) return false;
  std::uint32_t from = walk.rows[0].from;
  for (const FieldRow& row : walk.rows) {
    if (row != FieldRow{from, 0, static_cast<std::uint16_t>(walk.length)}) return false;
    from += walk.length;
  }
  return true;
}

class Planner {
 public:
  Planner(const BoundGraph& graph, const BoundStage& stage, FieldTables& tables);
  FieldPlan plan();

 private:
  [[nodiscard]] std::int64_t extent(int iter) const { return stage_->iters[static_cast<std::size_t>(iter)].extent; }
  [[nodiscard]] std::size_t volume(const Order& order) const;
  [[nodiscard]] Order within(const Order& order, Mask mask) const;
  [[nodiscard]] Mask seen(int node) const { return seen_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] Order natural_order() const;

  FieldPlace scratch(std::size_t size);
  FieldPlace constant(std::uint32_t value);
  FieldStep& emit(FieldStep::Code code, FieldPlace a, std::size_t size);
  Array gathered(FieldPlace from, const FieldTables::Walk& table, Order order);
  Array gathered_singly(FieldPlace from, const FieldWalk& walk, std::size_t size, Order order);
  Array ordered(const Array& array, const Order& order);

  Array evaluate(int node, const Order& order);
  Array read(const BoundRead& read, const Order& order);
  Array apply(const Apply& apply, const Order& order);
  Array combined(Fn fn, Array a, Array b, const Order& order);

  std::optional<Array> contracted();
  Array reduced();
  void finish(Array result);
  void tie_weights();
  void tie(const BoundRead& read, Mask shared);
  [[nodiscard]] bool is_given(int tensor) const;
  [[nodiscard]] std::uint64_t form() const;

  const BoundGraph* graph_;
  const BoundStage* stage_;
  FieldTables* tables_;
  int last_;
  Order left_;
  Order reduced_;
  Mask kept_ = 0;           ///< the set of left_
  std::vector<Mask> seen_;  ///< by node: iterators that it depends on
  std::map<std::pair<int, Order>, Array> known_;
  FieldPlan plan_;
};

Planner::Planner(const BoundGraph& graph, const BoundStage& stage, FieldTables& tables)
    : graph_(&graph), stage_(&stage), tables_(&tables), last_(static_cast<int>(stage.nodes.size()) - 1) {
  KASIMIR_CHECK(stage.iters.size() < 64, "{} iterators", stage.iters.size());
  for (const LeftAxis& axis : stage.left)
    for (int digit : axis.digits)
      if (extent(digit) > 1) left_.push_back(digit);
  for (int iter : stage.reduced)
    if (extent(iter) > 1) reduced_.push_back(iter);
  for (int iter : left_) kept_ |= bit(iter);
  plan_.size = volume(left_);
  for (const BoundNode& node : stage.nodes) {
    Mask mask = 0;
    if (const auto* read = std::get_if<BoundRead>(&node)) {
      for (const BoundCoord& coord : read->at)
        for (const auto& [iter, factor] : coord.terms)
          if (factor != 0 && extent(iter) > 1) mask |= bit(iter);
      if (std::ranges::find(plan_.reads, read->tensor) == plan_.reads.end()) plan_.reads.push_back(read->tensor);
    } else if (const auto* apply = std::get_if<Apply>(&node)) {
      mask = seen(apply->a) | (apply->b < 0 ? 0 : seen(apply->b));
    }
    seen_.push_back(mask);
  }
}

std::size_t Planner::volume(const Order& order) const {
  std::size_t product = 1;
  for (int iter : order) product *= static_cast<std::size_t>(extent(iter));
  return product;
}

Order Planner::within(const Order& order, Mask mask) const {
  Order some;
  std::ranges::copy_if(order, std::back_inserter(some), [&](int iter) { return (mask & bit(iter)) != 0; });
  return some;
}

FieldPlace Planner::scratch(std::size_t size) {
  const auto base = static_cast<std::uint16_t>(plan_.reads.size());
  const FieldPlace place{base, static_cast<std::uint32_t>(plan_.scratch)};
  constexpr std::size_t line = 16;
  plan_.scratch += (size + field_slack + line - 1) / line * line;
  return place;
}

FieldPlace Planner::constant(std::uint32_t value) {
  const FieldPlace place{static_cast<std::uint16_t>(plan_.reads.size() + 2),
                         static_cast<std::uint32_t>(plan_.constants.size())};
  plan_.constants.push_back(value);
  plan_.constants.resize(plan_.constants.size() + field_slack);
  return place;
}

/// Appends a step whose result is a new array of that size.
FieldStep& Planner::emit(FieldStep::Code code, FieldPlace a, std::size_t size) {
  FieldStep step;
  step.code = code;
  step.a = a;
  step.out = scratch(size);
  step.count[0] = static_cast<std::uint32_t>(size);
  plan_.steps.push_back(step);
  return plan_.steps.back();
}

/// The elements of `from` in the order of the walk.
Array Planner::gathered(FieldPlace from, const FieldTables::Walk& table, Order order) {
  constexpr std::uint32_t worth_a_row = 4;
  const FieldWalk& walk = *table;
  const std::size_t size = walk.rows.size() * walk.length;
  if (walk.length < worth_a_row) return gathered_singly(from, walk, size, std::move(order));
  FieldStep& step = emit(FieldStep::Code::rows, from, size);
  step.count[0] = static_cast<std::uint32_t>(walk.rows.size());
  step.count[1] = walk.length;
  step.count[2] = static_cast<std::uint32_t>(walk.stride);
  step.table = static_cast<std::uint32_t>(plan_.walks.size());
  plan_.walks.push_back(table);
  return {step.out, std::move(order)};
}

Array Planner::gathered_singly(FieldPlace from, const FieldWalk& walk, std::size_t size, Order order) {
  FieldStep& step = emit(FieldStep::Code::gather, from, size);
  // Operands have a zero behind their last element; scratch is never read outside.
  const auto zero =
      from.base < plan_.reads.size()
          ? static_cast<std::uint32_t>(elements(graph_->tensors[static_cast<std::size_t>(plan_.reads[from.base])]))
          : 0U;
  std::vector<std::uint32_t> table;
  table.reserve(size);
  for (const FieldRow& row : walk.rows)
    for (std::uint32_t i = 0; i < walk.length; ++i)
      table.push_back(
          i < row.first || i >= row.last ? zero : row.from + (i - row.first) * static_cast<std::uint32_t>(walk.stride));
  step.is_wide = std::ranges::max(table) > 0xffff;
  step.table = static_cast<std::uint32_t>(step.is_wide ? plan_.wide.size() : plan_.narrow.size());
  if (step.is_wide) {
    plan_.wide.insert(plan_.wide.end(), table.begin(), table.end());
  } else {
    for (const std::uint32_t place : table) plan_.narrow.push_back(static_cast<std::uint16_t>(place));
  }
  return {step.out, std::move(order)};
}

/// The array in another order, repeated along iterators that it lacks.
Array Planner::ordered(const Array& array, const Order& order) {
  BoundTensor tensor;
  BoundRead read{0, {}};
  for (const int iter : array.order) {
    tensor.axes.push_back({AxisKind::batch, extent(iter)});
    read.at.push_back({{{iter, 1}}, 0, {}});
  }
  BoundGraph graph;
  graph.tensors.push_back(std::move(tensor));
  return gathered(array.place, tables_->walk(graph, *stage_, read, order, order.size()), order);
}

/// The node's values over those iterators of the order that it depends on.
Array Planner::evaluate(int node, const Order& order) {
  const Order own = within(order, seen(node));
  const auto key = std::pair(node, own);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const BoundNode& value = stage_->nodes[static_cast<std::size_t>(node)];
  Array result;
  if (const auto* r = std::get_if<BoundRead>(&value)) {
    result = read(*r, own);
  } else if (const auto* a = std::get_if<Apply>(&value)) {
    result = apply(*a, own);
  } else {
    result = {constant(FieldDomain::constant(std::get<Constant>(value))), {}};
  }
  known_.emplace(key, result);
  return result;
}

Array Planner::read(const BoundRead& read, const Order& order) {
  const auto operand = std::ranges::find(plan_.reads, read.tensor) - plan_.reads.begin();
  FieldPlace from{static_cast<std::uint16_t>(operand), 0};
  const FieldTables::Walk walk = tables_->walk(*graph_, *stage_, read, order, order.size());
  if (!is_one_run(*walk)) return gathered(from, walk, order);
  from.offset = walk->rows[0].from;
  return {from, order};
}

Array Planner::apply(const Apply& apply, const Order& order) {
  using Code = FieldStep::Code;
  const Array a = evaluate(apply.a, order);
  if (apply.b < 0) {
    FieldStep& step = emit(Code::apply, a.place, volume(a.order));
    step.fn = apply.fn;
    return {step.out, a.order};
  }
  Array b = evaluate(apply.b, order);
  Fn fn = apply.fn;
  if (fn == Fn::join) fn = Fn::add;
  if (fn == Fn::div) {
    fn = Fn::mul;
    b.place = emit(Code::inverse, b.place, volume(b.order)).out;
  }
  return combined(fn, a, b, order);
}

/// fn(a, b) over the order, of which both arrays' orders are parts.
Array Planner::combined(Fn fn, Array a, Array b, const Order& order) {
  constexpr std::size_t worth_a_row = 8;
  if (a.order != order && b.order != order) a = ordered(a, order);
  const bool is_b = a.order == order;
  Array& part = is_b ? b : a;
  FieldRows rows = FieldRows::own;
  std::size_t count = 1;
  std::size_t length = volume(order);
  if (part.order != order) {
    const std::size_t size = volume(part.order);
    const bool starts = std::equal(part.order.begin(), part.order.end(), order.begin());
    const bool ends = std::equal(part.order.rbegin(), part.order.rend(), order.rbegin());
    if (starts && (size == 1 || length / size >= worth_a_row)) {
      rows = FieldRows::each;
      count = size;
      length /= size;
    } else if (ends && size >= worth_a_row) {
      rows = FieldRows::same;
      count = length / size;
      length = size;
    } else {
      part = ordered(part, order);
    }
  }
  FieldStep& step = emit(FieldStep::Code::combine, a.place, count * length);
  step.fn = fn;
  step.b = b.place;
  (is_b ? step.rows_b : step.rows_a) = rows;
  step.count[0] = static_cast<std::uint32_t>(count);
  step.count[1] = static_cast<std::uint32_t>(length);
  return {step.out, order};
}

/// A sum of products as a batch of products of matrices, if it is one of some width.
std::optional<Array> Planner::contracted() {
  const auto* product = std::get_if<Apply>(&stage_->nodes.back());
  if (stage_->reduce != Reduce::sum || product == nullptr || product->fn != Fn::mul || reduced_.empty())
    return std::nullopt;
  const Mask both = seen(product->a) & seen(product->b);
  if (within(reduced_, both) != reduced_) return std::nullopt;
  const Order batch = within(left_, both);
  const Order only_a = within(left_, seen(product->a) & ~both);
  const Order only_b = within(left_, seen(product->b) & ~both);
  constexpr std::size_t least_width = 4;
  if (std::max(volume(only_a), volume(only_b)) < least_width) return std::nullopt;

  const auto joined = [](Order order, const Order& more, const Order& most) {
    order.insert(order.end(), more.begin(), more.end());
    order.insert(order.end(), most.begin(), most.end());
    return order;
  };
  const auto work = [&](const Order& rows, const Order& lanes) {
    constexpr std::size_t width = 16;
    const std::size_t vectors = volume(batch) * volume(rows) * volume(reduced_) * ((volume(lanes) + width - 1) / width);
    const Order order = joined(batch, rows, lanes);
    return 2 * vectors + (order == within(left_, kept_ & (seen(product->a) | seen(product->b))) ? 0 : volume(order));
  };
  const bool swapped = work(only_b, only_a) < work(only_a, only_b);
  const Order& rows = swapped ? only_b : only_a;
  const Order& lanes = swapped ? only_a : only_b;
  const Array a = evaluate(swapped ? product->b : product->a, joined(batch, rows, reduced_));
  const Array b = evaluate(swapped ? product->a : product->b, joined(batch, reduced_, lanes));
  const Order order = joined(batch, rows, lanes);
  FieldStep& step = emit(FieldStep::Code::contract, a.place, volume(order));
  step.b = b.place;
  std::size_t i = 0;
  for (const Order* part : {&batch, &rows, static_cast<const Order*>(&reduced_), &lanes})
    step.count[i++] = static_cast<std::uint32_t>(volume(*part));
  return Array{step.out, order};
}

/// The order in which the largest read walks through memory, if it depends on all that the value does.
Order Planner::natural_order() const {
  Order order = reduced_;
  order.insert(order.end(), left_.begin(), left_.end());
  for (std::size_t i = 0; i < stage_->nodes.size(); ++i) {
    const auto* read = std::get_if<BoundRead>(&stage_->nodes[i]);
    if (read == nullptr || seen_[i] != seen(last_)) continue;
    std::vector<std::int64_t> strides(stage_->iters.size(), 0);
    for (const auto& axis : detail::prepare(*graph_, *read))
      for (const auto& [iter, factor] : axis.terms) strides[static_cast<std::size_t>(iter)] += factor * axis.stride;
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](int iter) { return std::abs(strides[static_cast<std::size_t>(iter)]); });
    break;
  }
  return order;
}

/// The stage's value at each point of the left side, reduced, without its factor.
Array Planner::reduced() {
  if (reduced_.empty()) return evaluate(last_, left_);
  if (auto product = contracted()) return *product;
  Array value = evaluate(last_, natural_order());
  const auto is_kept = [&](int iter) { return (kept_ & bit(iter)) != 0; };
  Order kept = within(value.order, kept_);
  if (kept.size() == value.order.size()) return value;
  auto begin = std::ranges::find_if_not(value.order, is_kept);
  if (std::ranges::find_if_not(std::ranges::find_if(begin, value.order.end(), is_kept), value.order.end(), is_kept) !=
      value.order.end()) {
    Order together = within(value.order, ~kept_);
    together.insert(together.end(), kept.begin(), kept.end());
    value = ordered(value, together);
    begin = value.order.begin();
  }
  const auto end = std::find_if(begin, value.order.end(), is_kept);
  const bool is_max = stage_->reduce == Reduce::max;
  const std::size_t size = volume(value.order);
  if (is_max) value.place = emit(FieldStep::Code::rank, value.place, size).out;
  FieldStep& step = emit(is_max ? FieldStep::Code::largest : FieldStep::Code::sum, value.place, volume(kept));
  const std::size_t counts[] = {volume({value.order.begin(), begin}), volume({begin, end}),
                                volume({end, value.order.end()})};
  std::ranges::copy(counts, step.count);
  FieldPlace place = step.out;
  if (is_max) place = emit(FieldStep::Code::unrank, place, volume(kept)).out;
  return {place, std::move(kept)};
}

void Planner::finish(Array result) {
  std::uint32_t factor = FieldDomain::scale(1, stage_->factor, stage_->root);
  for (int iter : reduced_)
    if (stage_->reduce == Reduce::sum && (seen(last_) & bit(iter)) == 0)
      factor = field::multiply(factor, static_cast<std::uint32_t>(extent(iter)));
  if (factor != 1) result = combined(Fn::mul, result, {constant(factor), {}}, result.order);
  if (result.order != left_ || plan_.steps.empty() || plan_.steps.back().out != result.place)
    result = ordered(result, left_);
  plan_.steps.back().out = {static_cast<std::uint16_t>(plan_.reads.size() + 1), 0};
}

/// What the expression looks like, without the tensors.
std::uint64_t Planner::form() const {
  std::uint64_t hash = 0;
  const auto add = [&](auto... values) { ((hash = mix_bits(hash ^ static_cast<std::uint64_t>(values))), ...); };
  for (const BoundNode& node : stage_->nodes) {
    if (const auto* read = std::get_if<BoundRead>(&node)) {
      add(1, is_given(read->tensor));
    } else if (const auto* apply = std::get_if<Apply>(&node)) {
      add(2, apply->fn, apply->a, apply->b);
    } else {
      const auto& constant = std::get<Constant>(node);
      add(3, constant.value.num(), constant.value.den(), constant.half_pi);
    }
  }
  return hash;
}

bool Planner::is_given(int tensor) const {
  const Role role = graph_->tensors[static_cast<std::size_t>(tensor)].role;
  return role == Role::weight || role == Role::stat;
}

void Planner::tie_weights() {
  Mask shared = 0;
  const std::uint64_t expression = form();
  for (std::size_t i = 0; i < stage_->nodes.size(); ++i) {
    const auto* read = std::get_if<BoundRead>(&stage_->nodes[i]);
    if (read == nullptr || !is_given(read->tensor)) continue;
    shared |= seen_[i];
    const auto operand = static_cast<std::size_t>(std::ranges::find(plan_.reads, read->tensor) - plan_.reads.begin());
    if (std::ranges::find(plan_.weights, operand, &FieldWeight::operand) != plan_.weights.end()) continue;
    const auto size = static_cast<std::size_t>(elements(graph_->tensors[static_cast<std::size_t>(read->tensor)]));
    plan_.weights.push_back({operand, size, mix_bits(mix_bits(expression ^ i) ^ size)});
  }
  if (plan_.weights.empty()) return;
  std::ranges::sort(plan_.weights, {}, [&](const FieldWeight& weight) { return plan_.reads[weight.operand]; });
  for (const BoundNode& node : stage_->nodes)
    if (const auto* read = std::get_if<BoundRead>(&node); read != nullptr && !is_given(read->tensor))
      tie(*read, shared);
}

/// Each point of the iterators that the weights share gets a random factor; over the other points of the left side the
/// mean is taken, so that a map of channels is tied to the same before and after a mean of positions.
void Planner::tie(const BoundRead& read, Mask shared) {
  Order all = reduced_;
  all.insert(all.end(), left_.begin(), left_.end());
  const auto node = std::ranges::find(stage_->nodes, BoundNode(read)) - stage_->nodes.begin();
  const Mask mask = seen(static_cast<int>(node));
  Order order = within(all, mask & shared);
  const Order free = within(all, mask & ~shared);
  order.insert(order.end(), free.begin(), free.end());

  const auto operand = static_cast<std::size_t>(std::ranges::find(plan_.reads, read.tensor) - plan_.reads.begin());
  const auto key = static_cast<std::uint32_t>(mix_bits(plan_.ties.size()));
  plan_.ties.push_back({operand, tables_->factors(*graph_, *stage_, read, order, free.size(), key)});
}

FieldPlan Planner::plan() {
  if (stage_->stabiliser) {
    plan_.reads.clear();
    FieldStep zeros;
    zeros.out = {1, 0};
    zeros.count[0] = 1;
    zeros.count[1] = static_cast<std::uint32_t>(plan_.size);
    zeros.count[2] = 1;
    plan_.walks = {std::make_shared<const FieldWalk>(FieldWalk{{{0, 0, 0}}, 1, 1})};
    plan_.scratch = field_slack;  // a vector is read, and overwritten
    plan_.steps = {zeros};
    return std::move(plan_);
  }
  finish(reduced());
  tie_weights();
  return std::move(plan_);
}

}  // namespace

FieldPlan plan_stage(const BoundGraph& graph, const BoundStage& stage, FieldTables& tables) {
  return Planner(graph, stage, tables).plan();
}

}  // namespace kasimir
