// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/branch_and_bound.h"

#include "kasimir/hardware/search/engines.h"
#include "kasimir/hardware/search/pareto.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace kasimir {
namespace {

/// Before branches are cut, some mapping has to be there to compare with.
constexpr int first_descents = 2;
constexpr int dives = 2;
/// Of the rows that bounds find promising, one of so many is improved.
constexpr std::size_t tries_of_a_kind = 4;
constexpr int steps_of_a_root = 40;
constexpr int steps_of_a_node = 8;
constexpr int steps_of_a_branch = 10;
/// Rows, multiplied over tables, below which all are gone through.
constexpr double few_choices = 1e5;

/// Bounds so little below a value do not say that there is a better one: SearchAnswer::optimal allows 1e-9.
constexpr double tie = 9e-10;

/// Mappings in some orders of their loops.
struct Node {
  std::size_t costs = 0;  // which choice of keeps
  OrderClass orders;
  std::size_t decided = 0;                          // levels, from the outermost
  std::vector<std::vector<std::uint32_t>> choices;  // of each group, that no bound has dropped
  std::vector<double> point;                        // of LogBound
  double bound = 0;
  bool undominated = false;  // choices that others beat in all components are gone
  std::size_t number = 0;    // in the order of making
};

/// The lowest bound first.
bool later(const Node& a, const Node& b) {
  return a.bound != b.bound ? a.bound > b.bound : a.decided != b.decided ? a.decided < b.decided : a.number > b.number;
}

}  // namespace

/// One search through the tree.
class Brancher {
 public:
  Brancher(BranchAndBound& space, Referee& referee)
      : space_(space),
        referee_(referee),
        goal_(referee.options().goal),
        keep_((1 - referee.options().gap) * (1 - tie)) {
    for (std::size_t c = 0; c < space.tables_->costs.size(); ++c)
      bounds_.emplace_back(space.forms_[c], space.model_, space.tables_->costs[c]->components(), goal_);
    floor_ = compulsory_bound(space.model_, goal_);
  }

  bool run() {
    if (floor_ >= cut()) {
      referee_.prove(std::min(floor_, referee_.best()));
      return true;
    }
    bool complete = true;
    for (std::size_t c = 0; c < bounds_.size() && complete; ++c) {
      complete = !referee_.over();
      if (complete) add_root(c);
    }
    if (!complete) lost_ = floor_;  // a root was left out
    for (int i = 0; i < dives && complete && !open_.empty(); ++i) complete = dive();
    while (complete && !open_.empty() && open_.front().bound < cut()) {
      std::pop_heap(open_.begin(), open_.end(), later);
      const Node node = std::move(open_.back());
      open_.pop_back();
      referee_.prove(std::max(floor_, std::min({lost_, node.bound, referee_.best()})));
      complete = !referee_.over() && (node.decided == node.orders.size() ? go_through(node) : expand(node));
      if (!complete) lost_ = std::min(lost_, node.bound);
    }
    if (!open_.empty()) lost_ = std::min(lost_, open_.front().bound);
    referee_.prove(std::max(floor_, std::min(lost_, referee_.best())));
    return complete;
  }

 private:
  [[nodiscard]] double cut() const { return referee_.best() * keep_; }

  /// Nothing is decided but levels of which all orders are alike. Bounds begin where the best mapping is.
  void add_root(std::size_t c) {
    Node root;
    root.costs = c;
    ProductCosts& costs = *space_.tables_->costs[c];
    for (const std::vector<LevelOrder>& orders : space_.levels_[c])
      root.orders.push_back(orders.size() == 1 ? orders[0] : LevelOrder{{}, true, true, -1});
    for (std::size_t g = 0; g < costs.groups().size(); ++g) root.choices.push_back(costs.choices(g));
    if (referee_.found() && costs.keeps() == referee_.best_mapping().keeps)
      root.point = costs.log_components(referee_.best_mapping());
    add(std::move(root), steps_of_a_root);
  }

  /// Decides level by level what looks best, down to classes of orders, so that there is something to compare with.
  bool dive() {
    const auto first = [](const Node& a, const Node& b) {
      const bool a_ends = a.decided == a.orders.size();
      const bool b_ends = b.decided == b.orders.size();
      if (a_ends != b_ends) return b_ends;
      return a.decided != b.decided ? a.decided > b.decided : later(b, a);
    };
    for (;;) {
      const auto place = std::min_element(open_.begin(), open_.end(), first);
      if (place == open_.end() || place->decided == place->orders.size()) return true;
      const Node node = std::move(*place);
      open_.erase(place);
      std::make_heap(open_.begin(), open_.end(), later);
      if (!expand(node)) {
        lost_ = std::min(lost_, node.bound);
        return false;
      }
      if (node.decided + 1 == node.orders.size()) return true;
    }
  }

