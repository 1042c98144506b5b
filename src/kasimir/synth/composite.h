// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/world.h"

#include <span>
#include <string_view>
#include <vector>

/// Arrangements of several primitives that people found useful, drawn at once: blind growth meets a given sequence of n
/// steps some 30 times more rarely with each step. A composite is data; its steps are ordinary ones, legal by the same
/// rules, and what is drawn is a kernel like any other.
namespace kasimir {

/// One line per step, `NAME = WAY | WAY | ..`, each way as likely as the others. A way is a step as in the text of a
/// kernel, or a name alone: no step. The first operand is `x`, any tensor with channels. For a draw some symbols have
/// values:
///   x0  the channels of x
///   x1  an inner width: x0/r, Co/r, or a free symbol
///   x2  the width of the result: x0 or Co
struct Composite {
  std::string_view name;
  std::string_view brief;   ///< one line
  std::string_view source;  ///< where the literature has it
  double weight = 1.0;      ///< how often it is tried, relative to the others
  std::string_view steps;   ///< each is read by a later one, but for the last, which makes the result
};

/// All there are, in a fixed order.
std::span<const Composite* const> composites();

/// What was drawn. Operands: 0 is the tensor that the composite is put on, i the result of step i - 1, -1 none.
struct DrawnComposite {
  static constexpr int most_steps = 20;
  struct Step {
    int primitive = -1;
    ArgumentsId arguments = no_id;
    std::array<std::int16_t, 2> operands{-1, -1};
  };
  std::array<Step, most_steps> steps;
  int count = 0;
};

/// The composites that primitives with a weight above 0 suffice for, ready to be drawn.
class CompositeSet {
 public:
  CompositeSet() = default;
  CompositeSet(Catalog catalog, std::span<const double> weights);

  [[nodiscard]] std::size_t size() const { return templates_.size(); }
  [[nodiscard]] const Composite& operator[](std::size_t number) const { return *templates_[number].composite; }
  [[nodiscard]] double weight(std::size_t number) const { return (*this)[number].weight; }
  [[nodiscard]] int least_steps(std::size_t number) const { return templates_[number].least_steps; }

  /// Steps with x0 .. x(open-1) in use; false if the tensor has no channels. Whether they are legal is not asked.
  bool draw(std::size_t number, Rng& rng, World& world, ShapeId tensor, int open, DrawnComposite& into) const;

 private:
  struct Way {
    int primitive = -1;  ///< -1: no step, but the tensor operands[0]
    std::vector<Argument> arguments;
    std::array<std::int16_t, 2> operands{-1, -1};  ///< 0 is x, i the tensor of line i - 1
    bool sized = false;                            ///< has x0 .. x2
  };
  using Line = std::vector<Way>;
  struct Template {
    const Composite* composite;
    std::vector<Line> lines;
    int least_steps = 0;
  };
  static Template read(const Composite& composite, Catalog catalog, std::span<const double> weights);

  std::vector<Template> templates_;
};

}  // namespace kasimir
