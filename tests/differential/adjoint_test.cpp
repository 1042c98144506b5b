// SPDX-License-Identifier: Apache-2.0
// Reverse mode as stages, run by the interpreter, against dual numbers: exact on both sides.
#include "kasimir/nest/adjoint.h"
#include "random_kernels.h"

#include "kasimir/interp/real.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

double largest(const std::vector<double>& values) {
  double most = 0.0;
  for (double v : values) most = std::isnan(v) ? INFINITY : std::max(most, std::abs(v));
  return most;
}

std::vector<double> random_direction(std::size_t size, Rng& rng) {
  std::vector<double> direction(size);
  for (double& d : direction) d = rng.normal();
  return direction;
}

/// The largest difference between the adjoint's gradients and dual numbers along one random direction per input and
/// weight, relative to the largest value or slope that occurs.
double gradient_error(const BoundGraph& graph, std::uint64_t seed) {
  const Adjoint adjoint = differentiate(graph);
  Rng rng(seed);
  const TensorValues<double> given = random_values(graph, rng);
  TensorValues<double> values = given;
  values.resize(adjoint.graph.tensors.size());
  auto& cotangent = values[static_cast<std::size_t>(adjoint.cotangent)];
  cotangent = random_direction(
      static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(graph.output)])), rng);
  const std::vector<double> out_slopes = cotangent;
  RealDomain reals;
  evaluate(adjoint.graph, reals, values);
  double worst = 0;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (given[t].empty()) continue;
    const std::vector<double> direction = random_direction(given[t].size(), rng);
    TensorValues<Dual> duals(graph.tensors.size());
    for (std::size_t of = 0; of < given.size(); ++of)
      for (std::size_t i = 0; i < given[of].size(); ++i)
        duals[of].push_back({given[of][i], of == t ? direction[i] : 0.0});
    DualDomain domain;
    evaluate(graph, domain, duals);
    double scale = 0;
    for (const auto& tensor : duals)
      for (const Dual& d : tensor) scale = std::max({scale, std::abs(d.value), std::abs(d.slope)});
    double expected = 0;
    const auto& output = duals[static_cast<std::size_t>(graph.output)];
    for (std::size_t i = 0; i < output.size(); ++i) expected += output[i].slope * out_slopes[i];
    double found = 0;
    const int gradient = adjoint.gradient[t];
    if (gradient >= 0) {
      const auto& of = values[static_cast<std::size_t>(gradient)];
      scale = std::max(scale, largest(of));
      for (std::size_t i = 0; i < of.size(); ++i) found += of[i] * direction[i];
    }
    const double count = std::sqrt(static_cast<double>(direction.size() + output.size()));
    const double error = std::abs(found - expected) / (scale * std::max(1.0, largest(out_slopes)) * count);
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
  }
  return worst;
}

TEST(Adjoint, GradientsOfRandomKernelsAreThoseOfDualNumbers) {
  constexpr std::uint64_t seed = 7411;
  double worst = 0;
  std::size_t kernels = 0;
  const std::size_t primitives = for_random_kernels(seed, wanted_kernels(300), [&](const RandomKernel& drawn) {
    const auto graph = lower_at(drawn.kernel, drawn.site, drawn.batch);
    ASSERT_TRUE(graph.ok()) << graph.rejection().str();
    const double error = gradient_error(*graph, seed + drawn.number);
    ++kernels;
    worst = std::max(worst, error);
    EXPECT_LE(error, 1e-10) << drawn.origin << " site " << drawn.site.str() << " batch " << drawn.batch << '\n'
                            << str(drawn.kernel) << str(differentiate(*graph).graph);
  });
  EXPECT_EQ(primitives, catalog().size());
  std::printf("%zu kernels, largest difference %.1e\n", kernels, worst);
}

}  // namespace
}  // namespace kasimir
