// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/features.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "unit/synth/children.h"

#include <cmath>
#include <iostream>
#include <map>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 13;

std::map<std::string, double> features_of(const Kernel& kernel, const Site& site) {
  const auto row = kernel_features(kernel, catalog(), site);
  EXPECT_TRUE(row.ok()) << row.rejection().str();
  std::map<std::string, double> named;
  const auto names = feature_names(catalog());
  EXPECT_EQ(names.size(), row->size());
  for (std::size_t i = 0; i < names.size(); ++i) named[names[i]] = row->at(i);
  EXPECT_EQ(named.size(), names.size());
  return named;
}

std::map<std::string, double> example(const std::string& name) {
  const auto path = std::string(KASIMIR_SOURCE_DIR) + "/examples/kernels/" + name + ".txt";
  return features_of(parse_kernel(read_file(path), catalog()), testing::resnet8_loads().front().site);
}

TEST(Features, OfAConvolutionAreWhatItIsComparedWith) {
  const auto features = example("convolution");
  EXPECT_EQ(features.at("conv"), 1);
  EXPECT_EQ(features.at("steps"), 1);
  EXPECT_EQ(features.at("depth"), 1);
  EXPECT_EQ(features.at("weighted"), 1);
  EXPECT_EQ(features.at("shared"), 0);
  EXPECT_EQ(features.at("levels"), 0);
  EXPECT_EQ(features.at("is_linear"), 1);
  EXPECT_EQ(features.at("reach_rows"), 1);
  EXPECT_EQ(features.at("macs"), 0);
  EXPECT_EQ(features.at("params"), 0);
}

TEST(Features, TellKernelsApart) {
  const auto shifted = example("shift_pointwise");
  EXPECT_EQ(shifted.at("shift"), 2);
  EXPECT_EQ(shifted.at("steps"), 6);
  EXPECT_EQ(shifted.at("depth"), 5);
  EXPECT_EQ(shifted.at("shared"), 1);
  EXPECT_LT(shifted.at("macs"), 0);
  const auto attention = example("channel_attention");
  EXPECT_EQ(attention.at("global"), 1);
  EXPECT_EQ(attention.at("data_weights"), 1);
  EXPECT_EQ(attention.at("is_linear"), 0);
  EXPECT_GT(attention.at("levels"), 0);
  EXPECT_LT(example("squeeze_excite").at("narrowest"), 1e-9);
}

TEST(Features, AreFiniteForWhateverIsDrawn) {
  std::cout << "seed " << seed << '\n';
  const Sampler sampler = testing::sampler_of(Budget::parse("macs=0.1..0.5,params=0.1..0.5"), 5, 25, seed);
  const Site& site = sampler.sites().front().site;
  for (const Kernel& kernel : testing::draw(sampler, 300)) {
    SCOPED_TRACE(str(kernel));
    const auto features = features_of(kernel, site);
    double primitives = 0;
    for (const Primitive* primitive : catalog()) primitives += features.at(std::string(primitive->name));
    EXPECT_LE(primitives, static_cast<double>(kernel.steps.size()));
    EXPECT_GE(primitives, 1);
    for (const auto& [name, value] : features) EXPECT_TRUE(std::isfinite(value)) << name;
    EXPECT_GE(features.at("steps"), features.at("depth"));
    EXPECT_LE(features.at("macs"), -1 + 1e-9);  // the budget's upper ends are half of the convolution's
    EXPECT_LE(features.at("params"), -1 + 1e-9);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kasimir
