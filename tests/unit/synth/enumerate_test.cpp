// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/enumerate.h"

#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/replay.h"
#include "kasimir/synth/sampler.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <iostream>
#include <set>

namespace kasimir {
namespace {

/// A world of one site and one choice in which only these primitives are drawn; all of them if there are none.
World world_at(const Site& site, const std::vector<std::string>& allowed = {}) {
  World::Options options;
  for (const Primitive* primitive : catalog())
    options.weights.push_back(
        allowed.empty() || std::ranges::find(allowed, primitive->name) != allowed.end() ? primitive->weight : 0.0);
  options.choices = {Binding().set(Symbol::g, 4).set(Symbol::r, 2)};
  const std::vector<SiteLoad> loads{testing::conv_load(site)};
  return {catalog(), loads, options};
}

// --- brute force --------------------------------------------------------------------------------------------------

/// What some kernels that are grown without any cleverness compute: with the rules of primitives, on symbolic shapes.
class BruteForce {
 public:
  BruteForce(const Site& site, World& world)
      : world_(&world), semantics_(world), open_({site}, {}), sites_({site}, world.options().choices.front()) {}

  void grow(const Kernel& kernel, int left) {
    if (left == 0) {
      judge(kernel);
      return;
    }
    const auto shapes = infer_shapes(kernel, sites_).value();
    const int tensors = static_cast<int>(shapes.size());
    for (std::size_t p = 0; p < catalog().size(); ++p) {
      const Primitive& primitive = *catalog()[p];
      if (world_->options().weights[p] <= 0.0) continue;
      for (int a = 0; a < tensors; ++a)
        for (int b = 0; b < (primitive.operands == 2 ? tensors : 1); ++b)
          if (primitive.operands == 1 || a != b) apply(kernel, shapes, primitive, {a, b}, left);
    }
  }

  [[nodiscard]] const std::set<Fingerprint>& functions() const { return functions_; }
  [[nodiscard]] int legal() const { return legal_; }

 private:
  void apply(const Kernel& kernel, const std::vector<Shape>& shapes, const Primitive& primitive,
             const std::array<int, 2>& operands, int left) {
    std::vector<const Shape*> read;
    for (int i = 0; i < primitive.operands; ++i)
      read.push_back(&shapes[static_cast<std::size_t>(operands[static_cast<std::size_t>(i)])]);
    for (const bool closing : {false, true}) {
      if (closing && primitive.closing_weight <= 0.0) continue;
      Proposer proposer(read, open_);
      proposer.closing = closing;
      const auto used = kernel.free_symbols();
      proposer.open_symbols = used;
      proposer.fresh_symbol = free_symbol(static_cast<int>(used.size()));
      const auto offers = primitive.offers(proposer);
      if (!offers.ok()) continue;
      for (const Offer& offer : *offers) {
        any_combination(offer, [&](const std::vector<Argument>& arguments) {
          Kernel next = kernel;
          next.steps.push_back({&primitive, {operands.begin(), operands.begin() + primitive.operands}, arguments});
          next.output = static_cast<int>(next.steps.size());
          for (const Substitution& by : offer.substitutions) substitute(next, by);
          if (infer_shapes(next, sites_).ok()) grow(next, left - 1);
          return false;
        });
      }
    }
  }

  /// Legal by the stages means legal in the world, too.
  void judge(const Kernel& kernel) {
    const auto graph = lower(kernel, sites_);
    if (!graph.ok() || !independent_of_resolution(*graph)) return;
    ++legal_;
    int choice = -1;
    const auto steps = replay(*world_, kernel, &choice);
    ASSERT_TRUE(steps.ok()) << steps.rejection().str() << "\n" << str(kernel);
    const auto function = semantics_.fingerprint(*steps, open_symbols(*world_, *steps));
    ASSERT_TRUE(function.has_value()) << str(kernel);
    functions_.insert(*function);
  }

