# SPDX-License-Identifier: Apache-2.0
"""The networks of Kasimir's zoo (src/kasimir/network/zoo) in plain PyTorch, layer for layer and name for name.

    networks.py NETWORK FOLDER

writes what tools/peers/run.py times: weights.pt (random weights and batch-norm statistics; `load` reads it), model.onnx
(opset 17) and check.npz (images, and the outputs in double precision). NETWORK is a name of the zoo, or one with a size
such as resnet18-32x32: images up to 64x64 give the small form with 10 classes, as in the zoo."""

import collections
import pathlib
import re
import sys
import warnings

import torch
from torch import nn

OPSET = 17
CHECK_IMAGES = 3


def conv_bn(of, suffix, channels, out, kernel, stride=1, groups=1, bias=False):
    """Adds a convolution that keeps the size at stride 1, and its batch norm, to a module by the zoo's names."""
    conv = nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=bias)
    of.add_module(f"conv{suffix}", conv)
    of.add_module(f"bn{suffix}", nn.BatchNorm2d(out))


class ConvBn(nn.Module):
    """Convolution, batch norm and perhaps an activation."""

    def __init__(self, channels, out, kernel, stride=1, groups=1, relu=None):
        super().__init__()
        conv_bn(self, "", channels, out, kernel, stride, groups)
        self.relu = relu

    def forward(self, x):
        x = self.bn(self.conv(x))
        return x if self.relu is None else self.relu(x)


