// SPDX-License-Identifier: Apache-2.0
// The hand-written kernels of examples/kernels against torch's own operators, and each of them in a real training.
#include "kasimir/base/files.h"
#include "kasimir/data/dataset.h"
#include "kasimir/interp/real.h"
#include "kasimir/network/sites.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/aten.h"
#include "kasimir/train/trainer.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <cmath>
#include <filesystem>

namespace kasimir {
namespace {

std::filesystem::path folder() { return std::filesystem::path(KASIMIR_SOURCE_DIR) / "examples" / "kernels"; }

Kernel example(const std::string& name) { return parse_kernel(read_file(folder() / (name + ".txt")), catalog(), name); }

/// The same value for each free symbol at the sites: the texts have none.
Kernel with_widths(Kernel kernel, std::int64_t width, const std::vector<Site>& sites) {
  Binding values;
  for (Symbol symbol : kernel.free_symbols()) values.set(symbol, width);
  for (const Site& site : sites) kernel.fits.emplace_back(site, values);
  return kernel;
}

/// A kernel run by our executor, with its input and weights as torch tensors for the reference.
struct Executed {
  at::Tensor x;
  std::vector<at::Tensor> w;
  at::Tensor y;
};

at::Tensor tensor_of(const BoundTensor& tensor, const std::vector<double>& values) {
  std::vector<std::int64_t> extents;
  for (const auto& axis : tensor.axes) extents.push_back(axis.extent);
  return at::tensor(values, at::kDouble).reshape(extents);
}

Executed run(const std::string& name, const Site& site, std::int64_t batch) {
  const auto bound = lower_at(with_widths(example(name), 6, {site}), site, batch);
  EXPECT_TRUE(bound.ok()) << (bound.ok() ? "" : bound.rejection().str());
  Rng rng(5);
  const auto values = random_values(*bound, rng);
  const AtenResult result = run_aten(*bound, values, {});
  Executed found;
  for (std::size_t i = 0; i < bound->tensors.size(); ++i) {
    if (bound->tensors[i].role == Role::input) found.x = tensor_of(bound->tensors[i], values[i]);
    if (bound->tensors[i].role == Role::weight) found.w.push_back(tensor_of(bound->tensors[i], values[i]));
  }
  found.y = tensor_of(bound->tensors[static_cast<std::size_t>(bound->output)], result.output);
  return found;
}

void expect_same(const at::Tensor& found, const at::Tensor& wanted) {
  ASSERT_EQ(found.sizes(), wanted.sizes());
  EXPECT_LE((found - wanted).abs().max().item<double>(), 1e-10 * wanted.abs().max().item<double>());
}

at::Tensor convolve(const at::Tensor& x, const at::Tensor& w, std::int64_t stride, std::int64_t padding,
                    std::int64_t dilation = 1, std::int64_t groups = 1) {
  return at::conv2d(x, w, std::optional<at::Tensor>{}, at::IntArrayRef({stride, stride}),
                    at::IntArrayRef({padding, padding}), at::IntArrayRef({dilation, dilation}), groups);
}

at::Tensor pointwise(const at::Tensor& x, const at::Tensor& w) {
  return convolve(x, w.unsqueeze(-1).unsqueeze(-1), 1, 0);
}

constexpr Site plain{8, 8, 6, 7, 1};
constexpr Site strided{8, 16, 5, 4, 2};

TEST(ExampleKernels, ConvolutionIsTorchsConvolution) {
  for (const Site& site : {plain, strided}) {
    const Executed r = run("convolution", site, 2);
    expect_same(r.y, convolve(r.x, r.w[0], site.s, 1));
    const Executed unfolded = run("unfold_convolution", site, 2);
    expect_same(unfolded.y, convolve(unfolded.x, unfolded.w[0], site.s, 1));
  }
}

TEST(ExampleKernels, GroupedAndDepthwiseAreTorchsGroups) {
  for (const Site& site : {plain, strided}) {
    const Executed r = run("grouped_convolution", site, 2);
    expect_same(r.y, convolve(r.x, r.w[0].reshape({site.co, site.ci / 4, 3, 3}), site.s, 1, 1, 4));
  }
  const Executed r = run("depthwise", plain, 2);
  expect_same(r.y, convolve(r.x, r.w[0].reshape({8, 1, 3, 3}), 1, 1, 1, 8));
}

TEST(ExampleKernels, SpatiallySeparableAndLowRankAreTwoConvolutions) {
  for (const Site& site : {plain, strided}) {
    const Executed separable = run("spatially_separable", site, 2);
    const auto outer = [](const at::Tensor& down, const at::Tensor& across) {
      return at::einsum("aiu,oav->oiuv", {down.squeeze(-1), across.squeeze(-2)});
    };
    const auto down = separable.w[0].reshape({6, site.ci, 3, 1});
    const auto across = separable.w[1].reshape({site.co, 6, 1, 3});
    expect_same(separable.y, convolve(separable.x, outer(down, across), site.s, 1));
    const Executed low = run("low_rank", site, 2);
    const auto product = at::matmul(low.w[1], low.w[0]);
    expect_same(low.y, convolve(low.x, product.unsqueeze(-1).unsqueeze(-1), site.s, 0));
  }
}

TEST(ExampleKernels, SqueezedAxialAttentionAttendsAlongEachAxis) {
  const Executed r = run("squeezed_axial_attention", plain, 2);
  // Means along one axis, then attention along the other; matmul divides by the root of what it sums over.
  const auto attend = [&](std::int64_t mean_over, std::size_t first) {
    const auto line = r.x.mean(mean_over).transpose(1, 2);
    const auto part = [&](std::size_t i) { return at::matmul(line, r.w[first + i].t()); };
    const auto attended = at::scaled_dot_product_attention(part(0), part(1), part(2));
    return (attended / std::sqrt(static_cast<double>(line.size(1)))).transpose(1, 2).unsqueeze(mean_over);
  };
  expect_same(r.y, pointwise(r.x, r.w[6]) + attend(3, 0) + attend(2, 3));
}

TEST(ExampleKernels, DepthwiseSeparableIsTwoConvolutions) {
  for (const Site& site : {plain, strided}) {
    const Executed r = run("depthwise_separable", site, 2);
    const auto depthwise = convolve(r.x, r.w[0].reshape({site.ci, 1, 3, 3}), site.s, 1, 1, site.ci);
    expect_same(r.y, pointwise(depthwise, r.w[1]));
  }
}

TEST(ExampleKernels, GroupedWithShuffleUsesTorchsChannelShuffle) {
  for (const Site& site : {plain, strided}) {
    const Executed r = run("grouped_shuffle", site, 2);
    const auto grouped = convolve(r.x, r.w[0].reshape({site.co, site.ci / 4, 3, 3}), site.s, 1, 1, 4);
    const auto weight = r.w[1].reshape({site.co, site.co / 4, 1, 1});
    expect_same(r.y, convolve(at::channel_shuffle(grouped, 4), weight, 1, 0, 1, 4));
  }
}

TEST(ExampleKernels, ShiftIsPaddingAndPointwise) {
  const Executed r = run("shift_pointwise", plain, 2);
  const auto down = at::constant_pad_nd(r.x, {0, 0, 1, -1});
  const auto left = at::constant_pad_nd(r.x, {-1, 1, 0, 0});
  expect_same(r.y, pointwise(at::cat({r.x, down, left}, 1), r.w[0]));
}

TEST(ExampleKernels, InvolutionWeightsTheWindowsThatTorchUnfolds) {
  const Site site{16, 8, 5, 6, 1};
  const Executed r = run("involution", site, 2);
  const auto reduced = pointwise(r.x, r.w[0]);
  const auto normal = at::batch_norm(reduced, r.w[1], r.w[2], {}, {}, true, 0.1, 1e-5, false);
  const auto weights = at::einsum("nchw,guvc->nguvhw", {at::relu(normal), r.w[3]}).reshape({2, 4, 1, 9, 5, 6});
  const auto windows = at::im2col(r.x, {3, 3}, {1, 1}, {1, 1}, {1, 1}).reshape({2, 4, 4, 9, 5, 6});
  expect_same(r.y, pointwise((weights * windows).sum(3).reshape({2, 16, 5, 6}), r.w[4]));
}

TEST(ExampleKernels, SqueezeExciteGatesAConvolution) {
  for (const Site& site : {plain, strided}) {
    const Executed r = run("squeeze_excite", site, 2);
    const auto a = convolve(r.x, r.w[0], site.s, 1);
    const auto gate = at::sigmoid(at::linear(at::relu(at::linear(at::mean(a, {2, 3}), r.w[1])), r.w[2]));
    expect_same(r.y, a * gate.unsqueeze(-1).unsqueeze(-1));
  }
}

TEST(ExampleKernels, LargeKernelAttentionIsThreeConvolutionsTimesTheInput) {
  const Executed r = run("large_kernel_attention", plain, 2);
  const auto near = convolve(r.x, r.w[0].reshape({8, 1, 5, 5}), 1, 2, 1, 8);
  const auto far = convolve(near, r.w[1].reshape({8, 1, 7, 7}), 1, 9, 3, 8);
  expect_same(r.y, pointwise(pointwise(far, r.w[2]) * r.x, r.w[3]));
}

TEST(ExampleKernels, SelfAttentionIsTorchsScaledDotProductAttention) {
  const Executed r = run("self_attention", plain, 2);
  const auto tokens = [](const at::Tensor& t) { return t.flatten(2).transpose(1, 2); };
  const auto attended = at::scaled_dot_product_attention(tokens(pointwise(r.x, r.w[0])), tokens(pointwise(r.x, r.w[1])),
                                                         tokens(pointwise(r.x, r.w[2])));
  // matmul divides every product by the root of what it sums over, the weighted sum of the values too.
  expect_same(r.y, attended.transpose(1, 2).reshape({2, 8, 6, 7}) / std::sqrt(42.0));
}

TEST(ExampleKernels, ChannelAttentionIsSoftmaxOfTheCovariance) {
  const Executed r = run("channel_attention", plain, 2);
  const auto flat = [&](std::size_t i) { return pointwise(r.x, r.w[i]).flatten(2); };
  const auto map = at::softmax(at::bmm(flat(0), flat(1).transpose(1, 2)) / std::sqrt(42.0), -1);
  expect_same(r.y, (at::bmm(map, flat(2)) / std::sqrt(8.0)).reshape({2, 8, 6, 7}));
}

TEST(ExampleKernels, EveryOneTrainsOnRealImages) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  LoadOptions limits;
  limits.train_limit = 640;
  limits.test_limit = 100;
  const Dataset data = load_dataset("fashion-mnist", limits);
  const Split split = split_validation(data.train, 0.2, 1);
  const Network network = zoo_network("resnet8", {.classes = 10, .input = {1, 28, 28}});
  int trained = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string name = entry.path().stem().string();
    // A depthwise convolution has as many channels out as in, which the first of the block has not.
    const std::string replaced = name == "depthwise" ? "stage3.block1.conv2" : "stage3.block1.conv*";
    const auto sites = find_sites(network, {.replace = {replaced}});
    std::vector<Site> places;
    for (const DistinctSite& one : distinct_sites(sites)) places.push_back(one.site);
    const Kernel kernel = with_widths(example(name), 16, places);
    Recipe recipe;
    recipe.epochs = 3;
    recipe.batch = 32;
    recipe.learning_rate = 0.05;
    const TrainResult result = train(replace_with(network, sites, kernel), data, split, recipe);
    ASSERT_TRUE(result.ok()) << kernel.name;
    EXPECT_LT(result.curve.back().train_loss, 0.9 * result.curve.front().train_loss) << kernel.name;
    EXPECT_GT(result.validation->accuracy, 0.3) << kernel.name;  // guessing gives 0.1
    ++trained;
  }
  EXPECT_GE(trained, 9);
}

}  // namespace
}  // namespace kasimir
