// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/huge_pages.h"
#include "kasimir/kernel/cost.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/synth/budget.h"
#include "kasimir/synth/solver.h"

#include <tsl/robin_map.h>

#include <deque>

/// What growth looks up instead of computing it again. The rules of primitives are written for people: they work on
/// symbolic sizes and explain what failed. Growth meets the same few thousand shapes and applications over and over, so
/// each is worked out by those rules once, at first use, and is a number from then on.
namespace kasimir {

using ShapeId = std::int32_t;
using ArgumentsId = std::int32_t;
using MoveId = std::int32_t;
inline constexpr std::int32_t no_id = -1;
/// Costs whose bounds growth keeps: MACs and parameters, in this order.
inline constexpr int bounded_costs = 2;
/// Shapes of the operands; the second is `no_id` for a unary primitive.
using Operands = std::array<ShapeId, 2>;

/// A shape with what decides how far it is from the output's.
struct ShapeFacts {
  Shape shape;                  ///< axes in the order of their kinds, no choice symbols: they are numbers here
  bool full = false;            ///< has rows and columns
  bool output = false;          ///< is the output's shape
  bool free = false;            ///< has free symbols
  std::int8_t least_steps = 0;  ///< to the output's shape, or to what can be broadcast onto it: a lower estimate
  std::int8_t sure_steps = 0;   ///< the same, a step for each thing that is to be done: surely enough
  /// Where it lacks rows or columns and its channels are a number times x0, x1, ..: the number of that symbol, and what
  /// the symbol must be, as a fraction of Co, for the channels to match the output's.
  std::int8_t to_match = -1;
  float match_ratio = 1.0F;
};

/// One application of a primitive to operands of known shapes: what growth needs of it at each try.
struct Move {
  ShapeId result = no_id;  ///< none: illegal, for the reason `rule`
  std::int32_t rule = no_id;
  /// Rows of World::lanes() numbers: MACs and parameters at each site with free symbols at their least values, then
  /// with the largest that a solver would give them. None while the move is a sketch.
  const float* bounds = nullptr;
  std::int32_t costs = no_id;     ///< number of its MoveCosts; none while it is a sketch, or illegal by its shapes
  std::int32_t step = no_id;      ///< equal for moves that do the same to their operands; none until note_step()
  std::uint8_t primitive = 0;     ///< number in the catalog
  std::uint8_t open_symbols = 0;  ///< free symbols x0 .. x(n-1) may occur in its shapes and arguments
  bool weighted = false;
  bool full = false;  ///< this and the next are the result's ShapeFacts
  std::int8_t least_steps = 0;
  std::int8_t sure_steps = 0;
  /// Only its result is known, as if it were legal: what its stages say (costs, sizes that must be whole, memory) is
  /// not worked out yet.
  bool sketch = false;
  std::uint8_t signs = 0;  ///< what is known of signs, by note_step()

  [[nodiscard]] bool legal() const { return result != no_id; }
};

/// A cost that depends on free symbols: factor(site) times powers of them.
struct FreeTerm {
  std::array<std::int8_t, free_symbol_count> powers{};
  std::vector<double> factor;  ///< per site
};

/// A size that must be whole: num(site) / den(site) times powers of free symbols.
struct WholeTerm {
  std::array<std::int8_t, free_symbol_count> powers{};
  std::vector<std::int64_t> num, den;  ///< per site
};

/// To what a move was applied.
struct Application {
  Operands operands{no_id, no_id};
  ArgumentsId arguments = no_id;  ///< without choice symbols
};

/// What a finished kernel needs of a move. Moves whose stages have the same sizes share it.
struct MoveCosts {
  std::vector<FreeTerm> macs, params, volumes;  ///< what depends on free symbols; volumes in elements
  std::vector<WholeTerm> whole;                 ///< sizes with free symbols
  const double* fixed = nullptr;                ///< what does not: rows of World::site_count() numbers by CostKind
  const float* bounds = nullptr;                ///< Move::bounds
  std::int32_t rule = no_id;                    ///< which of the sizes break

