// SPDX-License-Identifier: Apache-2.0
#include "random_kernels.h"
#include "check_kernel.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(RandomKernels, AtenComputesWhatTheInterpreterComputesAndItsGradients) {
  constexpr std::uint64_t seed = 20260;
  double worst_value = 0.0;
  double worst_gradient = 0.0;
  for_random_kernels(seed, wanted_kernels(120), [&](const RandomKernel& drawn) {
    const Peepholes peepholes = drawn.number % 2 == 0 ? Peepholes{} : Peepholes::none();
    const KernelDifference found = check_kernel(drawn.kernel, drawn.site, drawn.batch, seed + drawn.number, peepholes);
    EXPECT_TRUE(found.within(1e-9)) << drawn.origin << " site " << drawn.site.str() << " batch " << drawn.batch
                                    << "\nvalue " << found.value << " gradient " << found.gradient << " frozen "
                                    << found.frozen << ' ' << found.reason << '\n'
                                    << str(drawn.kernel);
    worst_value = std::max(worst_value, found.value);
    worst_gradient = std::max(worst_gradient, found.gradient);
  });
  std::printf("largest difference %.1e in values, %.1e in gradients\n", worst_value, worst_gradient);
}

}  // namespace
}  // namespace kasimir
