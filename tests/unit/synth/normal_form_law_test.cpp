// SPDX-License-Identifier: Apache-2.0
// Laws of normal forms, on kernels that are drawn without any care for waste.
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/normal_form.h"
#include "support/array.h"
#include "unit/synth/evaluated.h"
#include "unit/synth/loads.h"
#include "unit/synth/reach.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>

namespace kasimir {
namespace {

using testing::Evaluated;

constexpr std::uint64_t seed = 20251130;
const Site square{8, 8, 4, 5, 1};
const Site strided{8, 16, 2, 3, 2};

Binding choices() { return Binding().set(Symbol::g, 2).set(Symbol::r, 4); }
SiteSet sites() { return {{square, strided}, choices()}; }

/// Random kernels: any primitive on any earlier tensors. The result has any shape.
class Drawn {
 public:
  Drawn() : world_(catalog(), loads(), options()) {}

  World& world() { return world_; }
  /// A kernel whose text is legal too: sizes that are equal numbers may be different symbols.
  std::vector<GrownStep> steps(std::uint64_t index, int most) {
    for (Rng rng(seed, index);;) {
      auto drawn = draw(rng, most);
      if (infer_shapes(to_kernel(world_, 0, drawn), sites()).ok()) return drawn;
    }
  }

 private:
  std::vector<GrownStep> draw(Rng& rng, int most) {
    steps_.clear();
    shapes_.assign(1, world_.input());
    open_ = 0;
    const auto wanted = static_cast<std::size_t>(rng.between(1, most));
    for (int tries = 0; tries < 200 && steps_.size() < wanted; ++tries) try_step(rng);
    return needed();
  }

  static std::vector<SiteLoad> loads() { return {testing::conv_load(square), testing::conv_load(strided)}; }
  static World::Options options() {
    World::Options options;
    options.most_elements = 4096;
    options.weights.assign(catalog().size(), 1.0);
    options.choices = {choices()};
    return options;
  }

  void try_step(Rng& rng) {
    const int primitive = static_cast<int>(rng.below(catalog().size()));
    GrownStep step{};
    Operands shapes{no_id, no_id};
    for (int i = 0; i < catalog()[static_cast<std::size_t>(primitive)]->operands; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::size_t tensor = rng.chance(0.6) ? shapes_.size() - 1 : rng.below(shapes_.size());
      step.operands[at] = static_cast<std::int16_t>(tensor);
      shapes[at] = shapes_[tensor];
    }
    const MoveTable table = world_.table(primitive, shapes, open_);
    if (table.ways == 0) return;
    const DrawnMove drawn = world_.draw(table, rng);
    if (!world_.offer(table, drawn).substitutions.empty()) return;
    step.written = world_.resolve(primitive, shapes, table, drawn, 0);
    const Move& move = world_.move(step.written.move);
    if (!move.legal()) return;
    open_ = std::max(open_, static_cast<int>(move.open_symbols));
    steps_.push_back(step);
    shapes_.push_back(move.result);
  }

  /// What the last step needs, numbered anew.
  [[nodiscard]] std::vector<GrownStep> needed() const {
    std::vector<bool> needs(steps_.size() + 1, false);
    needs.back() = true;
    for (std::size_t i = steps_.size(); i-- > 0;)
      for (const std::int16_t operand : steps_[i].operands)
        if (needs[i + 1] && operand >= 0) needs[static_cast<std::size_t>(operand)] = true;
    std::vector<std::int16_t> number(needs.size(), 0);
    std::vector<GrownStep> kept;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!needs[i + 1]) continue;
      kept.push_back(steps_[i]);
      number[i + 1] = static_cast<std::int16_t>(kept.size());
      for (std::int16_t& operand : kept.back().operands)
        if (operand >= 0) operand = number[static_cast<std::size_t>(operand)];
    }
    return kept;
  }

  World world_;
  std::vector<GrownStep> steps_;
  std::vector<ShapeId> shapes_;
  int open_ = 0;
};

std::string trace(const Kernel& kernel, std::uint64_t index) {
  return fmt::format("seed {} draw {}:\n{}", seed, index, str(kernel));
}

/// Flattened sides of a matrix depend on the order of axes, which a world does not keep.
bool orders_matter(const Kernel& kernel) {
  return std::ranges::any_of(kernel.steps, [](const Step& step) { return step.primitive->name == "matmul"; });
}

std::vector<double> values(const Kernel& kernel, const std::vector<int>& streams, const Site& site) {
  const Evaluated evaluated(kernel, site, 1);
  if (!evaluated.possible()) return {};
  return evaluated.by_kind(evaluated.run(evaluated.draw(seed, streams)));
}