  World* world_;
  Semantics semantics_;
  SiteSet open_, sites_;
  std::set<Fingerprint> functions_;
  int legal_ = 0;
};

Kernel nothing(const World& world) {
  Kernel kernel;
  kernel.name = "k";
  kernel.choices = world.options().choices.front();
  return kernel;
}

struct Case {
  std::string name;
  Site site;
  int most;
  std::vector<std::string> primitives;  ///< none: all
};

class Against : public ::testing::TestWithParam<Case> {};

/// By fingerprints only; and every kernel of brute force replays.
TEST_P(Against, BruteForceEnumerationIsTheSame) {
  World world = world_at(GetParam().site, GetParam().primitives);
  Enumeration enumeration(world, {.local_rules = false, .forms = false});
  BruteForce brute(GetParam().site, world);
  std::set<Fingerprint> functions;
  for (int n = 1; n <= GetParam().most; ++n) {
    brute.grow(nothing(world), n);
    const LengthCounts counts =
        enumeration.list(n, [&](const EnumeratedKernel& kernel) { functions.insert(kernel.fingerprint.value()); });
    std::cout << n << " primitives: " << brute.legal() << " kernels by brute force so far, " << counts.grown
              << " enumerated, " << counts.distinct << " new functions\n";
    EXPECT_EQ(counts.distinct + counts.same_function, counts.grown);
    EXPECT_EQ(functions.size(), brute.functions().size());
    EXPECT_EQ(functions, brute.functions());
  }
  EXPECT_GT(functions.size(), 20U);
}

INSTANTIATE_TEST_SUITE_P(
    Sites, Against,
    ::testing::Values(Case{"all", {8, 8, 3, 4, 1}, 2, {}}, Case{"strided", {16, 8, 2, 3, 2}, 2, {}},
                      Case{"gates", {8, 8, 3, 4, 1}, 3, {"linear", "fold", "sigmoid", "broadcast"}},
                      Case{"widths", {16, 8, 2, 3, 2}, 3, {"linear", "concat", "group", "merge", "stride", "mix"}},
                      Case{"signs", {8, 8, 3, 4, 1}, 3, {"abs", "neg", "relu", "square", "sqrt", "exp", "sin"}},
                      Case{"curves", {8, 8, 3, 4, 1}, 3, {"gelu", "hardswish", "tanh", "norm", "scale"}},
                      Case{"products", {8, 8, 3, 4, 1}, 3, {"softmax", "matmul", "transpose"}},
                      Case{"windows", {8, 8, 2, 3, 2}, 3, {"pool", "unfold", "shuffle", "linear", "relu"}},
                      Case{"shifts", {8, 8, 3, 4, 1}, 3, {"shift"}}),
    [](const auto& one) { return one.param.name; });

/// Forms and local rules only take away: what is left computes nothing new, and each kernel is legal.
TEST(Enumeration, GivesLegalKernelsThatGrowthCanDraw) {
  World world = world_at({8, 8, 3, 4, 1});
  Enumeration all(world, {.local_rules = false, .forms = false});
  Enumeration fewer(world, {});
  std::set<Fingerprint> functions;
  std::uint64_t kernels = 0;
  for (int n = 1; n <= 2; ++n) {
    all.list(n, [&](const EnumeratedKernel& kernel) { functions.insert(kernel.fingerprint.value()); });
    const LengthCounts counts = fewer.list(n, [&](const EnumeratedKernel& kernel) {
      EXPECT_TRUE(functions.contains(kernel.fingerprint.value()));
      ++kernels;
      const Kernel written = to_kernel(world, kernel.choice, kernel.steps);
      EXPECT_TRUE(lower(written, SiteSet(world.sites().sites(), written.choices)).ok()) << str(written);
      for (std::size_t k = 0; k < kernel.steps.size(); ++k)
        EXPECT_TRUE(offered(world, kernel.steps, k, kernel.choice)) << str(written) << "step " << k;
    });
    EXPECT_EQ(counts.grown, counts.idle + counts.same_form + counts.same_function + counts.distinct);
    EXPECT_EQ(counts.unidentified, 0U);
  }
  EXPECT_GT(kernels, 5000U);
}

/// Every step of every kernel up to three primitives of these parts of the catalog is drawn with some probability.
TEST(Enumeration, OfPartsUpToThreePrimitivesCanBeDrawn) {
  for (const auto& primitives :
       std::vector<std::vector<std::string>>{{"linear", "group", "merge", "shuffle", "fold", "broadcast"},
                                             {"linear", "softmax", "matmul", "transpose", "scale"},
                                             {"mix", "unfold", "linear", "relu", "concat", "norm"}}) {
    World world = world_at({8, 8, 6, 5, 1}, primitives);
    Enumeration enumeration(world, {});
    std::uint64_t kernels = 0;
    for (int n = 1; n <= 3; ++n)
      enumeration.list(n, [&](const EnumeratedKernel& kernel) {
        ++kernels;
        const Kernel written = to_kernel(world, kernel.choice, kernel.steps);
        for (std::size_t k = 0; k < kernel.steps.size(); ++k)
          EXPECT_TRUE(offered(world, kernel.steps, k, kernel.choice)) << str(written) << "step " << k;
      });
    std::cout << kernels << " kernels of up to 3 primitives of " << fmt::format("{}", fmt::join(primitives, ", "))
              << "\n";
    EXPECT_GT(kernels, 300U);
  }
}

/// All prefixes give the counts themselves; some of them, what is near.
TEST(Enumeration, EstimatesWhatItLists) {
  World world = world_at({16, 8, 2, 3, 2}, {"linear", "concat", "group", "merge", "stride", "mix"});
  const auto ignore = [](const EnumeratedKernel&) {};
  Enumeration enumeration(world, {});
  enumeration.list(1, ignore);
  enumeration.list(2, ignore);
  const LengthEstimate all = enumeration.estimate(3, 1'000'000, 1);
  std::vector<LengthEstimate> some;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) some.push_back(enumeration.estimate(3, all.prefixes / 3, seed));
  const LengthCounts counts = enumeration.list(3, ignore);
  EXPECT_EQ(all.sampled, all.prefixes);
  EXPECT_DOUBLE_EQ(all.grown, static_cast<double>(counts.grown));
  EXPECT_EQ(all.grown_error, 0.0);
  EXPECT_LE(all.least_distinct, static_cast<double>(counts.distinct));
  EXPECT_GE(all.most_distinct, static_cast<double>(counts.distinct));
  EXPECT_GT(all.least_distinct, 0.5 * static_cast<double>(counts.distinct));
  for (const LengthEstimate& one : some) {
    EXPECT_EQ(one.prefixes, all.prefixes);
    EXPECT_EQ(one.sampled, all.prefixes / 3);
    EXPECT_GT(one.grown_error, 0.0);
    EXPECT_NEAR(one.grown, all.grown, 4 * one.grown_error);
    EXPECT_NEAR(one.kept, all.kept, 4 * one.kept_error);
  }
  std::cout << counts.grown << " grown, " << counts.distinct << " distinct; estimated "
            << fmt::format("{:.0f} +- {:.0f}, {:.0f} to {:.0f}\n", some[0].grown, some[0].grown_error,
                           some[0].least_distinct, some[0].most_distinct);
}

/// Choices with the same values of the symbols that a kernel uses are listed once.
TEST(Enumeration, CountsAKernelWithoutChoiceSymbolsOnce) {
  const Site site{16, 16, 3, 4, 1};
  World one = world_at(site, {"linear"});
  World::Options options = one.options();
  options.choices.push_back(Binding().set(Symbol::g, 4).set(Symbol::r, 4));
  options.choices.push_back(Binding().set(Symbol::g, 2).set(Symbol::r, 4));
  const std::vector<SiteLoad> loads{testing::conv_load(site)};
  World three(catalog(), loads, options);
  const auto grown = [](World& world, int n) {
    return Enumeration(world, {}).list(n, [](const EnumeratedKernel&) {}).grown;
  };
  EXPECT_EQ(grown(one, 1), 1U);  // to=Co
  EXPECT_EQ(grown(three, 1), 1U);
  EXPECT_EQ(grown(one, 2), 3U);    // through Co, Co/2, x0
  EXPECT_EQ(grown(three, 2), 4U);  // and Co/4
}

// --- growth -------------------------------------------------------------------------------------------------------

/// Kernels of up to `most` of these primitives, without budgets, that growth never draws.
std::vector<Kernel> never_drawn(const Site& site, const std::vector<std::string>& primitives, int most) {
  constexpr std::uint64_t seed = 7;
  constexpr std::uint64_t attempts = 1'000'000;
  World world = world_at(site, primitives);
  NormalFormer former(world);
  std::map<Identity, Kernel> listed;
  Enumeration enumeration(world, {});
  for (int n = 1; n <= most; ++n)
    enumeration.list(n, [&](const EnumeratedKernel& kernel) {
      listed.emplace(former.identity(kernel.steps), to_kernel(world, kernel.choice, kernel.steps));
    });
  GrowthLimits limits;
  limits.min_primitives = 1;
  limits.max_primitives = most;
  const std::vector<SiteLoad> loads{testing::conv_load(site)};
  const CostLines lines(loads, Budget{{}, {}, {}}, world.lanes());
  Growth growth(world, limits, lines, former);
  std::set<Identity> drawn;
  for (std::uint64_t i = 0; i < attempts; ++i) {
    Rng rng(seed, i);
    if (growth.run(rng)) drawn.insert(former.identity(growth.steps()));
  }
  std::vector<Kernel> missing;
  for (const auto& [form, kernel] : listed)
    if (!drawn.contains(form)) missing.push_back(kernel);
  std::cout << "seed " << seed << ": " << listed.size() << " kernels listed, " << missing.size() << " never drawn\n";
  EXPECT_GE(listed.size(), 20U);
  return missing;
}

void expect_all_drawn(const std::vector<Kernel>& missing) {
  for (const Kernel& kernel : missing) ADD_FAILURE() << "never drawn:\n" << str(kernel);
}

/// A step may end in rows and columns without channels, which only a second operand completes.
TEST(Growth, DrawsEveryKernelOfGates) {
  expect_all_drawn(never_drawn({8, 8, 3, 4, 1}, {"linear", "fold", "sigmoid", "broadcast"}, 2));
}

/// A last step may join the only tensor left with an earlier one that has not the output's channels.
TEST(Growth, DrawsEveryKernelOfGroupsAndStrides) {
  expect_all_drawn(never_drawn({8, 16, 2, 3, 2}, {"linear", "group", "merge", "shuffle", "stride", "concat"}, 3));
}

}  // namespace
}  // namespace kasimir
