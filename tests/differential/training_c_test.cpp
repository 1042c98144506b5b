// SPDX-License-Identifier: Apache-2.0
// Compiled forward and backward passes against the adjoint run by the interpreter.
#include "kasimir/codegen/training_kernel.h"
#include "random_kernels.h"

#include "kasimir/interp/real.h"
#include "kasimir/nest/adjoint.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using Array = TrainingKernel::Array;

std::int64_t size_of(const Array& array) {
  std::int64_t size = 1;
  for (std::int64_t extent : array.extents) size *= extent;
  return size;
}

/// Calls `visit(place in memory, row-major number)` for every element.
template <typename Visit>
void for_each_element(const Array& array, Visit visit) {
  for (std::int64_t i = 0; i < size_of(array); ++i) {
    std::int64_t rest = i;
    std::int64_t place = 0;
    for (std::size_t axis = array.extents.size(); axis-- > 0;) {
      place += rest % array.extents[axis] * array.strides[axis];
      rest /= array.extents[axis];
    }
    visit(static_cast<std::size_t>(place), static_cast<std::size_t>(i));
  }
}

std::vector<float> to_memory(const Array& array, const std::vector<double>& values) {
  std::vector<float> memory(static_cast<std::size_t>(size_of(array)));
  for_each_element(array, [&](std::size_t place, std::size_t i) { memory[place] = static_cast<float>(values[i]); });
  return memory;
}

double difference(const Array& array, const std::vector<float>& memory, const std::vector<double>& expected) {
  double worst = 0;
  for_each_element(array, [&](std::size_t place, std::size_t i) {
    const double error = std::abs(static_cast<double>(memory[place]) - expected[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  });
  return worst;
}

void to_floats(std::vector<double>& values) {
  for (double& v : values) v = static_cast<double>(static_cast<float>(v));
}

/// Largest errors relative to the largest value of the same pass.
struct Errors {
  double forward = 0;
  double backward = 0;
};

Errors errors_of(TrainingKernel& compiled, const BoundGraph& graph, std::uint64_t seed) {
  const Adjoint adjoint = differentiate(graph);
  Rng rng(seed);
  TensorValues<double> values = random_values(graph, rng);
  values.resize(adjoint.graph.tensors.size());
  auto& cotangent = values[static_cast<std::size_t>(adjoint.cotangent)];
  cotangent.resize(static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(graph.output)])));
  for (double& v : cotangent) v = rng.normal();
  for (auto& tensor : values) to_floats(tensor);
  RealDomain reals;
  evaluate(adjoint.graph, reals, values);

  std::vector<float> weights(static_cast<std::size_t>(compiled.weights_size()) + 1);
  for (const WeightSlot& slot : compiled.weights())
    for (std::int64_t i = 0; i < slot.size; ++i)
      weights[static_cast<std::size_t>(slot.offset + i)] =
          static_cast<float>(values[static_cast<std::size_t>(slot.tensor)][static_cast<std::size_t>(i)]);
  const auto value = [&](int tensor) -> const std::vector<double>& { return values[static_cast<std::size_t>(tensor)]; };
  double scale = 0;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t)
    for (double v : values[t]) scale = std::max(scale, std::abs(v));
  double slopes = scale;
  for (const auto& tensor : values)
    for (double v : tensor) slopes = std::max(slopes, std::abs(v));

  Errors errors;
  std::vector<std::vector<float>> results;
  std::vector<float*> out;
  for (const Array& array : compiled.forward_out()) results.emplace_back(static_cast<std::size_t>(size_of(array)));
  for (auto& result : results) out.push_back(result.data());
  Array image{graph.input, {}, strides_outside(graph.tensors[static_cast<std::size_t>(graph.input)])};
  for (const auto& axis : graph.tensors[static_cast<std::size_t>(graph.input)].axes)
    image.extents.push_back(axis.extent);
  const std::vector<float> input = to_memory(image, value(graph.input));
  // Twice: the second pass sees the workspace that the first one left.
  for (int run = 0; run < 2; ++run) {
    compiled.forward(weights.data(), input.data(), out);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Array& array = compiled.forward_out()[i];
      errors.forward = std::max(errors.forward, difference(array, results[i], value(array.tensor)) / scale);
    }
  }
  std::vector<std::vector<float>> given;
  std::vector<const float*> in;
  for (const Array& array : compiled.backward_in()) given.push_back(to_memory(array, value(array.tensor)));
  for (auto& array : given) in.push_back(array.data());
  std::vector<std::vector<float>> gradients;
  std::vector<float*> to;
  for (const Array& array : compiled.backward_out()) gradients.emplace_back(static_cast<std::size_t>(size_of(array)));
  for (auto& gradient : gradients) to.push_back(gradient.data());
  for (int run = 0; run < 2; ++run) {
    compiled.backward(weights.data(), in, to);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Array& array = compiled.backward_out()[i];
      errors.backward = std::max(errors.backward, difference(array, gradients[i], value(array.tensor)) / slopes);
    }
  }
  return errors;
}

