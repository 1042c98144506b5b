// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/files.h"
#include "kasimir/codegen/network_c.h"
#include "kasimir/codegen/tune.h"
#include "kasimir/codegen/work.h"
#include "kasimir/network/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir {
namespace {

NetworkC small_network(std::int64_t batch, const COptions& options = {}) {
  const Network network = zoo_network("resnet8");
  const NetworkPlan plan{&network, {}};
  return network_as_c(plan, batch, random_weights(plan, 1), options).value();
}

/// The nests between which a tensor holds something, itself included.
std::pair<int, int> life(const NestProgram& program, int tensor) {
  std::pair<int, int> found{tensor == program.input ? 0 : -1, -1};
  for (int i = 0; i < static_cast<int>(program.run.size()); ++i) {
    const Nest& nest = program.run[static_cast<std::size_t>(i)];
    if (nest.out == tensor) found.first = i;
    bool reads = nest.out == tensor;
    for_each_read(nest, [&](const BoundRead& read) { reads = reads || read.tensor == tensor; });
    if (reads) found.second = i;
  }
  if (tensor == program.output) found.second = static_cast<int>(program.run.size());
  return found;
}

TEST(CProgram, GivesTensorsThatLiveTogetherMemoryOfTheirOwn) {
  for (const ZooRecord& record : zoo()) {
    const Network network = record.build(record.defaults);
    const NetworkPlan plan{&network, {}};
    for (std::int64_t batch : {1, 8}) {
      const NetworkC made = network_as_c(plan, batch, random_weights(plan, 1), {}).value();
      const NestProgram& program = made.made.program;
      const MemoryPlan memory = plan_memory(program, {});
      const auto count = static_cast<int>(program.tensors.size());
      for (int a = 0; a < count; ++a)
        for (int b = a + 1; b < count; ++b) {
          const auto place_a = memory.place[static_cast<std::size_t>(a)];
          const auto place_b = memory.place[static_cast<std::size_t>(b)];
          if (place_a < 0 || place_b < 0) continue;
          const auto life_a = life(program, a);
          const auto life_b = life(program, b);
          if (life_a.second < life_b.first || life_b.second < life_a.first) continue;
          const bool apart = place_a + memory.layouts[static_cast<std::size_t>(a)].size <= place_b ||
                             place_b + memory.layouts[static_cast<std::size_t>(b)].size <= place_a;
          EXPECT_TRUE(apart) << record.name << ": " << program.tensors[static_cast<std::size_t>(a)].name << ", "
                             << program.tensors[static_cast<std::size_t>(b)].name;
        }
    }
  }
}

TEST(CProgram, MethodsReadWhatTheyPrint) {
  for (const auto& methods : tuning_candidates(small_network(4).made.program, {16, 32}))
    for (const Method& method : methods) EXPECT_EQ(parse_method(str(method)), method) << str(method);
  EXPECT_FALSE(parse_method("winograd").has_value());
  EXPECT_FALSE(parse_method("").has_value());
}

TEST(CProgram, OffersWinogradForThreeByThreeWindowsOfStrideOneOnly) {
  const NetworkC made = small_network(1);
  const NestProgram& program = made.made.program;
  const auto possible = possible_methods(program, {16, 32});
  int offered = 0;
  for (std::size_t i = 0; i < possible.size(); ++i) {
    const auto winograd = std::ranges::count_if(
        possible[i], [](const Method& method) { return std::holds_alternative<WinogradBlock>(method); });
    offered += static_cast<int>(winograd);
    const Nest& nest = program.run[i];
    for_each_read(nest, [&](const BoundRead& read) {
      for (const BoundCoord& coord : read.at)
        for (const auto& [loop, factor] : coord.terms) {
          const bool strided = nest.loops[static_cast<std::size_t>(loop)].kind == AxisKind::height && factor != 1;
          EXPECT_FALSE(strided && winograd > 0) << str(program, nest);
        }
    });
  }
  // resnet8: the stem and five convolutions of stride 1, each with F(2x2) and F(4x4).
  EXPECT_EQ(offered, 2 * 5);
}

TEST(CProgram, CountsFewerMultiplicationsWhereWinogradIsUsed) {
  const CTarget target{16, 32};
  COptions options;
  options.target = target;
  const NetworkC made = small_network(32, options);
  const Multiplications counts = count_multiplications(made.made.program, made.made.c.methods, target);
  const Network network = zoo_network("resnet8");
  EXPECT_EQ(counts.nominal, 32.0 * static_cast<double>(network.cost().macs));
  EXPECT_LT(counts.executed, 0.6 * counts.nominal);
}

TEST(CProgram, NamesEveryWeightInItsHeader) {
  const NetworkC made = small_network(1);
  const Network network = zoo_network("resnet8");
  for (const NamedTensor& tensor : random_weights({&network, {}}, 1))
    EXPECT_NE(made.made.c.header.find(tensor.name + " ["), std::string::npos) << tensor.name;
}

TEST(TuningCache, KeepsWhatWasMeasuredAndWhatOthersWrote) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache" / "tuning.txt";
  TuningCache mine(path);
  TuningCache theirs(path);
  mine.keep("a nest", RegisterBlock{1, 8, 2});
  mine.save();
  theirs.keep("another", WinogradBlock{4, 16, 8, 2});
  theirs.save();
  const TuningCache both(path);
  EXPECT_EQ(both.find("a nest"), Method(RegisterBlock{1, 8, 2}));
  EXPECT_EQ(both.find("another"), Method(WinogradBlock{4, 16, 8, 2}));
  EXPECT_FALSE(both.find("a third").has_value());
}

TEST(TuningCache, MeasuresAgainWhatItCannotRead) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tuning.txt";
  write_file(path, "direct 1x8x2\tgood\nnonsense\tbad\nno tab\n");
  const TuningCache cache(path);
  EXPECT_TRUE(cache.find("good").has_value());
  EXPECT_FALSE(cache.find("bad").has_value());
}

TEST(Tune, MeasuresOnceAndThenRemembers) {
  NetworkBuilder net("tiny", {16, 8, 8});
  const int conv = net.add("conv", layer::Conv{.out = 16, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, {0});
  net.add("out", layer::Linear{.out = 4}, {net.add("pool", layer::GlobalAvgPool{}, {conv})});
  const Network network = std::move(net).finish();
  const NetworkPlan plan{&network, {}};
  COptions options;
  options.target = host_target();
  const NetworkC made = network_as_c(plan, 1, random_weights(plan, 1), options).value();
  TuningCache cache;
  TuneOptions how;
  how.native.flags = {"-std=gnu11", "-O1", "-march=native"};
  const auto first = tune(made.made.program, options, made.weights, cache, how);
  ASSERT_TRUE(first.ok()) << first.rejection().str();
  EXPECT_GE(first->measured, 1);
  const auto candidates = tuning_candidates(made.made.program, options.target);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    EXPECT_NE(std::ranges::find(candidates[i], first->methods[i]), candidates[i].end());
  const auto again = tune(made.made.program, options, made.weights, cache, how);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->measured, 0);
  EXPECT_EQ(again->methods, first->methods);
}

}  // namespace
}  // namespace kasimir
