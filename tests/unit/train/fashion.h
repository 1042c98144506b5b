// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"
#include "kasimir/data/split.h"
#include "kasimir/network/plan.h"
#include "kasimir/network/sites.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

namespace kasimir {

/// Tests on real images: 640 of Fashion-MNIST to train on and 128 to test on, loaded once; skipped where they are not
/// installed.
class OnFashion : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
      LoadOptions options;
      options.train_limit = 640;
      options.test_limit = 128;
      data_ = load_dataset("fashion-mnist", options);
      split_ = split_validation(data_.train, 0.2, 1);
    }
  }
  void SetUp() override {
    if (data_.train.size() == 0) GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  }

  static inline Dataset data_;
  static inline Split split_;  ///< 512 and 128
};

inline std::vector<std::int32_t> first(std::size_t count) {
  std::vector<std::int32_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// ResNet-8 for 28 x 28 grey images.
inline Network small_network(double width = 1.0) { return zoo_network("resnet8", {10, {1, 28, 28}, width}); }

inline NetworkPlan plan_with(const Network& network, std::string_view kernel) {
  return replace_with(network, find_sites(network), parse_kernel(kernel, catalog()));
}

inline constexpr std::string_view convolution_text = "kernel convolution\n  a = conv(x, to=Co, stride=yes)\nreturn a\n";
inline constexpr std::string_view grouped_text =
    "kernel grouped\ngiven g=4\n  a = stride(x)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\n";

}  // namespace kasimir
