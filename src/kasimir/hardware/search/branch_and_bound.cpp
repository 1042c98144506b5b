// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/branch_and_bound.h"

#include "kasimir/hardware/search/branch_node.h"
#include "kasimir/hardware/search/engines.h"
#include "kasimir/hardware/search/pareto.h"
#include "kasimir/hardware/search/row_enumeration.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>

namespace kasimir {
namespace {

/// Before branches are cut, some mapping has to be there to compare with.
constexpr int first_descents = 2;
constexpr int dives = 2;
/// Then one dive after so many nodes; after each, so many steps below where it has been.
constexpr std::size_t expansions_of_a_dive = 32;
constexpr int steps_of_a_plunge = 30;
/// Of the rows that bounds find promising, one of so many is improved.
constexpr std::size_t tries_of_a_kind = 4;
constexpr int steps_of_a_root = 40;
constexpr int steps_of_a_node = 8;
constexpr int steps_of_a_place = 14;
constexpr int steps_of_a_branch = 10;
/// Rows, multiplied over tables, below which all are gone through.
constexpr double few_choices = 1e5;

/// Bounds so little below a value do not say that there is a better one: SearchAnswer::optimal allows 1e-9.
constexpr double tie = 9e-10;

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
      const BranchNode node = std::move(open_.back());
      open_.pop_back();
      referee_.prove(std::max(floor_, std::min({lost_, node.bound, referee_.best()})));
      complete = step(node);
      if (complete && node.steps == 0 && ++expanded_ % expansions_of_a_dive == 0) complete = dive();
    }
    if (!open_.empty()) lost_ = std::min(lost_, open_.front().bound);
    referee_.prove(std::max(floor_, std::min(lost_, referee_.best())));
    return complete;
  }

 private:
  [[nodiscard]] double cut() const { return referee_.best() * keep_; }

  /// Nothing is decided but levels of which all orders are alike. Bounds begin where the best mapping is.
  void add_root(std::size_t c) {
    BranchNode root;
    root.costs = c;
    ProductCosts& costs = *space_.tables_->costs[c];
    for (const std::vector<LevelOrder>& orders : space_.levels_[c])
      root.orders.push_back(orders.size() == 1 ? orders[0] : LevelOrder{{}, true, true, -1});
    for (std::size_t g = 0; g < costs.groups().size(); ++g) {
      const std::vector<std::uint32_t>& choices = costs.choices(g);
      root.choices.push_back(shared_choices(choices));
      const auto alike = [&](std::uint32_t choice) {
        return costs.place_of(g, choice) == costs.place_of(g, choices.front());
      };
      if (std::ranges::all_of(choices, alike)) root.placed |= 1U << g;
    }
    if (referee_.found() && costs.keeps() == referee_.best_mapping().keeps)
      root.point = costs.log_components(referee_.best_mapping());
    add(std::move(root), steps_of_a_root);
  }

  /// Decides level by level what looks best, down to classes of orders, so that there is something to compare with.
  bool dive() {
    const std::size_t start = made_;
    const auto first = [&](const BranchNode& a, const BranchNode& b) {
      if (ends(a) != ends(b)) return ends(b);
      if ((a.number < start) != (b.number < start)) return b.number < start;
      if (depth(a) != depth(b) && a.number >= start) return depth(a) > depth(b);
      if ((a.steps == 0) != (b.steps == 0) && a.number >= start) return a.steps == 0;
      return later(b, a);
    };
    for (;;) {
      const auto place = std::min_element(open_.begin(), open_.end(), first);
      if (place == open_.end() || ends(*place)) return true;
      const BranchNode node = std::move(*place);
      open_.erase(place);
      std::make_heap(open_.begin(), open_.end(), later);
      if (!step(node)) return false;
      if (node.steps == 0 && ends(node, 1)) return plunge(start);
    }
  }

  /// Goes on below where a dive has been, the lowest bound first: what is there is often good, and seldom the first.
  bool plunge(std::size_t start) {
    const auto first = [&](const BranchNode& a, const BranchNode& b) {
      const bool a_below = a.number >= start && all_placed(a);
      const bool b_below = b.number >= start && all_placed(b);
      return a_below != b_below ? a_below : later(b, a);
    };
    for (int i = 0; i < steps_of_a_plunge; ++i) {
      const auto place = std::min_element(open_.begin(), open_.end(), first);
      if (place == open_.end() || place->number < start || !all_placed(*place) || place->bound >= cut()) return true;
      const BranchNode node = std::move(*place);
      open_.erase(place);
      std::make_heap(open_.begin(), open_.end(), later);
      if (!step(node)) return false;
    }
    return true;
  }

  /// What is next to do with a node that is no longer open. False if there was no time.
  bool step(const BranchNode& node) {
    const bool done = !referee_.over() && (node.steps > 0 ? bound_again(node)
                                           : ends(node)   ? go_through(node)
                                                          : expand(node));
    if (!done) lost_ = std::min(lost_, node.bound);
    return done;
  }

  bool bound_again(const BranchNode& node) {
    add(node, node.steps);
    return true;
  }

  bool expand(const BranchNode& node) {
    if (!all_placed(node)) return place(node);
    const std::vector<LevelOrder>& orders = space_.levels_[node.costs][node.decided];
    for (const LevelOrder& order : orders) {
      if (referee_.over()) return false;
      BranchNode child = node;
      child.orders[node.decided] = order;
      child.decided = node.decided + 1;
      add(std::move(child), orders.size() == 1 ? 1 : steps_of_a_node);
    }
    return true;
  }

  struct Way {
    double bound = Goal::unlimited;  // a logarithm
    std::vector<std::uint32_t> choices;
  };

  /// The choices of a group by their columns and rows.
  std::map<std::uint32_t, Way> ways_of(std::size_t group, const std::vector<double>& bounds) {
    std::map<std::uint32_t, Way> ways;
    for (std::size_t r = 0; r < bounds.size(); ++r) {
      const std::uint32_t choice = tables_[group].choice[r];
      Way& way = ways[costs_now_->place_of(group, choice)];
      way.bound = std::min(way.bound, bounds[r]);
      way.choices.push_back(choice);
    }
    return ways;
  }

  /// By how much the bound rises on average.
  static double difference(const std::map<std::uint32_t, Way>& ways) {
    double sum = 0;
    double least = Goal::unlimited;
    for (const auto& [place, way] : ways) {
      sum += way.bound;
      least = std::min(least, way.bound);
    }
    return sum / static_cast<double>(ways.size()) - least;
  }

  /// One node for each way to spread a group's loops over columns and rows, of the group between whose ways the bound
  /// differs most.
  bool place(const BranchNode& node) {
    if (!open(node)) return true;
    const std::vector<std::vector<double>> bounds = bounds_[now_].row_bounds(tables_, node.point);
    std::size_t group = 0;
    double most = -1;
    for (std::size_t g = 0; g < tables_.size(); ++g) {
      if ((node.placed >> g & 1U) != 0) continue;
      const double here = difference(ways_of(g, bounds[g]));
      if (!(here > most)) continue;
      most = here;
      group = g;
    }
    for (auto& [way, left] : ways_of(group, bounds[group])) {
      BranchNode child = node;
      child.placed |= 1U << group;
      child.bound = std::max(child.bound, bounds_[now_].value_of_log(left.bound));
      child.choices[group] = shared_choices(std::move(left.choices));
      put_off(std::move(child), steps_of_a_place);
    }
    return true;
  }

  /// Keeps the node, whose bound so far is its parent's, until that is the lowest.
  void put_off(BranchNode node, int steps) {
    if (node.bound >= cut()) {
      lost_ = std::min(lost_, node.bound);
      return;
    }
    node.steps = steps;
    push(std::move(node));
  }

  void push(BranchNode node) {
    node.number = made_++;
    open_.push_back(std::move(node));
    std::push_heap(open_.begin(), open_.end(), later);
  }

  /// Bounds the node and keeps it if there may be something good.
  void add(BranchNode node, int steps) {
    node.steps = 0;
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
      if (tables_[g].rows == node.choices[g]->size()) continue;
      std::vector<std::uint32_t> left = tables_[g].choice;
      std::sort(left.begin(), left.end());
      node.choices[g] = shared_choices(std::move(left));
    }
    node.undominated = decided_;
    push(std::move(node));
  }

  /// False if a group has no choice left.
  bool open(const BranchNode& node) {
    orders_ = node.orders;
    now_ = node.costs;
    costs_now_ = space_.tables_->costs[node.costs].get();
    decided_ = node.decided == node.orders.size();
    tables_.clear();
    for (std::size_t g = 0; g < node.choices.size(); ++g) {
      tables_.push_back(costs_now_->select(g, node.orders, *node.choices[g]));
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
  bool go_through(const BranchNode& node) {
    if (!open(node)) return true;
    double choices = 1;
    for (const FactorTable& table : tables_) choices *= static_cast<double>(table.rows);
    if (choices > few_choices) return halve(node);
    RowEnumeration all(referee_, *costs_now_, orders_, tables_, keep_);
    const bool done = all.run();
    lost_ = std::min(lost_, all.lost());
    return done;
  }

  /// Divides the rows of the group and component between whose values the bound differs most.
  bool halve(const BranchNode& node) {
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
      BranchNode child = node;
      child.choices[group] = shared_choices(std::move(half));
      add(std::move(child), steps_of_a_branch);
    }
    return true;
  }

  BranchAndBound& space_;
  Referee& referee_;
  const Goal& goal_;
  const double keep_;
  std::vector<LogBound> bounds_;  // of each choice of keeps
  std::vector<BranchNode> open_;  // a heap
  std::size_t made_ = 0;
  std::size_t expanded_ = 0;
  // the node at hand
  OrderClass orders_;
  std::size_t now_ = 0;
  bool decided_ = false;
  ProductCosts* costs_now_ = nullptr;
  std::vector<FactorTable> tables_;  // what is left of it
  bool beaten_ = false;
  std::size_t tries_ = 0;
  std::vector<double> ones_;
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