TEST(NormalFormLaws, ExactRulesKeepTheValuesOfEveryKernelWithItsWeights) {
  Drawn drawn;
  RewriteCounts fired{};
  int changed = 0;
  constexpr int wanted = 3000;
  for (std::uint64_t index = 0; index < wanted; ++index) {
    const auto steps = drawn.steps(index, 8);
    const Kernel kernel = to_kernel(drawn.world(), 0, steps);
    SCOPED_TRACE(trace(kernel, index));
    const Normalised normal = normalise(kernel, sites(), false);
    for (std::size_t i = 0; i < fired.size(); ++i) fired[i] += normal.fired[i];
    if (normal.kernel.steps == kernel.steps) continue;
    ++changed;
    const Site& site = index % 2 == 0 ? square : strided;
    const auto before = values(kernel, testing::in_order(kernel.steps.size()), site);
    const auto after = values(normal.kernel, normal.sources, site);
    // Exponentials of exponentials overflow, in both alike or not at all.
    if (!std::ranges::all_of(before, [](double v) { return std::isfinite(v); })) continue;
    ASSERT_LE(testing::difference(after, before), 1e-9) << "normal form:\n" << str(normal.kernel);
  }
  std::cout << "seed " << seed << ", " << changed << " of " << wanted << " kernels changed\n";
  EXPECT_GE(changed, wanted / 5);
  for (int i = 0; i < rewrite_count; ++i) {
    const RewriteRule& rule = rewrite_rule(static_cast<Rewrite>(i));
    std::cout << "  " << rule.name << ": " << fired[static_cast<std::size_t>(i)] << '\n';
  }
}

/// Kernels whose result depends linearly on each step's weights: what one form computes with random weights the other
/// reaches with some.
TEST(NormalFormLaws, RulesOfFamiliesLoseAndAddNoFunction) {
  Drawn drawn;
  NormalFormer former(drawn.world());
  RewriteCounts fired{};
  int compared = 0;
  for (std::uint64_t index = 0; index < 30'000; ++index) {
    const auto steps = drawn.steps(index, 4);
    const auto all_linear = [&] {
      return std::ranges::all_of(steps,
                                 [&](const GrownStep& s) { return former.facts(s.written.move).is(Trait::linear); });
    };
    if (!all_linear()) continue;
    const Kernel kernel = to_kernel(drawn.world(), 0, steps);
    const Normalised normal = normalise(kernel, sites(), true);
    if (normal.kernel.steps.size() == kernel.steps.size() || normal.fired == normalise(kernel, sites(), false).fired)
      continue;
    SCOPED_TRACE(trace(kernel, index) + "normal form:\n" + str(normal.kernel));
    const Evaluated one(kernel, square, 1);
    if (!one.possible() || normal.kernel.steps.empty()) continue;
    std::int64_t most = 0;
    for (const auto& [step, count] : testing::weight_counts(one)) most = std::max(most, count);
    const std::int64_t batch =
        2 + 2 * most / elements(one.graph().tensors[static_cast<std::size_t>(one.graph().output)]);
    if (most > 100 || batch > 8) continue;
    ++compared;
    // What is in both forms has the same weights.
    const Evaluated before(kernel, square, batch);
    const Evaluated after(normal.kernel, square, batch);
    const auto numbers = testing::in_order(kernel.steps.size());
    const auto value_before = before.by_kind(before.run(before.draw(seed, numbers)));
    const auto value_after = after.by_kind(after.run(after.draw(seed, normal.sources)));
    if (testing::largest(value_before) < 1e-6) continue;
    ASSERT_LE(testing::distance(before, seed, numbers, value_after), 1e-6);
    ASSERT_LE(testing::distance(after, seed, normal.sources, value_before), 1e-6);
    for (std::size_t i = 0; i < fired.size(); ++i) fired[i] += normal.fired[i];
  }
  std::cout << "seed " << seed << ", " << compared << " kernels compared\n";
  EXPECT_GE(compared, 100);
  for (const Rewrite rule :
       {Rewrite::scale_before_weights, Rewrite::scale_after_weights, Rewrite::permutation_before_weights,
        Rewrite::permutation_after_weights, Rewrite::wide_dense_pair})
    EXPECT_GT(fired[static_cast<std::size_t>(rule)], 0) << rewrite_rule(rule).name;
}

