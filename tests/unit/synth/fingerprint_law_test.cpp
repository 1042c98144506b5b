// SPDX-License-Identifier: Apache-2.0
// Fingerprints against the interpreter, which knows nothing of programs, tables or vectors.
#include "kasimir/interp/fingerprint.h"

#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/moves.h"
#include "kasimir/synth/normal_form.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <iostream>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 20251201;
constexpr std::int64_t most_points = 200'000;  // of all stages: the interpreter is slow

using Elements = std::vector<std::uint32_t>;

Elements with_room(Elements values) {
  values.resize(field_room(values.size()));
  return values;
}

/// The output by the interpreter alone, weights tied as fingerprint() ties them. Programs, with tables that all kernels
/// share, must give the same at every stage.
class Reference {
 public:
  Elements output(const BoundGraph& training) {
    const BoundGraph graph = freeze(training);
    TensorValues<std::uint32_t> values(graph.tensors.size());
    std::uint64_t inputs = 0;
    for (std::size_t t = 0; t < values.size(); ++t)
      if (graph.tensors[t].role == Role::input)
        values[t] = filled(input_seed(fingerprint_seed, inputs++), graph.tensors[t]);
    FieldDomain domain;
    WeightTies ties(fingerprint_seed);
    for (const BoundStage& stage : graph.stages) {
      const FieldProgram program(graph, stage, tables_);
      std::vector<Elements> operands;
      for (const int tensor : program.reads()) operands.push_back(with_room(values[static_cast<std::size_t>(tensor)]));
      const std::uint64_t hash = program.hash_operands(pointers(operands));
      for (std::size_t i = 0; i < program.weights().size(); ++i) {
        const std::size_t operand = program.weights()[i].operand;
        const auto tensor = static_cast<std::size_t>(program.reads()[operand]);
        if (!values[tensor].empty()) continue;
        values[tensor] = filled(ties.draw(program, i, hash), graph.tensors[tensor]);
        operands[operand] = with_room(values[tensor]);
      }
      evaluate_stage(graph, stage, domain, values);
      Elements by_program(field_room(program.size()));
      program.run(pointers(operands), by_program.data(), scratch_);
      by_program.resize(program.size());
      EXPECT_EQ(by_program, values[static_cast<std::size_t>(stage.out)]) << str(graph, stage);
    }
    return values[static_cast<std::size_t>(graph.output)];
  }

 private:
  static std::vector<const std::uint32_t*> pointers(const std::vector<Elements>& arrays) {
    std::vector<const std::uint32_t*> all;
    for (const Elements& array : arrays) all.push_back(array.data());
    return all;
  }
  static Elements filled(std::uint64_t from, const BoundTensor& tensor) {
    const auto size = static_cast<std::size_t>(elements(tensor));
    Elements values(field_room(size));
    fill_values(from, values.data(), size);
    values.resize(size);
    return values;
  }

  FieldTables tables_;
  FieldScratch scratch_;
};

/// A kernel at a small site, evaluated both ways.
struct Seen {
  Elements output;
  Fingerprint print;
};

std::optional<Seen> look_at(const Kernel& kernel, Reference& reference) {
  const auto graph = at_small_site(kernel);
  if (!graph.ok()) return std::nullopt;
  std::int64_t points = 0;
  for (const BoundStage& stage : graph->stages) points += domain(stage);
  if (points > most_points) return std::nullopt;
  return Seen{reference.output(*graph), fingerprint(*graph, fingerprint_seed)};
}