  bool expand(const Node& node) {
    const std::vector<LevelOrder>& orders = space_.levels_[node.costs][node.decided];
    for (const LevelOrder& order : orders) {
      if (referee_.over()) return false;
      Node child = node;
      child.orders[node.decided] = order;
      child.decided = node.decided + 1;
      add(std::move(child), orders.size() == 1 ? 1 : steps_of_a_node);
    }
    return true;
  }

  /// Bounds the node and keeps it if there may be something good.
  void add(Node node, int steps) {
    if (!open(node)) return;
    node.bound = std::max({node.bound, floor_, least_price()});
    if (node.bound >= cut()) {
      lost_ = std::min(lost_, node.bound);
      return;
    }
    try_best();
    node.bound = std::max(node.bound, tighten(steps, node.point));
    if (beaten_) {
      lost_ = std::min(lost_, node.bound);
      return;
    }
    for (std::size_t g = 0; g < tables_.size(); ++g) {
      if (decided_ && !node.undominated) keep_pareto_rows(tables_[g], costs_now_->components());
      node.choices[g] = tables_[g].choice;
      std::sort(node.choices[g].begin(), node.choices[g].end());
    }
    node.undominated = decided_;
    node.number = made_++;
    open_.push_back(std::move(node));
    std::push_heap(open_.begin(), open_.end(), later);
  }

  /// False if a group has no choice left.
  bool open(const Node& node) {
    orders_ = node.orders;
    now_ = node.costs;
    costs_now_ = space_.tables_->costs[node.costs].get();
    decided_ = node.decided == node.orders.size();
    tables_.clear();
    for (std::size_t g = 0; g < node.choices.size(); ++g) {
      tables_.push_back(costs_now_->select(g, node.orders, node.choices[g]));
      if (tables_.back().rows == 0) return false;
    }
    return true;
  }

  /// The price of the least of each component: infinity if that does not fit.
  double least_price() {
    const std::size_t width = costs_now_->components();
    FactorTable all;
    all.rows = 1;
    all.columns.assign(width, 1.0);
    for (const FactorTable& table : tables_)
      for (std::size_t c = 0; c < width; ++c) all.columns[c] *= table.least[c];
    ones_.assign(width, 1.0);
    PricedBlock block;
    costs_now_->price(ones_.data(), all, 0, 1, block);
    referee_.count(1);
    return block.value[0];
  }

  /// Of `tables_`, which lose rows; what they lose is noted. @returns a bound of what is left.
  double tighten(int steps, std::vector<double>& point) {
    const auto result =
        bounds_[now_].tighten(tables_, point, steps, [&] { return cut(); }, [&](const auto& rows) { try_rows(rows); });
    lost_ = std::min(lost_, result.dropped);
    beaten_ = result.beaten;
    return std::max(floor_, result.bound);
  }

  /// Improves a mapping that a bound found promising, and judges it.
  void try_rows(std::vector<std::size_t> rows) {
    referee_.count(1);
    if (decided_ && tries_++ % tries_of_a_kind == 0) improve(std::move(rows));
  }

  /// The best mapping so far in the orders at hand, improved.
  void try_best() {
    if (!decided_ || !referee_.found() || referee_.best_mapping().keeps != costs_now_->keeps()) return;
    std::vector<std::size_t> rows;
    for (std::size_t g = 0; g < tables_.size(); ++g) {
      const std::vector<std::uint32_t>& choices = tables_[g].choice;
      const auto place = std::ranges::find(choices, costs_now_->choice_of(g, referee_.best_mapping()));
      if (place == choices.end()) return;
      rows.push_back(static_cast<std::size_t>(place - choices.begin()));
    }
    improve(std::move(rows));
  }

  /// Until no group gains by itself.
  void improve(std::vector<std::size_t> rows) {
    double rank = Goal::unlimited;
    std::size_t unchanged = 0;
    for (std::size_t g = 0; unchanged < rows.size(); g = (g + 1) % rows.size())
      unchanged = improve(g, rows, rank) ? 1 : unchanged + 1;
    if (!(rank < referee_.best())) return;
    std::vector<std::uint32_t> choices;
    for (std::size_t g = 0; g < rows.size(); ++g) choices.push_back(tables_[g].choice[rows[g]]);
    referee_.judge(costs_now_->mapping(choices, orders_));
  }