TEST(NormalFormLaws, NormalisingTwiceChangesNothingAndKeepsTheIdentity) {
  std::cout << "seed " << seed << '\n';
  Drawn drawn;
  for (std::uint64_t index = 0; index < 4000; ++index) {
    const Kernel kernel = to_kernel(drawn.world(), 0, drawn.steps(index, 12));
    SCOPED_TRACE(trace(kernel, index));
    for (const bool families : {false, true}) {
      const Kernel once = normalise(kernel, sites(), families).kernel;
      ASSERT_EQ(str(normalise(once, sites(), families).kernel), str(once));
      ASSERT_EQ(identity(once, sites(), families), identity(kernel, sites(), families)) << str(once);
    }
  }
}

TEST(NormalFormLaws, AWorldAndATextGiveTheSameIdentity) {
  std::cout << "seed " << seed << '\n';
  Drawn drawn;
  NormalFormer former(drawn.world());
  int compared = 0;
  for (std::uint64_t index = 0; index < 4000; ++index) {
    const auto steps = drawn.steps(index, 12);
    const Kernel kernel = to_kernel(drawn.world(), 0, steps);
    if (orders_matter(kernel)) continue;
    ++compared;
    ASSERT_EQ(former.identity(steps), identity(kernel, sites())) << trace(kernel, index);
  }
  EXPECT_GE(compared, 2000);
}

/// The same kernel written in another way: steps in another order, other names for free symbols, operands that may be
/// exchanged exchanged.
Kernel rewritten(const Kernel& kernel, Rng& rng) {
  const std::size_t count = kernel.steps.size();
  std::vector<int> number(count + 1, -1);
  number[0] = 0;
  Kernel other = kernel;
  other.steps.clear();
  while (other.steps.size() < count) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < count; ++i)
      if (number[i + 1] < 0 &&
          std::ranges::all_of(
              kernel.steps[i].operands, [&](int operand) { return number[static_cast<std::size_t>(operand)] >= 0; }))
        ready.push_back(i);
    const std::size_t next = rng.pick(ready);
    other.steps.push_back(kernel.steps[next]);
    for (int& operand : other.steps.back().operands) operand = number[static_cast<std::size_t>(operand)];
    number[next + 1] = static_cast<int>(other.steps.size());
  }
  other.output = number[static_cast<std::size_t>(kernel.output)];
  // x0, x1, x2 -> x3, x4, x5 -> a permutation of x0, x1, x2.
  const auto first = static_cast<int>(rng.below(3));
  const int step = rng.chance(0.5) ? 1 : 2;
  for (int i = 0; i < 3; ++i) substitute(other, {free_symbol(i), Size(free_symbol(i + 3))});
  for (int i = 0; i < 3; ++i) substitute(other, {free_symbol(i + 3), Size(free_symbol((first + step * i) % 3))});
  return other;
}

TEST(NormalFormLaws, OrderAndNamesDoNotMatter) {
  std::cout << "seed " << seed << '\n';
  Drawn drawn;
  Rng rng(seed, 1);
  for (std::uint64_t index = 0; index < 6000; ++index) {
    const Kernel kernel = to_kernel(drawn.world(), 0, drawn.steps(index, 15));
    const Kernel other = rewritten(kernel, rng);
    ASSERT_EQ(identity(other, sites()), identity(kernel, sites())) << trace(kernel, index) << "against\n" << str(other);
  }
}

/// A second copy of a step without weights, for one of its readers.
Kernel with_twin(const Kernel& kernel, std::size_t step, Rng& rng) {
  const int old = static_cast<int>(step) + 1;
  Kernel other = kernel;
  other.steps.insert(other.steps.begin() + old, kernel.steps[step]);
  bool turned = false;
  for (std::size_t i = static_cast<std::size_t>(old) + 1; i < other.steps.size(); ++i) {
    for (int& operand : other.steps[i].operands) {
      if (operand > old) {
        ++operand;
      } else if (operand == old && !turned && rng.chance(0.7)) {
        operand = old + 1;
        turned = true;
      }
    }
  }
  if (other.output > old) ++other.output;
  return other;
}

