// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/order_class.h"
#include "kasimir/hardware/search/search.h"

#include <map>
#include <memory>
#include <vector>

/// A fast evaluator for mappings of one problem: within a class of orders, everything that an evaluation counts is a
/// product of factors, one for each group of dimensions that share no coordinate with another group's. Factors are
/// tabulated once; an evaluation multiplies rows and prices the products.
///
/// Equal to `evaluate` (up to rounding) for `order_class_of` the mapping; for the classes of `order_classes` it is the
/// cost of the bounds in that order, or more where a loop that the class names is absent. Products and price only
/// grow with each factor, so minima over rows bound all mappings from below.
namespace kasimir {

/// What a component multiplies up.
enum class Factor : std::uint8_t {
  steps,      ///< passes of all temporal loops
  visits,     ///< elements that come into a tile over the run
  changes,    ///< of a stationary operand
  footprint,  ///< elements of a tile
  distinct,   ///< elements of the output that pass through an instance
  fan,        ///< children side by side
  split       ///< instances that share the sums of one element
};

struct Component {
  Factor factor = Factor::steps;
  std::int8_t operand = 0;
  std::int8_t level = 0;        ///< of the tile or fan-out
  std::int8_t axis = 0;         ///< of the fan-out
  std::int8_t spread_from = 0;  ///< spatial loops of levels from here to before `spread_to` multiply by children
  std::int8_t spread_to = 0;
  std::int8_t instances = 0;    ///< spatial loops of levels before this multiply
  std::int8_t per_result = -1;  ///< divided by `distinct` at this level
  /// Whether it depends on the order of loops.
  [[nodiscard]] bool walks() const { return factor == Factor::visits || factor == Factor::changes; }
  bool operator==(const Component&) const = default;
};

/// Rows of factors for the choices of one group of dimensions.
struct FactorTable {
  std::size_t rows = 0;
  std::vector<double> columns;            ///< [component][row]
  std::vector<std::uint32_t> choice;      ///< number of the group's choice, of each row
  std::vector<double> least;              ///< of each component over all rows
  std::vector<double> logs;               ///< of `columns`
  std::vector<double> log_low, log_high;  ///< of each component's `logs`

  [[nodiscard]] const double* column(std::size_t component) const { return columns.data() + component * rows; }
  [[nodiscard]] const double* log_column(std::size_t component) const { return logs.data() + component * rows; }
  /// Fills in `least`, `log_low` and `log_high`.
  void find_ranges(std::size_t components);
  /// Keeps the rows whose places are in `kept`, in that order.
  void keep(const std::vector<std::size_t>& kept, std::size_t components);
};

/// Costs of a block of mappings.
struct PricedBlock {
  static constexpr std::size_t size = 64;
  std::array<double, size> value;  ///< of the goal; infinity if a limit or capacity is passed
  std::array<double, size> cycles;
  std::array<double, size> energy_pj;
  std::array<double, size> overshoot;  ///< by how much limits are passed, as a product of shares; 1 if none is
};

/// A number times two components, the second to a power; -1: no component.
struct Monomial {
  double log_coefficient = 0;
  std::int16_t first = -1;
  std::int16_t second = -1;
  double power = 1;
};

/// What the output costs at a level: result * (updates * by_update + refills * by_refill - saved), where updates and
/// refills are per result. It is never more than the evaluator's.
struct OutputTerm {
  std::int16_t result = -1;
  std::int16_t updates = -1;
  std::int16_t refills = -1;  ///< -1: none
  double by_update = 0;
  double by_refill = 0;
  double saved = 0;
};

/// What is added up.
struct PriceSum {
  std::vector<Monomial> terms;
  std::vector<OutputTerm> outputs;
};

/// What a level holds, as a share of what it can hold: `used` may add up to 1. Where sums are unfinished, `wide` is the
/// logarithm of the coefficient instead.
struct HeldShare {
  struct Part {
    Monomial tile;
    double wide = 0;
    std::int16_t updates = -1;  ///< component: more than 1 where sums are unfinished
    std::int16_t split = -1;    ///< the same
  };
  std::vector<Part> parts;
};

/// No mapping costs less than this: cycles are `serial` and the most of `times`; energy is without leakage.
struct PriceForm {
  PriceSum energy;
  std::vector<PriceSum> times;
  PriceSum serial;
  std::vector<HeldShare> held;
  std::vector<Monomial> fans;  ///< children side by side, as a share of those that there are
};

class ProductCosts {
 public:
  static constexpr std::size_t max_components = 128;
  static constexpr double max_choices = 1 << 16;  ///< of a group
  static constexpr double max_classes = 1 << 16;  ///< of orders

  /// `model` and `space` must outlive it. Tables do not depend on the goal.
  ProductCosts(const CostModel& model, const MappingSpace& space, const Keeps& keeps, const Goal& goal);

  /// Whether groups and classes are few enough and the options allow products; otherwise nothing below may be asked.
  [[nodiscard]] bool usable() const { return usable_; }
  /// Whether all parts of the evaluator are products. Otherwise prices are lower bounds.
  [[nodiscard]] bool exact() const { return exact_; }
  [[nodiscard]] const std::vector<std::vector<int>>& groups() const { return groups_; }
  [[nodiscard]] std::size_t components() const { return components_.size(); }
  [[nodiscard]] const Keeps& keeps() const { return keeps_; }
  /// What prices are of from now on.
  void set_goal(const Goal& goal) { goal_ = goal; }
  /// The prices as sums of products of components, for bounds.
  [[nodiscard]] PriceForm form() const;

