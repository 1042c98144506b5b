// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/successors.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "kasimir/synth/spectrum.h"
#include "support/thrown.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace kasimir {
namespace {

using testing::thrown_by;

constexpr std::uint64_t seed = 1;

TEST(Successors, ReadsWhatItWrites) {
  const auto parsed = parse_successors("# a hint\nunfold group 2\n\ninput conv 0.5  # half\n", catalog());
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(parsed[0], (Successor{"unfold", "group", 2.0}));
  EXPECT_EQ(parsed[1], (Successor{"input", "conv", 0.5}));
  EXPECT_EQ(str(parsed), "unfold group 2\ninput conv 0.5\n");
  EXPECT_EQ(parse_successors(str(parsed), catalog()), parsed);
}

TEST(Successors, NamesTheLineThatIsNotOne) {
  const auto message = [](const char* text) {
    return thrown_by([&] { static_cast<void>(parse_successors(text, catalog())); });
  };
  EXPECT_EQ(message("relu conv 1\nrelu conv"),
            "2: line 2 of the successors is `relu conv`; it must be PRODUCER CONSUMER WEIGHT, with a weight above 0");
  for (const char* text : {"relu conv 0", "relu conv -1", "relu conv nan", "relu conv inf", "relu conv 1x"})
    EXPECT_EQ(message(text),
              fmt::format("2: line 1 of the successors is `{}`; it must be PRODUCER CONSUMER WEIGHT, with "
                          "a weight above 0",
                          text));
  EXPECT_EQ(message("relu conv 1\nrelu conv 2"), "2: line 2 of the successors repeats `relu conv`");
  EXPECT_EQ(message("softmx conv 1"),
            "2: line 1 of the successors names the unknown primitive `softmx`, did you mean `softmax`?");
  EXPECT_EQ(message("relu input 1").substr(0, 65), "2: line 1 of the successors names the unknown primitive `input`, ");
}

std::vector<Kernel> examples() {
  std::vector<Kernel> kernels;
  for (const auto& entry : std::filesystem::directory_iterator(KASIMIR_SOURCE_DIR "/examples/kernels"))
    kernels.push_back(parse_kernel(read_file(entry.path()), catalog()));
  return kernels;
}

TEST(Successors, TheDefaultIsCountedFromTheExamples) {
  const auto kernels = examples();
  EXPECT_GT(kernels.size(), 10U);
  EXPECT_EQ(str(default_successors()), str(count_successors(kernels)));
}

TEST(Successors, CountsEveryOperand) {
  const Kernel kernel =
      parse_kernel("kernel k\n  a = relu(x)\n  b = broadcast(x, a, op=mul)\n  c = relu(b)\nreturn c", catalog());
  EXPECT_EQ(str(count_successors(std::vector{kernel})),
            "broadcast relu 1\ninput broadcast 1\ninput relu 1\nrelu broadcast 1\n");
}

SampleOptions with_share(double share) {
  SampleOptions options;
  options.limits.min_primitives = 5;
  options.limits.max_primitives = 12;
  options.limits.composites = 0.0;
  options.limits.successor_share = share;
  return options;
}

/// Of the reads of a result of `producer` in `count` kernels, the share by `consumer`.
double share_of(const SampleOptions& options, std::string_view producer, std::string_view consumer, int count) {
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  SampleMemory memory(sampler);
  double reads = 0.0;
  double found = 0.0;
  for (int i = 0; i < count; ++i) {
    if (sampler.draw(static_cast<std::uint64_t>(i), memory)) continue;
    const Kernel kernel = sampler.kernel(memory);
    for (const Successor& one : count_successors({&kernel, 1})) {
      if (one.producer != producer) continue;
      reads += one.weight;
      if (one.consumer == consumer) found += one.weight;
    }
  }
  EXPECT_GT(reads, 100.0);
  return found / reads;
}

TEST(Successors, AreDrawnMoreOftenTheMoreOfTheDrawsTheyHave) {
  SampleOptions options = with_share(0.0);
  options.limits.successors = {{"unfold", "softmax", 1.0}};
  const double without = share_of(options, "unfold", "softmax", 1000);
  options.limits.successor_share = 0.9;
  const double with = share_of(options, "unfold", "softmax", 1000);
  EXPECT_GT(with, 2.0 * without) << "seed " << seed;
}

TEST(Successors, LeaveTheKernelsAsTheyAreWithoutAShare) {
  SampleOptions options = with_share(0.0);
  const Sampler plain(catalog(), testing::resnet8_loads(), options, seed);
  options.limits.successors = {{"unfold", "softmax", 1.0}};
  const Sampler other(catalog(), testing::resnet8_loads(), options, seed);
  SampleMemory a(plain);
  SampleMemory b(other);
  int compared = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const bool failed = plain.draw(i, a).has_value();
    ASSERT_EQ(other.draw(i, b).has_value(), failed);
    if (failed) continue;
    ++compared;
    EXPECT_EQ(str(plain.kernel(a)), str(other.kernel(b)));
  }
  EXPECT_GT(compared, 50);
}

TEST(Successors, OfPrimitivesThatAreForbiddenAreNotDrawn) {
  SampleOptions options = with_share(1.0);
  options.limits.forbid = {"relu"};
  options.limits.successors = {{"input", "relu", 1.0}, {"input", "gelu", 1.0}};
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  SampleMemory memory(sampler);
  int legal = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    if (sampler.draw(i, memory)) continue;
    ++legal;
    EXPECT_EQ(str(sampler.kernel(memory)).find("relu("), std::string::npos);
  }
  EXPECT_GT(legal, 20);
}

TEST(Successors, AShareBeyondAllDrawsIsRefused) {
  EXPECT_EQ(thrown_by([] { Sampler(catalog(), testing::resnet8_loads(), with_share(1.5), seed); }),
            "2: successors were given 1.5 of the draws; the share must lie within 0..1");
}

}  // namespace
}  // namespace kasimir