  /// The best row of one group, with those of the others.
  bool improve(std::size_t group, std::vector<std::size_t>& rows, double& rank) {
    std::vector<double> others(costs_now_->components(), 1.0);
    for (std::size_t g = 0; g < rows.size(); ++g)
      for (std::size_t c = 0; g != group && c < others.size(); ++c) others[c] *= tables_[g].column(c)[rows[g]];
    const FactorTable& table = tables_[group];
    const double before = rank;
    PricedBlock block;
    for (std::size_t from = 0; from < table.rows; from += PricedBlock::size) {
      const std::size_t count = std::min(PricedBlock::size, table.rows - from);
      costs_now_->price(others.data(), table, from, count, block);
      referee_.count(count);
      for (std::size_t i = 0; i < count; ++i) {
        const double here = rank_of(block.value[i], block.overshoot[i]);
        if (!(here < rank * (1 - 1e-12))) continue;
        rank = here;
        rows[group] = from + i;
      }
    }
    return rank < before;
  }

  /// All choices that are left, or two nodes with half of them each. False if it was stopped.
  bool go_through(const Node& node) {
    if (!open(node)) return true;
    double choices = 1;
    for (const FactorTable& table : tables_) choices *= static_cast<double>(table.rows);
    return choices <= few_choices ? enumerate() : halve(node);
  }

  /// Divides the rows of the group and component between whose values the bound differs most.
  bool halve(const Node& node) {
    const std::vector<double> slope = bounds_[now_].slope_at(tables_, node.point);
    std::size_t group = 0;
    std::size_t component = 0;
    double most = -1;
    for (std::size_t g = 0; g < tables_.size(); ++g)
      for (std::size_t c = 0; c < slope.size(); ++c) {
        const double* logs = tables_[g].log_column(c);
        const auto [low, high] = std::minmax_element(logs, logs + tables_[g].rows);
        const double here = std::abs(slope[c]) * (*high - *low);
        if (!(here > most)) continue;
        most = here;
        group = g;
        component = c;
      }
    const FactorTable& table = tables_[group];
    const double* logs = table.log_column(component);
    std::vector<double> sorted(logs, logs + table.rows);
    std::sort(sorted.begin(), sorted.end());
    // the upper half begins with a value that is not in the lower one
    double middle = sorted[sorted.size() / 2];
    if (middle <= sorted.front()) middle = *std::upper_bound(sorted.begin(), sorted.end(), middle);
    std::array<std::vector<std::uint32_t>, 2> halves;
    for (std::size_t r = 0; r < table.rows; ++r) halves[logs[r] < middle ? 0 : 1].push_back(table.choice[r]);
    for (std::vector<std::uint32_t>& half : halves) {
      if (referee_.over()) return false;
      Node child = node;
      child.choices[group] = std::move(half);
      add(std::move(child), steps_of_a_branch);
    }
    return true;
  }