/// Puts steps that undo each other, or do nothing more, behind a tensor.
Kernel padded(const Kernel& kernel, Rng& rng) {
  if (const std::size_t step = rng.below(kernel.steps.size());
      rng.chance(0.3) && !kernel.steps[step].primitive->weighted)
    return with_twin(kernel, step, rng);
  const auto shapes = infer_shapes(kernel, sites()).value();
  const auto tensor = static_cast<int>(rng.below(shapes.size()));
  const Shape& shape = shapes[static_cast<std::size_t>(tensor)];
  const auto has = [&](AxisKind kind) { return find_axis(shape, kind) >= 0; };
  const bool even = has(AxisKind::channel) && sites().whole(extent_of(shape, AxisKind::channel) / Size(2)) &&
                    !extent_of(shape, AxisKind::channel).has_free();
  std::vector<std::vector<std::string>> possible{{"neg(x)", "neg(x)"}};
  if (even && !has(AxisKind::group)) possible.push_back({"group(x, by=2)", "merge(x)"});
  if (even) possible.push_back({"shift(x, axes=c, by=1, fill=wrap)", "shift(x, axes=c, by=-1, fill=wrap)"});
  if (has(AxisKind::group) && has(AxisKind::channel)) possible.push_back({"transpose(x)", "transpose(x)"});
  if (tensor > 0)
    for (const char* name : {"relu", "abs"})
      if (kernel.steps[static_cast<std::size_t>(tensor) - 1].primitive->name == name)
        possible.push_back({std::string(name) + "(x)"});
  Kernel other = kernel;
  other.steps.resize(static_cast<std::size_t>(tensor));
  int last = tensor;
  for (const std::string& text : rng.pick(possible)) {
    Step step = parse_kernel("kernel k\na = " + text + "\nreturn a\n", catalog()).steps[0];
    step.operands = {last};
    other.steps.push_back(std::move(step));
    last = static_cast<int>(other.steps.size());
  }
  const auto moved = [&](int operand) {
    return operand < tensor ? operand : operand == tensor ? last : operand + last - tensor;
  };
  for (std::size_t i = static_cast<std::size_t>(tensor); i < kernel.steps.size(); ++i) {
    other.steps.push_back(kernel.steps[i]);
    for (int& operand : other.steps.back().operands) operand = moved(operand);
  }
  other.output = moved(kernel.output);
  return other;
}

TEST(NormalFormLaws, StepsThatUndoEachOtherDoNotMatter) {
  std::cout << "seed " << seed << '\n';
  Drawn drawn;
  Rng rng(seed, 2);
  for (std::uint64_t index = 0; index < 4000; ++index) {
    const Kernel kernel = to_kernel(drawn.world(), 0, drawn.steps(index, 10));
    const Kernel other = padded(kernel, rng);
    ASSERT_EQ(identity(other, sites()), identity(kernel, sites())) << trace(kernel, index) << "against\n" << str(other);
  }
}

/// Symbols by their first appearance, so that kernels of one normal form have one text.
Kernel with_symbols_in_order(Kernel kernel) {
  std::vector<Symbol> met;
  const auto meet = [&](const Size& size) {
    for (int i = 0; i < free_symbol_count; ++i)
      if (size.has(free_symbol(i)) && std::ranges::find(met, free_symbol(i)) == met.end())
        met.push_back(free_symbol(i));
  };
  for (const Step& step : kernel.steps) {
    for (const Argument& argument : step.arguments) {
      if (const auto* size = std::get_if<Size>(&argument)) meet(*size);
      if (const auto* shape = std::get_if<Shape>(&argument))
        for (const Axis& axis : *shape) meet(axis.extent);
    }
  }
  for (std::size_t i = 0; i < met.size(); ++i) substitute(kernel, {met[i], Size(free_symbol(static_cast<int>(i) + 3))});
  for (int i = 0; i < 3; ++i) substitute(kernel, {free_symbol(i + 3), Size(free_symbol(i))});
  return kernel;
}

/// Weights by their number in the normal form: kernels that meet compute the same.
TEST(NormalFormLaws, KernelsThatMeetByExactRulesComputeTheSame) {
  Drawn drawn;
  std::map<Identity, Kernel> seen;
  int met = 0;
  for (std::uint64_t index = 0; index < 12'000; ++index) {
    const Kernel kernel =
        with_symbols_in_order(normalise(to_kernel(drawn.world(), 0, drawn.steps(index, 4)), sites(), false).kernel);
    const auto [found, fresh] = seen.emplace(identity(kernel, sites(), false), kernel);
    if (fresh || found->second.steps == kernel.steps) continue;
    ++met;
    const auto weights = [](const Kernel& of) {
      std::vector<int> streams;
      int next = 0;
      for (const Step& step : of.steps) streams.push_back(step.primitive->weighted ? next++ : 0);
      return streams;
    };
    for (const Site& site : {square, strided}) {
      const auto wanted = values(found->second, weights(found->second), site);
      if (!std::ranges::all_of(wanted, [](double v) { return std::isfinite(v); })) continue;
      ASSERT_LE(testing::difference(values(kernel, weights(kernel), site), wanted), 1e-9)
          << trace(kernel, index) << "against\n"
          << str(found->second);
    }
  }
  std::cout << "seed " << seed << ", " << met << " kernels met another text\n";
  EXPECT_GE(met, 20);
}

}  // namespace
}  // namespace kasimir