TEST(TrainingC, PassesOfRandomKernelsAreThoseOfTheInterpreter) {
  constexpr std::uint64_t seed = 9127;
  TrainingKernelOptions options;
  options.native.flags = {"-std=gnu11", "-O1", "-march=native", "-ffp-contract=fast"};
  std::size_t compiled = 0;
  std::size_t rejected = 0;
  Errors worst;
  for_random_kernels(seed, wanted_kernels(60), [&](const RandomKernel& drawn) {
    const std::int64_t batch = drawn.batch * 2;
    const auto graph = lower_at(drawn.kernel, drawn.site, batch);
    ASSERT_TRUE(graph.ok()) << graph.rejection().str();
    // Parts of one image, of some, and the whole batch.
    options.cache_bytes = drawn.number % 3 == 0 ? 1 : drawn.number % 3 == 1 ? 1 << 14 : 0;
    const auto made = TrainingKernel::build(drawn.kernel, drawn.site, batch, options);
    if (!made.ok()) {
      ++rejected;
      std::printf("%s\n%s", made.rejection().str().c_str(), str(drawn.kernel).c_str());
      return;
    }
    ++compiled;
    const Errors errors = errors_of(**made, *graph, seed + drawn.number);
    worst = {std::max(worst.forward, errors.forward), std::max(worst.backward, errors.backward)};
    EXPECT_LE(errors.forward, 1e-5) << drawn.origin << " site " << drawn.site.str() << " batch " << batch << " part "
                                    << (*made)->part() << '\n'
                                    << str(drawn.kernel) << (*made)->plan();
    EXPECT_LE(errors.backward, 1e-4) << drawn.origin << " site " << drawn.site.str() << " batch " << batch << " part "
                                     << (*made)->part() << '\n'
                                     << str(drawn.kernel) << (*made)->plan();
  });
  std::printf("%zu compiled, %zu rejected; largest difference %.1e forward, %.1e backward\n", compiled, rejected,
              worst.forward, worst.backward);
  EXPECT_LE(rejected * 20, compiled);
}

TEST(TrainingC, StatisticsOverManyPlacesLoseNothing) {
  // 6.5 million terms for each statistic, none of them around zero: one sum in single precision is off by 1e-3.
  const Kernel kernel = parse_kernel(
      "kernel long_sums\n  a = square(x)\n  b = unfold(a, window=5)\n  c = norm(b)\n  d = fold(c, axes=u)\n"
      "  e = fold(d, axes=v)\n  f = linear(e, to=Co)\nreturn f\n",
      catalog());
  const Site site{2, 2, 128, 128, 1};
  constexpr std::int64_t batch = 16;
  const auto made = TrainingKernel::build(kernel, site, batch, {});
  ASSERT_TRUE(made.ok()) << made.rejection().str();
  const Errors errors = errors_of(**made, *lower_at(kernel, site, batch), 5);
  EXPECT_LE(errors.forward, 1e-6);
  EXPECT_LE(errors.backward, 1e-4);
}

}  // namespace
}  // namespace kasimir