  [[nodiscard]] const double* fixed_of(CostKind kind, int sites) const {
    return fixed + static_cast<std::ptrdiff_t>(kind) * sites;
  }
};

/// The offers of a primitive for operands of known shapes, prepared for drawing. Offers that are equal for many shapes
/// are kept once; every combination of their options has a slot of its own for these shapes.
struct MoveTable {
  struct Way {
    float until;  ///< cumulative weight, up to 1
    std::int32_t offer;
    std::int32_t pool;               ///< where its parameters begin
    std::int32_t first_slot, slots;  ///< among those of a table
    std::int16_t parameters;
    bool by_choice;    ///< its moves depend on the choice symbols: slots for each combination of those
    bool substitutes;  ///< its offer has substitutions
  };
  std::int32_t first_way = 0;
  std::int32_t first_slot = 0;  ///< below 0: they are remembered one by one
  std::int32_t offers = no_id;
  std::int16_t ways = -1;  ///< 0: the primitive offers nothing, for the reason `rule`; below: not a table
  std::int16_t rule = no_id;
};

/// A combination of options of a table.
struct DrawnMove {
  std::int32_t way;
  std::int32_t option;  ///< 0 .. Way::slots - 1
};

/// A move with its arguments as they are written, in choice symbols.
struct WrittenMove {
  MoveId move = no_id;
  ArgumentsId arguments = no_id;
};

/// The moves that may end a kernel from one tensor, or two: every option of every primitive that closes.
struct Closers {
  struct Match {
    int primitive;
    Offer offer;
  };
  std::vector<WrittenMove> moves;  ///< from two tensors: they may be sketches still
  std::vector<float> until;        ///< cumulative weight, up to 1
  std::vector<float> bounds;       ///< from one tensor: as Move::bounds, the least and the most that any of them costs
  std::vector<Match> matches;      ///< what closes if a symbol has the value that the offer asks for
  bool ends = false;               ///< the result of some of the moves has the output's shape
};

std::uint64_t hash_of(const Argument& argument);

/// The substitution, and those after which x0 .. x(open-2) are in use without a gap.
std::vector<Substitution> without_gap(const Substitution& by, int open);

/// Everything about shapes and applications at given sites. Grows by use; what it answers does not depend on what it
/// was asked before. One thread at a time.
class World {
 public:
  struct Options {
    std::int64_t lane = 8;
    std::int64_t most_elements = std::int64_t{1} << 21;
    bool weights_may_depend_on_resolution = false;
    std::vector<double> weights;  ///< how often each primitive of the catalog is tried; 0: never
    /// Values that the choice symbols may take together; a choice is an index here.
    std::vector<Binding> choices;
  };
  static constexpr std::size_t most_rules = 256;  ///< so that what counts by rule needs no test
  static constexpr int most_open = 3;             ///< free symbols at once: more only slow the solver down

  World(Catalog catalog, std::span<const SiteLoad> loads, Options options);

  [[nodiscard]] Catalog catalog() const { return catalog_; }
  [[nodiscard]] const SiteSet& sites() const { return sites_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] int site_count() const { return static_cast<int>(sites_.sites().size()); }
  [[nodiscard]] int lanes() const { return lanes_; }  ///< sites, rounded up to a multiple of 4
  /// Whether the primitive has an offer for any shape at these sites.
  [[nodiscard]] bool ever_offers(std::size_t primitive);

