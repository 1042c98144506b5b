// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/pytorch.h"

#include "kasimir/codegen/pytorch_kernel.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The body of `forward` of a kernel's class.
std::string forward_of(const std::string& text, const Site& site) {
  const std::string source = pytorch_kernel(parse_kernel(text, catalog()), site, 0, 0, "K").source;
  return source.substr(source.find("    def forward"));
}

TEST(PytorchKernel, IsAClassWithItsTextItsWeightsAndItsStages) {
  const Kernel kernel = parse_kernel(
      "kernel gate\n  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\n  c = sigmoid(b)\n"
      "  d = broadcast(c, b, op=mul)\nreturn d\n",
      catalog());
  const PytorchKernel made = pytorch_kernel(kernel, Site::parse("4->8x3x5/2"), 1, 0, "Gate");
  EXPECT_TRUE(made.has_statistics);
  EXPECT_EQ(made.source, R"(class Gate(nn.Module):
    """At Ci=4 Co=8 H=3 W=5 s=2:

    kernel gate
      a = conv(x, to=Co, stride=yes)
      b = norm(a)
      c = sigmoid(b)
      d = broadcast(c, b, op=mul)
    return d
    """

    def __init__(self):
        super().__init__()
        self.w0 = nn.Parameter(torch.randn(8, 4, 3, 3) / 36**0.5)
        self.w1 = nn.Parameter(torch.ones(8))
        self.w2 = nn.Parameter(torch.zeros(8))
        self.register_buffer("t1", torch.zeros(8))
        self.register_buffer("t2", torch.ones(8))

    def forward(self, x):
        x = F.pad(x, (0, 0, 0, 1))
        # a = conv(x, to=Co, stride=yes)
        a = F.conv2d(x, self.w0, stride=2, padding=1)
        # b = norm(a)
        if self.training:
            t1 = a.mean((0, 2, 3))
            part = a - t1[None, :, None, None]
            t2 = (part * part).mean((0, 2, 3))
            follow(self.t1, t1, 0.1)
            follow(self.t2, t2, 0.1)
        else:
            t1 = self.t1
            t2 = self.t2
        part_2 = (a - t1[None, :, None, None]) * torch.rsqrt(t2[None, :, None, None] + 1e-05)
        b = (part_2 * self.w1[None, :, None, None]) + self.w2[None, :, None, None]
        # c = sigmoid(b)
        c = torch.sigmoid(b)
        # d = broadcast(c, b, op=mul)
        y = c * b
        return y
)");
}

TEST(PytorchKernel, NamesTheOperationsOfTheFramework) {
  EXPECT_EQ(forward_of("kernel k\ngiven g=2\n  a = conv(x, to=Co, groups=g, window=(3,1), dilation=2)\nreturn a\n",
                       Site::parse("4->8x9x5")),
            "    def forward(self, x):\n"
            "        # a = conv(x, to=Co, window=(3,1), dilation=2, groups=g)\n"
            "        a = F.conv2d(x, self.w0.reshape(8, 2, 3, 1), padding=(2, 0), dilation=(2, 1), groups=2)\n"
            "        return a\n");
  EXPECT_EQ(forward_of("kernel k\n  a = shift(x, axes=h, by=1, fill=wrap)\n  b = shift(a, axes=w, by=-2)\n"
                       "  c = concat(b, x)\n  d = linear(c, to=Co)\nreturn d\n",
                       Site::parse("4->8x5x6")),
            "    def forward(self, x):\n"
            "        # a = shift(x, axes=h, by=1, fill=wrap)\n"
            "        a = x.roll(1, 2)\n"
            "        # b = shift(a, axes=w, by=-2)\n"
            "        b = F.pad(a[:, :, :, 2:], (0, 2))\n"
            "        # c = concat(b, x)\n"
            "        c = torch.cat((b, x), 1)\n"
            "        # d = linear(c, to=Co)\n"
            "        d = F.conv2d(c, self.w0.reshape(8, 8, 1, 1))\n"
            "        return d\n");
  EXPECT_EQ(
      forward_of("kernel k\n  a = linear(x, to=Co)\n  b = matmul(x, a, left=channels, right=channels, softmax=yes)"
                 "\n  c = matmul(b, a, left=token, right=positions)\nreturn c\n",
                 Site::parse("4->4x2x3")),
      "    def forward(self, x):\n"
      "        # a = linear(x, to=Co)\n"
      "        a = F.conv2d(x, self.w0.reshape(4, 4, 1, 1))\n"
      "        # b = matmul(x, a, left=channels, right=channels, softmax=yes)\n"
      "        t1 = torch.einsum(\"nchw,ncab->nhwab\", x * 0.5, a).flatten(3, 4)\n"
      "        b = t1.softmax(3)\n"
      "        # c = matmul(b, a, left=token, right=positions)\n"
      "        c = torch.einsum(\"nhwab,ncab->nhwc\", b.unflatten(3, (2, 3)), a * 0.408248290463863)\n"
      "        # axes in the order channel, row, column\n"
      "        y = c.permute(0, 3, 1, 2)\n"
      "        return y\n");
}