  bool enumerate() {
    const std::size_t width = costs_now_->components();
    order_.resize(tables_.size());
    for (std::size_t g = 0; g < order_.size(); ++g) order_[g] = g;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return tables_[a].rows < tables_[b].rows; });
    rest_.assign(tables_.size() + 1, std::vector<double>(width, 1.0));
    for (std::size_t k = tables_.size(); k-- > 0;)
      for (std::size_t c = 0; c < width; ++c) rest_[k][c] = rest_[k + 1][c] * tables_[order_[k]].least[c];
    chosen_.assign(tables_.size(), 0);
    return descend(0, std::vector<double>(width, 1.0));
  }

  struct Child {
    double bound;
    std::size_t row;
  };

  /// All choices for the group number `depth`, the most promising first.
  bool descend(std::size_t depth, const std::vector<double>& so_far) {
    if (depth > 0 && referee_.over()) return false;
    const FactorTable& table = tables_[order_[depth]];
    std::vector<double> others(so_far.size());
    for (std::size_t c = 0; c < so_far.size(); ++c) others[c] = so_far[c] * rest_[depth + 1][c];
    std::vector<Child> children;
    PricedBlock block;
    for (std::size_t from = 0; from < table.rows; from += PricedBlock::size) {
      const std::size_t count = std::min(PricedBlock::size, table.rows - from);
      costs_now_->price(others.data(), table, from, count, block);
      referee_.count(count);
      for (std::size_t i = 0; i < count; ++i)
        if (block.value[i] < cut())
          children.push_back({block.value[i], from + i});
        else
          lost_ = std::min(lost_, block.value[i]);
    }
    std::sort(children.begin(), children.end(),
              [](const Child& a, const Child& b) { return a.bound != b.bound ? a.bound < b.bound : a.row < b.row; });
    return visit(depth, so_far, children);
  }

  bool visit(std::size_t depth, const std::vector<double>& so_far, const std::vector<Child>& children) {
    const FactorTable& table = tables_[order_[depth]];
    std::vector<double> product(so_far.size());
    for (const Child& child : children) {
      if (child.bound >= cut()) {
        lost_ = std::min(lost_, child.bound);
        return true;
      }
      chosen_[order_[depth]] = table.choice[child.row];
      if (depth + 1 == order_.size()) {
        referee_.judge(costs_now_->mapping(chosen_, orders_));
        lost_ = std::min(lost_, child.bound);
        continue;
      }
      for (std::size_t c = 0; c < so_far.size(); ++c) product[c] = so_far[c] * table.column(c)[child.row];
      if (descend(depth + 1, product)) continue;
      lost_ = std::min(lost_, child.bound);  // the children are sorted
      return false;
    }
    return true;
  }

  BranchAndBound& space_;
  Referee& referee_;
  const Goal& goal_;
  const double keep_;
  std::vector<LogBound> bounds_;  // of each choice of keeps
  std::vector<Node> open_;        // a heap
  std::size_t made_ = 0;
  // the node at hand
  OrderClass orders_;
  std::size_t now_ = 0;
  bool decided_ = false;
  ProductCosts* costs_now_ = nullptr;
  std::vector<FactorTable> tables_;  // what is left of it
  bool beaten_ = false;
  std::size_t tries_ = 0;
  std::vector<double> ones_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<double>> rest_;
  std::vector<std::uint32_t> chosen_;
  double floor_ = 0;
  double lost_ = Goal::unlimited;  // the lowest bound among what was left out
};

double compulsory_bound(const CostModel& model, const Goal& goal) {
  const FlatLevel& outer = model.level[0];
  double reads = 0;
  double writes = 0;
  double energy = model.problem.points() * model.operation_pj;
  for (std::size_t t = 0; t < static_cast<std::size_t>(model.operands); ++t) {
    const FlatOperand& operand = model.operand[t];
    const double elements = footprint(operand, model.size, model.options.footprint);
    const double bits = elements * std::min(operand.bits, operand.partial_bits);
    (t == 0 ? writes : reads) += bits;
    energy += t == 0 ? elements * outer.write_pj + bits * outer.write_pj_per_bit
                     : elements * outer.read_pj + bits * outer.read_pj_per_bit;
  }
  const double compute = model.problem.points() * model.cycles_per_step / model.units;
  const double cycles = std::max({compute, (reads + writes) * outer.cycles_per_bit, reads * outer.cycles_per_read_bit,
                                  writes * outer.cycles_per_write_bit, energy * model.cycles_per_pj});
  return value_of(goal, cycles, energy + cycles * model.leakage_pj_per_cycle);
}

BranchAndBound::BranchAndBound(const CostModel& model, const SpaceRules& rules)
    : model_(model), tables_(std::make_shared<TabulatedSpace>(model, rules)) {
  if (!tables_->usable) return;
  for (const auto& costs : tables_->costs) {
    forms_.push_back(costs->form());
    levels_.push_back(level_orders(model, costs->keeps()));
  }
}

SearchAnswer BranchAndBound::run(const SearchOptions& options) {
  if (!tables_->usable) {
    SearchAnswer answer = polish_search(model_, options);
    answer.lower_bound = std::min(compulsory_bound(model_, options.goal), answer.value);
    return answer;
  }
  Referee referee(model_, options, 0);
  tables_->set_goal(options.goal);
  for (const Mapping& mapping : known_) referee.judge(mapping);
  std::optional<Descent> descent;
  if (known_.empty()) {
    descent.emplace(referee, tables_);
    Rng rng(options.seed, 3);
    for (int i = 0; i < first_descents && !referee.over(); ++i) descent->run(descent->space().random(rng));
  }
  const bool complete = Brancher(*this, referee).run();
  if (!referee.found()) {
    if (!descent) descent.emplace(referee, tables_);
    look_for_nearest(referee, *descent);
  }
  SearchAnswer answer = referee.answer(complete);
  if (answer.found && std::find(known_.begin(), known_.end(), answer.mapping) == known_.end())
    known_.push_back(answer.mapping);
  return answer;
}

SearchAnswer branch_and_bound(const CostModel& model, const SearchOptions& options) {
  return BranchAndBound(model, options.rules).run(options);
}

}  // namespace kasimir