  [[nodiscard]] const ShapeFacts& shape(ShapeId id) const { return shapes_[static_cast<std::size_t>(id)]; }
  /// The reference holds until the next move is worked out.
  [[nodiscard]] const Move& move(MoveId id) const { return moves_[static_cast<std::size_t>(id)]; }
  /// The same, worked out in full: by then a sketch may turn out to be illegal.
  const Move& whole_move(MoveId id) {
    if (moves_[static_cast<std::size_t>(id)].sketch) finish(id);
    return moves_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const Application& application(MoveId id) const { return applied_[static_cast<std::size_t>(id)]; }
  /// Keeps with a move what it is: `what` is one object for all moves that do the same.
  void note_step(MoveId id, const void* what, std::uint8_t signs);
  /// @pre the move is legal and no sketch.
  [[nodiscard]] const MoveCosts& costs(MoveId id) const { return costs_[static_cast<std::size_t>(move(id).costs)]; }
  /// The stages of a legal move, its operands as inputs, in order. The reference holds until the next call.
  [[nodiscard]] const Graph& graph(MoveId id) const;
  [[nodiscard]] bool any_stride() const { return any_stride_; }
  [[nodiscard]] bool same_channels() const { return same_channels_; }
  [[nodiscard]] const std::vector<Argument>& arguments(ArgumentsId id) const {
    return arguments_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const std::string& rule(std::int32_t id) const { return rules_[static_cast<std::size_t>(id)]; }
  std::int32_t rule_id(const std::string& rule);

  [[nodiscard]] ShapeId input() const { return input_; }
  ArgumentsId intern(const std::vector<Argument>& arguments);

  /// The arguments with values in place of symbols, one after the other.
  ArgumentsId substituted(ArgumentsId arguments, std::span<const Substitution> by);
  /// A number for the substitution in a kernel with x0 .. x(open-1) in use, of which then one less is.
  std::int32_t intern(const Substitution& by, int open);
  ArgumentsId substituted(ArgumentsId arguments, std::int32_t by);
  /// The move with these operands in a kernel in which the symbol has the value. @pre the operands are those of
  /// `written` after the substitution.
  WrittenMove substituted(const WrittenMove& written, Operands operands, std::int32_t by, int choice);

  /// The application with these written arguments, worked out at first use.
  MoveId apply(int primitive, Operands operands, ArgumentsId written, int choice);
  /// The same, which may be a sketch still.
  MoveId sketch(int primitive, Operands operands, ArgumentsId written, int choice);

  /// The offers with x0 .. x(open-1) in use.
  MoveTable table(int primitive, Operands operands, int open);
  /// One combination, by weight. @pre the table has ways.
  DrawnMove draw(const MoveTable& table, Rng& rng) const;
  [[nodiscard]] const MoveTable::Way& way(const DrawnMove& drawn) const {
    return ways_[static_cast<std::size_t>(drawn.way)];
  }
  [[nodiscard]] const Offer& offer(const MoveTable& table, const DrawnMove& drawn) const {
    return drawings_[static_cast<std::size_t>(table.offers)].offers[static_cast<std::size_t>(way(drawn).offer)];
  }
  /// The arguments of a combination, as they are written.
  ArgumentsId arguments_at(const MoveTable& table, const DrawnMove& drawn);
  /// The move of a combination without substitutions; it may be a sketch still.
  WrittenMove sketch(int primitive, Operands operands, const MoveTable& table, const DrawnMove& drawn, int choice);
  /// The same, worked out in full.
  WrittenMove resolve(int primitive, Operands operands, const MoveTable& table, const DrawnMove& drawn, int choice);
  /// The legal moves of primitives with a closing weight whose result is nearer to the output than the operands are.
  const Closers& closers(Operands operands, int choice);
  /// Closers::ends, without working the moves out: most pairs of tensors are asked about for this alone.
  bool may_end(Operands operands, int choice);

  /// Adds the least costs of a move, two rows, when the channels of `matched` are as many as the output's.
  void add_matched(MoveId id, const ShapeFacts& matched, float* sum) const;

  [[nodiscard]] std::size_t move_count() const { return moves_.size(); }
  [[nodiscard]] std::size_t shape_count() const { return shapes_.size(); }

 private:
  struct Key {
    std::uint64_t shapes;
    std::uint64_t rest;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return mix_bits(key.shapes ^ mix_bits(key.rest)); }
    std::size_t operator()(std::uint64_t number) const { return mix_bits(number); }
    std::size_t operator()(const Shape& shape) const;
    std::size_t operator()(const std::vector<Argument>& arguments) const;
    std::size_t operator()(const std::vector<Size>& sizes) const;
  };
  template <typename Name>
  using Ids =
      tsl::robin_map<Name, std::int32_t, Hash, std::equal_to<Name>, HugePageAllocator<std::pair<Name, std::int32_t>>>;
  static Key key(Operands operands, std::uint64_t primitive, std::uint64_t rest) {
    return {(static_cast<std::uint64_t>(static_cast<std::uint32_t>(operands[0])) << 32U) |
                static_cast<std::uint32_t>(operands[1]),
            (primitive << 40U) | rest};
  }

  ShapeId intern(const Shape& symbolic);
  [[nodiscard]] ShapeFacts facts_of(Shape symbolic) const;
  [[nodiscard]] Size canonical(const Size& size) const;
  [[nodiscard]] Shape canonical(Shape shape) const;
  [[nodiscard]] int steps_to_ready(const Shape& shape, bool careful) const;
  [[nodiscard]] std::vector<Argument> in_numbers(std::vector<Argument> written, int choice) const;
  [[nodiscard]] ArgumentsId plain(ArgumentsId written, int choice);
  [[nodiscard]] Outcome<Shape> shape_after(int primitive, Operands operands,
                                           const std::vector<Argument>& numbers) const;
  enum class Lead : std::uint8_t { nowhere, nearer, there };
  [[nodiscard]] Lead lead(int primitive, Operands operands, const std::vector<Argument>& written, int choice,
                          int before) const;
  MoveId work_out(int primitive, Operands operands, ArgumentsId arguments);
  void finish(MoveId id);
  template <typename Number>
  Number* new_rows(std::vector<HugeVector<Number>>& blocks, std::size_t size);
  std::int32_t costs_of(const Graph& graph);
  void measure(const Graph& graph, MoveCosts& costs);
  [[nodiscard]] Call call(int primitive, Operands operands, const std::vector<Argument>& numbers) const;
  [[nodiscard]] FreeTerm term(const Size& size) const;
  [[nodiscard]] WholeTerm whole_term(const Size& size) const;
  void add_bounds(float* bounds, const FreeTerm& term, int row) const;
  [[nodiscard]] double least_at(const FreeTerm& term, std::size_t site, const ShapeFacts* matched) const;
  [[nodiscard]] Proposer proposer(int primitive, Operands operands, int open, bool closing) const;
  MoveTable make_table(int primitive, Operands operands, int open, bool& by_open);
  void make_tables(int primitive, Operands operands, int open, MoveTable& table);
  std::int32_t intern(std::vector<Offer> offers);
  void add_way(const Offer& offer, double until, std::int32_t number, std::int32_t& slots);
  bool close(int primitive, Operands operands, int choice, int before, Closers& closers, std::vector<double>* weights);
  bool close(Operands operands, int choice, Closers& closers, std::vector<double>* weights);
  std::int32_t make_closers(Operands operands, int choice, bool& by_choice);
  void bound(Closers& closers);
  static constexpr std::int32_t no_closers = 0;  ///< the first: of pairs from which nothing leads nearer
  static constexpr std::size_t most_asked = 32768;  ///< a quarter of a megabyte: they stay in the second-level cache

  Catalog catalog_;
  std::vector<SiteLoad> loads_;
  Options options_;
  SiteSet sites_;
  int lanes_ = 8;
  bool any_stride_ = false;
  bool same_channels_ = false;  ///< Ci = Co at every site
  ShapeId input_ = 0;

  std::deque<ShapeFacts> shapes_;
  std::deque<std::vector<Argument>> arguments_;
  HugeVector<Move> moves_;
  HugeVector<Application> applied_;
  std::deque<MoveCosts> costs_;
  /// Blocks of rows, so that what points there stays.
  std::vector<HugeVector<float>> bounds_;
  std::vector<HugeVector<double>> fixed_;
  std::vector<float> no_bounds_;           ///< of moves that are illegal by their shapes
  mutable Graph graph_;                    ///< of the move that was asked for last
  mutable MoveId graph_of_ = no_id;
  std::vector<std::string> rules_;
  /// Offers that were made for some shapes.
  struct Drawing {
    std::vector<Offer> offers;
    std::int32_t first_way = 0;
    std::int16_t ways = 0;
    std::int32_t slots = 0;
    std::vector<ArgumentsId> arguments;  ///< by option of the first way, the second, ..: no_id where not asked for yet
  };
  std::deque<Drawing> drawings_;
  HugeVector<MoveTable::Way> ways_;
  HugeVector<float> pool_;  ///< of each parameter the number of options, then their cumulative weights, up to 1
  HugeVector<WrittenMove> slots_;
  std::int32_t wide_tables_ = 0;  ///< tables whose slots are in wide_slots_: first_slot is below 0
  std::deque<Closers> closers_{1};
  /// What may_end() knows of pairs, by both shapes and the choice; and, by a hash of that, what it answered last: the
  /// answer in the last two bits.
  tsl::robin_map<std::uint64_t, std::uint8_t, Hash, std::equal_to<std::uint64_t>,
                 HugePageAllocator<std::pair<std::uint64_t, std::uint8_t>>>
      ends_;
  std::vector<std::uint64_t> asked_ends_ = std::vector<std::uint64_t>(most_asked, ~std::uint64_t{0});
  HugeVector<MoveTable> unary_tables_;                        ///< by shape and primitive
  HugeVector<std::array<MoveTable, most_open + 1>> by_open_;  ///< of tables that depend on the symbols in use
  HugeVector<std::int32_t> unary_closers_;                    ///< by shape
  tsl::robin_map<std::string, std::int32_t> rule_ids_;
  tsl::robin_map<std::uint64_t, WrittenMove, Hash, std::equal_to<std::uint64_t>,
                 HugePageAllocator<std::pair<std::uint64_t, WrittenMove>>>
      wide_slots_;
  tsl::robin_map<std::uint64_t, std::int32_t, Hash> drawing_ids_;
  tsl::robin_map<Key, MoveTable, Hash, std::equal_to<Key>, HugePageAllocator<std::pair<Key, MoveTable>>> binary_tables_;
  Ids<Shape> shape_ids_;
  Ids<std::vector<Argument>> argument_ids_;
  Ids<Key> cost_ids_;  ///< by a hash of 128 bits
  Ids<Key> substituted_arguments_;
  tsl::robin_map<Key, WrittenMove, Hash, std::equal_to<Key>, HugePageAllocator<std::pair<Key, WrittenMove>>>
      substituted_moves_;
  std::deque<std::vector<Substitution>> substitutions_;
  Ids<std::vector<Size>> substitution_ids_;
  tsl::robin_map<const void*, std::int32_t> step_numbers_;
  Ids<Key> move_ids_, written_ids_, closer_ids_;
};

}  // namespace kasimir