  /// The group's choices that the class allows and that fit by themselves; with `pareto` without those that another
  /// one beats in all components, which no best mapping needs. Kept for the next time.
  const FactorTable& table(std::size_t group, const OrderClass& orders, bool pareto);

  /// Choices of a group that fit by themselves, in ascending order.
  const std::vector<std::uint32_t>& choices(std::size_t group) { return rows_of(group).numbers; }
  /// The number of the columns and rows that a choice takes: choices of a group that differ in time only have the same.
  std::uint32_t place_of(std::size_t group, std::uint32_t choice);
  /// The rows of a table of `choices`, which ascend, without those that the class does not allow. Not kept.
  FactorTable select(std::size_t group, const OrderClass& orders, const std::vector<std::uint32_t>& choices);

  /// Prices rows `from` .. `from + count - 1` (at most PricedBlock::size) of a table, each times `others`.
  void price(const double* others, const FactorTable& table, std::size_t from, std::size_t count,
             PricedBlock& out) const;

  /// The mapping that takes one choice for each group.
  [[nodiscard]] Mapping mapping(const std::vector<std::uint32_t>& choices, const OrderClass& orders) const;
  /// Logarithms of all components of a mapping of the space that keeps operands in the same places.
  [[nodiscard]] std::vector<double> log_components(const Mapping& mapping) const;
  /// The choice of a group that a mapping of the space makes.
  [[nodiscard]] std::uint32_t choice_of(std::size_t group, const Mapping& mapping) const;

 private:
  struct Choice;
  struct Products;
  using Key = std::vector<std::uint32_t>;
  struct GroupRows {  // of the choices of a group that fit by themselves
    bool known = false;
    std::vector<std::uint32_t> numbers;
    std::vector<std::uint32_t> loops;  // [choice][level]: dimensions with a loop in the level's time
    std::vector<std::uint32_t> places;
    struct Column {
      std::vector<double> values, logs;
    };
    std::map<Key, Column> columns;
  };
  struct Entry {  // of an operand at a level
    std::size_t operand = 0;
    std::size_t level = 0;
    bool outermost = false;
    bool time = false;    // whether its traffic is limited
    bool energy = false;  // whether its accesses cost energy
    // components, per instance and of all instances together
    int served = -1, served_all = -1, fills = -1, fills_all = -1;
    int result = -1, result_all = -1, updates = -1, refills = -1;  // of the output; the last two per result
    int footprint = -1, split = -1;
  };

  void find_groups();
  void find_limits();
  void add_fans();
  void add_entries();
  void add_hops(std::size_t level, std::size_t operand, const Component& asked);
  void add_input(Entry& entry, Component served, Component moved);
  void add_output(Entry& entry, Component served, Component moved);
  int add(Component component);
  [[nodiscard]] bool any_space(int from, int to) const;

  [[nodiscard]] std::vector<Walk> walks_of(const OrderClass& orders) const;
  [[nodiscard]] std::uint32_t group_dims(std::size_t group) const;
  static void add_walk(const Component& component, const Walk& walk, std::uint32_t dims, Key& key);
  [[nodiscard]] Key key(std::size_t group, const OrderClass& orders, const std::vector<Walk>& walks) const;
  [[nodiscard]] FactorTable tabulate(std::size_t group, const OrderClass& orders, const std::vector<Walk>& walks,
                                     const std::vector<std::uint32_t>& choices);
  [[nodiscard]] const GroupRows& rows_of(std::size_t group);
  [[nodiscard]] const GroupRows::Column& column(std::size_t group, std::size_t component, const Walk& walk);
  void decode(std::size_t group, std::uint32_t number, Choice& choice) const;
  [[nodiscard]] double factor(const Component& component, const Choice& choice, const Walk& walk) const;
  [[nodiscard]] double spread(const Component& component, const Choice& choice) const;
  [[nodiscard]] double distinct(const Choice& choice, std::size_t operand, int level) const;
  [[nodiscard]] double visits(const Component& component, const Choice& choice, const Walk& walk) const;
  [[nodiscard]] double least_visits(const Component& component, const Choice& choice, const Walk& walk) const;
  [[nodiscard]] double moved(const Component& component, const Choice& choice, const Walk& walk,
                             std::uint16_t& run) const;
  [[nodiscard]] bool fits_alone(const std::vector<double>& row) const;

  void add_form(const Entry& entry, PriceForm& form) const;
  void add_output_form(const Entry& entry, PriceForm& form) const;
  [[nodiscard]] std::vector<PriceSum> times_form() const;
  [[nodiscard]] std::vector<HeldShare> held_form() const;

  void price_input(const Entry& entry, std::size_t count, Products& products) const;
  void price_output(const Entry& entry, std::size_t count, Products& products) const;
  void hold(const Entry& entry, std::size_t count, Products& products) const;
  void finish(std::size_t count, Products& products, PricedBlock& out) const;

  const CostModel& model_;
  const MappingSpace& space_;
  const Keeps keeps_;
  Goal goal_;
  bool usable_ = true;
  bool exact_ = true;
  std::vector<std::vector<int>> groups_;
  std::vector<Component> components_;
  std::vector<Entry> entries_;
  std::uint16_t timed_ = 0;                      // levels whose traffic takes time
  std::uint16_t limited_ = 0;                    // levels that may overflow
  std::vector<std::pair<int, double>> hops_;     // component, pJ
  std::vector<std::pair<int, double>> changes_;  // component, cycles
  double first_changes_ = 0;                     // cycles
  std::vector<std::pair<int, double>> fans_;     // component, limit
  std::vector<GroupRows> rows_;                  // of each group
  std::map<Key, std::unique_ptr<FactorTable>> known_;
};

}  // namespace kasimir