class ReducingStem(ConvBn):
    """The stem of ResNet for large images."""

    def __init__(self, out):
        super().__init__(3, out, 7, 2, relu=nn.ReLU())
        self.pool = nn.MaxPool2d(3, 2, 1)

    def forward(self, x):
        return self.pool(super().forward(x))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut, of 1x1 where the shapes differ."""

    def __init__(self, channels, out, stride, normalised_shortcut):
        super().__init__()
        conv_bn(self, "1", channels, out, 3, stride)
        conv_bn(self, "2", out, out, 3)
        self.relu = nn.ReLU()
        self.shortcut = None
        if stride != 1 or channels != out:
            bare = collections.OrderedDict(conv=nn.Conv2d(channels, out, 1, stride))
            self.shortcut = ConvBn(channels, out, 1, stride) if normalised_shortcut else nn.Sequential(bare)

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class MeanHead(nn.Module):
    """Mean over the map, dropout, one fully connected layer."""

    def __init__(self, channels, classes, dropout=0.0):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(channels, classes)

    def forward(self, x):
        return self.linear(self.dropout(torch.flatten(self.pool(x), 1)))


def resnet(widths, blocks, classes, normalised_shortcut=True, reducing_stem=False):
    net = nn.Sequential()
    net.add_module("stem", ReducingStem(widths[0]) if reducing_stem else ConvBn(3, widths[0], 3, relu=nn.ReLU()))
    channels = widths[0]
    for stage, width in enumerate(widths, 1):
        members = nn.Sequential()
        for block in range(1, blocks + 1):
            stride = 2 if stage > 1 and block == 1 else 1
            members.add_module(f"block{block}", BasicBlock(channels, width, stride, normalised_shortcut))
            channels = width
        net.add_module(f"stage{stage}", members)
    net.add_module("head", MeanHead(channels, classes))
    return net


class VggStage(nn.Module):
    def __init__(self, channels, out, convs, ceil):
        super().__init__()
        self.convs = convs
        for i in range(1, convs + 1):
            conv_bn(self, str(i), channels if i == 1 else out, out, 3, bias=True)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2, 2, ceil_mode=ceil)

    def forward(self, x):
        for i in range(1, self.convs + 1):
            x = self.relu(getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x)))
        return self.pool(x)


class HiddenHead(nn.Module):
    """The three fully connected layers of VGG."""

    def __init__(self, inputs, classes):
        super().__init__()
        self.linear1 = nn.Linear(inputs, 4096)
        self.linear2 = nn.Linear(4096, 4096)
        self.linear3 = nn.Linear(4096, classes)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = self.dropout(self.relu(self.linear1(torch.flatten(x, 1))))
        return self.linear3(self.dropout(self.relu(self.linear2(x))))


def vgg16(size, classes):
    net = nn.Sequential()
    channels = 3
    for stage, (out, convs) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)], 1):
        net.add_module(f"stage{stage}", VggStage(channels, out, convs, ceil=size <= 64))
        channels = out
    head = MeanHead(channels, classes) if size <= 64 else HiddenHead(channels * (size // 32) ** 2, classes)
    net.add_module("head", head)
    return net


class InvertedResidual(nn.Module):
    """Expand by 1x1, filter each channel by 3x3, project by 1x1; a shortcut where the shapes agree."""

    def __init__(self, channels, out, expansion, stride):
        super().__init__()
        hidden = channels * expansion
        self.expand = ConvBn(channels, hidden, 1, relu=nn.ReLU6()) if expansion != 1 else None
        self.depthwise = ConvBn(hidden, hidden, 3, stride, groups=hidden, relu=nn.ReLU6())
        self.project = ConvBn(hidden, out, 1)
        self.adds = channels == out and stride == 1

    def forward(self, x):
        y = self.project(self.depthwise(x if self.expand is None else self.expand(x)))
        return y + x if self.adds else y


def mobilenet_v2(size, classes):
    small = size <= 64
    net = nn.Sequential()
    net.add_module("stem", ConvBn(3, 32, 3, 1 if small else 2, relu=nn.ReLU6()))
    channels = 32
    # Expansion, channels, repeats, stride of the first block: table 2 of the paper.
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for stage, (expansion, out, repeats, stride) in enumerate(table, 1):
        members = nn.Sequential()
        for block in range(1, repeats + 1):
            first = 1 if block > 1 or (small and stage == 2) else stride
            members.add_module(f"block{block}", InvertedResidual(channels, out, expansion, first))
            channels = out
        net.add_module(f"stage{stage}", members)
    net.add_module("last", ConvBn(channels, 1280, 1, relu=nn.ReLU6()))
    net.add_module("head", MeanHead(1280, classes, 0.2))
    return net


# Name: (the size of image it was published for, how it is made from size and classes).
ZOO = {
    "resnet8": (32, lambda size, classes: resnet([16, 32, 64], 1, classes, normalised_shortcut=False)),
    "resnet20": (32, lambda size, classes: resnet([16, 32, 64], 3, classes)),
    "resnet18": (224, lambda size, classes: resnet([64, 128, 256, 512], 2, classes, reducing_stem=size > 64)),
    "vgg16": (224, vgg16),
    "mobilenet_v2": (224, mobilenet_v2),
}


def describe(text):
    """(name, size, classes) of NAME or NAME-SIZExSIZE."""
    found = re.fullmatch(r"(\w+)(?:-(\d+)x(\d+))?", text)
    if not found or found[1] not in ZOO or found[2] != found[3]:
        sys.exit(f"unknown network `{text}`; known: {', '.join(ZOO)}, each also with a size such as resnet18-32x32")
    size = int(found[2] or ZOO[found[1]][0])
    return found[1], size, 10 if size <= 64 else 1000


def build(text):
    name, size, classes = describe(text)
    return ZOO[name][1](size, classes)


def randomise(net, generator):
    """Weights by fan-in, and batch-norm parameters away from 0 and 1: forgetting or misplacing one changes outputs."""
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            for tensor in (module.weight, module.running_var):
                nn.init.uniform_(tensor, 0.5, 1.5, generator=generator)
            for tensor in (module.bias, module.running_mean):
                nn.init.normal_(tensor, 0.0, 0.2, generator=generator)
        elif isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.normal_(module.bias, 0.0, 0.2, generator=generator)


def load(path):
    """The network of a weights.pt that this file wrote."""
    stored = torch.load(path, weights_only=True)
    net = build(stored["network"])
    net.load_state_dict(stored["state"])
    return net.eval()


def export_onnx(net, images, path):
    # The exporter that has superseded this one writes no opset 17.
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    axes = {"input": {0: "batch"}, "output": {0: "batch"}}
    torch.onnx.export(
        net,
        (images,),
        str(path),
        opset_version=OPSET,
        dynamo=False,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes=axes,
    )


def write(text, folder):
    import numpy

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _, size, _ = describe(text)
    generator = torch.Generator().manual_seed(1)
    net = build(text).eval()
    with torch.no_grad():
        randomise(net, generator)
        images = torch.randn(CHECK_IMAGES, 3, size, size, generator=generator)
        torch.save({"network": text, "state": net.state_dict()}, folder / "weights.pt")
        export_onnx(net, images, folder / "model.onnx")
        outputs = net.double()(images.double())
    numpy.savez(folder / "check.npz", input=images.numpy(), output=outputs.numpy())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: networks.py NETWORK FOLDER")
    write(sys.argv[1], sys.argv[2])