TEST(FingerprintLaw, EqualExactlyWhereTheInterpretersValuesAre) {
  constexpr std::uint64_t kernels = 1500;
  std::cout << "seed " << seed << "\n";
  SampleOptions options;
  options.limits.min_primitives = 1;
  options.limits.max_primitives = 7;
  options.limits.local_rules = false;
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  std::vector<Site> places;
  for (const SiteLoad& load : sampler.sites()) places.push_back(load.site);
  SampleMemory memory(sampler);
  Reference reference;
  std::size_t equal = 0;
  std::size_t unequal = 0;
  const auto judge = [&](const std::optional<Seen>& one, const std::optional<Seen>& other, const std::string& text) {
    if (!one || !other) return;
    const bool same = one->output == other->output;
    EXPECT_EQ(one->print == other->print, same) << text;
    ++(same ? equal : unequal);
  };
  std::optional<Seen> before;
  for (std::uint64_t i = 0; i < kernels; ++i) {
    if (sampler.draw(i, memory)) continue;
    const Kernel kernel = sampler.kernel(memory);
    const auto seen = look_at(kernel, reference);
    judge(seen, before, str(kernel));
    before = seen;
    const Kernel normal = normalise(kernel, SiteSet(places, kernel.choices), false).kernel;
    judge(seen, look_at(normal, reference), str(kernel) + str(normal));
    if (!mutate(sampler, kernel, i, memory).ok()) continue;
    const Kernel mutant = sampler.kernel(memory);
    judge(seen, look_at(mutant, reference), str(kernel) + str(mutant));
  }
  EXPECT_GT(equal, kernels / 2);
  EXPECT_GT(unequal, kernels);
  std::cout << equal << " equal and " << unequal << " unequal pairs\n";
}

/// By normal form and by what they compute.
TEST(FingerprintLaw, TheHardListNeverMeets) {
  const std::vector<std::pair<const char*, const char*>> pairs{
      {"  a = relu(x)\n  b = linear(x, to=Ci)\n  c = broadcast(a, b, op=sub)\n  d = linear(c, to=Co)\nreturn d\n",
       "  a = relu(x)\n  b = linear(x, to=Ci)\n  c = broadcast(b, a, op=sub)\n  d = linear(c, to=Co)\nreturn d\n"},
      {"  a = matmul(x, x, left=positions, right=positions)\n  b = matmul(a, x, left=token, right=channels)\n"
       "  c = linear(b, to=Co)\nreturn c\n",
       "  a = matmul(x, x, left=positions, right=positions, softmax=yes)\n"
       "  b = matmul(a, x, left=token, right=channels)\n  c = linear(b, to=Co)\nreturn c\n"},
      {"  a = linear(x, to=Co)\n  b = broadcast(a, a, op=mul)\nreturn b\n",
       "  a = linear(x, to=Co)\n  b = linear(x, to=Co)\n  c = broadcast(a, b, op=mul)\nreturn c\n"},
      {"  a = linear(x, to=Co)\n  b = hardswish(a)\nreturn b\n", "  a = linear(x, to=Co)\nreturn a\n"},
      {"  a = mix(x, over=c, to=(u=3))\n  b = fold(a, axes=u)\n  c = broadcast(b, x)\n  d = linear(c, to=Co)\nreturn "
       "d\n",
       "  a = mix(x, over=c, to=(u=5))\n  b = fold(a, axes=u)\n  c = broadcast(b, x)\n  d = linear(c, to=Co)\nreturn "
       "d\n"}};
  const SiteSet sites({{16, 16, 8, 6, 1}, {32, 32, 4, 6, 1}}, {});
  Reference reference;
  for (const auto& [one, other] : pairs) {
    const Kernel a = parse_kernel(std::string("kernel a\n") + one, catalog());
    const Kernel b = parse_kernel(std::string("kernel b\n") + other, catalog());
    EXPECT_NE(identity(a, sites), identity(b, sites)) << one << other;
    const auto graph_a = lower_at(a, {8, 8, 5, 6, 1}, 1);
    const auto graph_b = lower_at(b, {8, 8, 5, 6, 1}, 1);
    ASSERT_TRUE(graph_a.ok()) << graph_a.rejection().str();
    ASSERT_TRUE(graph_b.ok()) << graph_b.rejection().str();
    EXPECT_NE(reference.output(*graph_a), reference.output(*graph_b)) << one << other;
    EXPECT_NE(fingerprint(*graph_a, fingerprint_seed), fingerprint(*graph_b, fingerprint_seed)) << one << other;
  }
}

}  // namespace
}  // namespace kasimir
