// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/descent.h"
#include "kasimir/hardware/search/engines.h"
#include "kasimir/hardware/search/product_costs.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

/// Before branches are cut, some mapping has to be there to compare with.
constexpr int first_descents = 2;

/// One class of orders with one choice of keeps.
struct Part {
  std::size_t costs = 0;
  OrderClass orders;
  double bound = 0;
};

class Brancher {
 public:
  explicit Brancher(Referee& referee)
      : referee_(referee),
        goal_(referee.options().goal),
        space_(referee.model(), referee.options().rules),
        keep_(1 - referee.options().gap) {
    for (const Keeps& keeps : space_.keeps())
      costs_.push_back(std::make_unique<ProductCosts>(referee.model(), space_, keeps, goal_));
  }
  [[nodiscard]] bool usable() const {
    return std::all_of(costs_.begin(), costs_.end(), [](const auto& costs) { return costs->usable(); });
  }

  bool run() {
    std::vector<Part> parts;
    const bool listed = list(parts);
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.bound < b.bound; });
    double proved = listed ? Goal::unlimited : compulsory_bound(referee_.model(), goal_);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (listed) referee_.prove(std::min(proved, parts[k].bound));
      if (parts[k].bound >= referee_.best() * keep_) {
        proved = std::min(proved, parts[k].bound);
        break;
      }
      lost_ = Goal::unlimited;
      const bool finished = branch(parts[k]);
      proved = std::min(proved, lost_);
      if (!finished) {
        if (k + 1 < parts.size()) proved = std::min(proved, parts[k + 1].bound);
        referee_.prove(std::min(proved, referee_.best()));
        return false;
      }
    }
    referee_.prove(std::min(proved, referee_.best()));
    return listed;
  }

 private:
  bool list(std::vector<Part>& parts) {
    for (std::size_t c = 0; c < costs_.size(); ++c)
      for (OrderClass& orders : order_classes(referee_.model(), costs_[c]->keeps())) {
        if (referee_.over()) return false;
        Part part{c, std::move(orders), 0};
        open(part);
        part.bound = bound_of();
        if (std::isinf(part.bound)) continue;
        parts.push_back(std::move(part));
      }
    return true;
  }

  /// Finds the part's tables, the smallest first.
  void open(const Part& part) {
    costs_now_ = costs_[part.costs].get();
    const std::size_t groups = costs_now_->groups().size();
    order_.clear();
    tables_.clear();
    for (std::size_t g = 0; g < groups; ++g) {
      order_.push_back(g);
      tables_.push_back(&costs_now_->table(g, part.orders, true));
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return tables_[a]->rows < tables_[b]->rows; });
    const std::size_t width = costs_now_->components();
    rest_.assign(groups + 1, std::vector<double>(width, 1.0));
    for (std::size_t k = groups; k-- > 0;)
      for (std::size_t c = 0; c < width; ++c)
        rest_[k][c] = tables_[order_[k]]->rows == 0 ? 1.0 : rest_[k + 1][c] * tables_[order_[k]]->least[c];
  }

  /// Of the part that is open; infinity if a group has no choice left.
  double bound_of() {
    FactorTable all;
    all.rows = 1;
    all.columns = rest_[0];
    for (const FactorTable* table : tables_)
      if (table->rows == 0) return Goal::unlimited;
    const std::vector<double> ones(costs_now_->components(), 1.0);
    PricedBlock block;
    costs_now_->price(ones.data(), all, 0, 1, block);
    referee_.count(1);
    return block.value[0];
  }

  bool branch(const Part& part) {
    open(part);
    part_ = &part;
    chosen_.assign(order_.size(), 0);
    const std::vector<double> ones(costs_now_->components(), 1.0);
    return descend(0, ones);
  }

  struct Child {
    double bound;
    std::size_t row;
  };

  /// All choices for the group number `depth`, the most promising first.
  bool descend(std::size_t depth, const std::vector<double>& so_far) {
    if (depth > 0 && referee_.over()) return false;
    const FactorTable& table = *tables_[order_[depth]];
    std::vector<double> others(so_far.size());
    for (std::size_t c = 0; c < so_far.size(); ++c) others[c] = so_far[c] * rest_[depth + 1][c];
    std::vector<Child> children;
    PricedBlock block;
    for (std::size_t from = 0; from < table.rows; from += PricedBlock::size) {
      const std::size_t count = std::min(PricedBlock::size, table.rows - from);
      costs_now_->price(others.data(), table, from, count, block);
      referee_.count(count);
      for (std::size_t i = 0; i < count; ++i)
        if (block.value[i] < referee_.best() * keep_)
          children.push_back({block.value[i], from + i});
        else
          lost_ = std::min(lost_, block.value[i]);
    }
    std::sort(children.begin(), children.end(),
              [](const Child& a, const Child& b) { return a.bound != b.bound ? a.bound < b.bound : a.row < b.row; });
    return visit(depth, so_far, children);
  }

  bool visit(std::size_t depth, const std::vector<double>& so_far, const std::vector<Child>& children) {
    const FactorTable& table = *tables_[order_[depth]];
    std::vector<double> product(so_far.size());
    for (const Child& child : children) {
      if (child.bound >= referee_.best() * keep_) {
        lost_ = std::min(lost_, child.bound);
        return true;
      }
      chosen_[order_[depth]] = table.choice[child.row];
      if (depth + 1 == order_.size()) {
        referee_.judge(costs_now_->mapping(chosen_, part_->orders));
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

  Referee& referee_;
  const Goal& goal_;
  const MappingSpace space_;
  const double keep_;
  std::vector<std::unique_ptr<ProductCosts>> costs_;
  ProductCosts* costs_now_ = nullptr;
  const Part* part_ = nullptr;
  std::vector<std::size_t> order_;
  std::vector<const FactorTable*> tables_;
  std::vector<std::vector<double>> rest_;
  std::vector<std::uint32_t> chosen_;
  double lost_ = Goal::unlimited;  // the lowest bound among what was left out
};

}  // namespace

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
                                  writes * outer.cycles_per_write_bit});
  return value_of(goal, cycles, energy + cycles * model.leakage_pj_per_cycle);
}

SearchAnswer branch_and_bound(const CostModel& model, const SearchOptions& options) {
  Referee referee(model, options, 0);
  Brancher brancher(referee);
  if (!brancher.usable()) {
    SearchAnswer answer = polish_search(model, options);
    answer.lower_bound = std::min(compulsory_bound(model, options.goal), answer.value);
    return answer;
  }
  Descent descent(referee);
  Rng rng(options.seed, 3);
  for (int i = 0; i < first_descents && !referee.over(); ++i) descent.run(descent.space().random(rng));
  const bool complete = brancher.run();
  if (!referee.found()) look_for_nearest(referee, descent);
  return referee.answer(complete);
}

}  // namespace kasimir