class PytorchNetwork : public ::testing::Test {
 protected:
  static std::string source(const NetworkPlan& plan, const ExportNotes& notes = {}) {
    return export_pytorch(plan, random_weights(plan, 1), notes).at(0).content;
  }
  static std::string between(const std::string& text, const std::string& begin, const std::string& end) {
    const auto from = text.find(begin);
    return text.substr(from, text.find(end, from) - from);
  }
};

TEST_F(PytorchNetwork, HasALinePerLayerAndAModulePerLayerWithWeights) {
  const Network network = zoo_network("resnet8", {.classes = 4, .input = {3, 8, 8}, .width = 0.5});
  const auto sites = find_sites(network, {.replace = {"stage2.block1.conv1", "stage1.*"}});
  const Kernel kernel = parse_kernel("kernel row\n  a = conv(x, to=Co, stride=yes)\nreturn a\n", catalog());
  const std::string text = source(replace_with(network, sites, kernel), {{"accuracy", "0.91 \"best\""}});
  EXPECT_THAT(text, HasSubstr("\"\"\"resnet8 with row in place of 3 convolutions, for PyTorch and nothing else.\n\n"
                              "accuracy: 0.91 \\\"best\\\"\n"));
}

TEST_F(PytorchNetwork, KeepsNamesThatAreNoPythonAndMapsThatWereFlattened) {
  NetworkBuilder net("odd", {2, 4, 4});
  int x = net.add("features.0", layer::Conv{.out = 3, .kernel_h = 3, .kernel_w = 1, .pad_h = 1, .bias = true}, {0});
  x = net.add("features.1", layer::Activation{layer::ActivationKind::relu6}, {x});
  x = net.add("pool", layer::MaxPool{.kernel = 3, .stride = 2, .padding = 1, .ceil = true}, {x});
  x = net.add("class", layer::Linear{.out = 6, .bias = false}, {x});
  x = net.add("drop", layer::Dropout{0.25}, {x});
  x = net.add("norm", layer::BatchNorm{}, {x});
  const Network network = std::move(net).finish();
  const std::string text = source({&network, {}});
  EXPECT_EQ(between(text, "        layers = {", "        for name"), R"(        layers = {
            "features.0": nn.Conv2d(2, 3, (3, 1), padding=(1, 0)),
            "class": nn.Linear(27, 6, bias=False),
            "norm": nn.BatchNorm2d(6),
        }
)");
  EXPECT_EQ(between(text, "    def forward(self, x):", "\n\ndef"), R"(    def forward(self, x):
        x = self.get_submodule("features.0")(x)
        x = F.relu6(x)
        x = F.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=True)
        x = self.get_submodule("class")(x.flatten(1))
        x = F.dropout(x, 0.25, self.training)
        x = self.norm(x[:, :, None, None])
        return x.flatten(1)
)");
}

TEST_F(PytorchNetwork, KeepsValuesThatLaterLayersReadInVariablesOfTheirOwn) {
  NetworkBuilder net("dense", {2, 4, 4});
  const int a = net.add("a", layer::Conv{.out = 2}, {0});
  const int b = net.add("b", layer::Conv{.out = 2}, {a});
  const int c = net.add("c", layer::Concat{}, {a, b, 0});
  const int d = net.add("d", layer::AvgPool{}, {c});
  net.add("e", layer::GlobalAvgPool{}, {d});
  const Network network = std::move(net).finish();
  EXPECT_EQ(between(source({&network, {}}), "    def forward(self, x):", "\n\ndef"), R"(    def forward(self, x):
        y = self.a(x)
        z = self.b(y)
        x = torch.cat((y, z, x), 1)
        x = F.avg_pool2d(x, 2, stride=2)
        x = x.mean((2, 3), keepdim=True)
        return x.flatten(1)
)");
}

TEST_F(PytorchNetwork, IsWrittenWithItsWeightsAndImportsTorchOnly) {
  const Network network = zoo_network("resnet8", {.classes = 4, .input = {3, 8, 8}, .width = 0.5});
  const NetworkPlan plan{&network, {}};
  const auto files = export_pytorch(plan, random_weights(plan, 1), {});
  std::vector<std::string> names;
  for (const ExportedFile& file : files) names.push_back(file.name);
  EXPECT_THAT(names, ElementsAre("model.py", "weights.safetensors"));
  EXPECT_EQ(between(files[0].content, "import json", "\n\n\n"), R"(import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent)");
  EXPECT_THAT(files[0].content, Not(HasSubstr("kasimir")));
  EXPECT_THAT(files[1].content, HasSubstr("\"stem.conv.weight\""));
}

}  // namespace
}  // namespace kasimir
