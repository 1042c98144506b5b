#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/reference/onnx again: a small network of PyTorch with most of what is read from ONNX files and a small
vision transformer, by both of PyTorch's exporters, and prints the scores of ONNX Runtime that
tests/unit/onnx/exported_test.cpp compares with; and a network that was trained on the pictures of tests/cli/make_pictures.py, for tests that start from a user's weights.

    build/peers/bin/python3 tools/peers/onnx_fixtures.py [FOLDER]"""

import itertools
import logging
import pathlib
import sys
import warnings

import onnx
import onnxruntime
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "reference" / "onnx"


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8, eps=1e-3)
        self.late = nn.BatchNorm2d(8, eps=1e-3)
        self.deep = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.fc1 = nn.Conv2d(8, 4, 1)
        self.fc2 = nn.Conv2d(4, 8, 1)
        self.norm = nn.LayerNorm(8, eps=1e-6)
        self.up = nn.Linear(8, 12)
        self.down = nn.Linear(12, 8)
        self.gamma = nn.Parameter(torch.randn(8, 1, 1))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = F.hardswish(self.bn(self.stem(x)))
        a, b = x.chunk(2, 1)
        x = torch.cat((a, self.deep(b)), 1)
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        x = x * torch.sigmoid(self.fc2(F.silu(self.fc1(x.mean((2, 3), keepdim=True)))))
        y = self.norm(x.permute(0, 2, 3, 1))
        y = self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)
        x = F.relu(self.late(x + self.gamma * y))
        x = F.max_pool2d(x, 3, 2, 1)
        x = F.hardsigmoid(F.avg_pool2d(x, 2, 2)) + 0
        return self.head(x.mean((2, 3)))


class Shades(nn.Module):
    """Tells the two classes of tests/cli/make_pictures.py apart. Its norms become part of its convolutions; its zeros
    are layers of their own; its window of 5x5 has a stride."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.zeros = nn.ZeroPad2d(2)
        self.wide = nn.Conv2d(8, 8, 5, stride=2, bias=False)
        self.bn2 = nn.BatchNorm2d(8)
        self.squeeze = nn.Conv2d(8, 4, 1)
        self.excite = nn.Conv2d(4, 8, 1)
        self.deep = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(8)
        self.hidden = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = F.relu(self.bn1(self.stem(x)))
        x = F.hardswish(self.bn2(self.wide(self.zeros(x))))
        gate = F.relu(self.squeeze(x.mean((2, 3), keepdim=True)))
        x = x * F.hardsigmoid(self.excite(gate))
        x = x + torch.clamp(self.bn3(self.deep(x)), 0, 6)
        x = F.relu(self.hidden(x.mean((2, 3)).reshape(x.shape[0], 8)))
        return self.head(x)


def shades(count):
    """Pictures as make_pictures.py draws them, pixels less 0.5 and divided by 0.25, and their classes."""
    labels = torch.arange(count) % 2
    shade = (20 + torch.rand(count) * 57) * (labels * 2 - 1)
    blocks = torch.stack([shade, -shade, shade / 2, shade], 1).reshape(count, 1, 2, 2)
    pixels = (128 + blocks.repeat_interleave(8, 2).repeat_interleave(8, 3)) / 255
    return (pixels - 0.5) / 0.25, labels


def trained_model():
    torch.manual_seed(2)
    model = Shades()
    optimiser = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for _ in range(60):
        images, labels = shades(32)
        optimiser.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimiser.step()
    return model.eval()


def random_model():
    torch.manual_seed(1)
    model = Mixed().eval()
    with torch.no_grad():
        for norm in (model.bn, model.late):
            norm.running_mean.normal_(0, 0.3)
            norm.running_var.uniform_(0.5, 1.5)
            norm.weight.normal_(1, 0.2)
            norm.bias.normal_(0, 0.2)
        model.norm.weight.normal_(1, 0.2)
        model.norm.bias.normal_(0, 0.2)
    return model


def vision_transformer():
    torch.manual_seed(3)
    model = torchvision.models.VisionTransformer(
        image_size=16, patch_size=8, num_layers=2, num_heads=2, hidden_dim=8, mlp_dim=12, num_classes=5
    )
    for parameter in model.parameters():  # some begin with zeros
        nn.init.normal_(parameter, 0.3, 0.5)
    return model.eval()


def without_paths(path):
    """Exporters note where on this machine each operator comes from."""
    model = onnx.load(path)
    for part in [*model.graph.node, *model.graph.initializer]:
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    del model.graph.value_info[:]
    model.graph.ClearField("metadata_props")
    model.ClearField("metadata_props")
    onnx.save(model, path)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else REFERENCE
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    images = (torch.arange(3 * 16 * 16).reshape(1, 3, 16, 16) % 17 - 8).float() / 8
    forms = {
        "script": {"opset_version": 17, "dynamic_axes": {"images": {0: "n"}}},
        "dynamo": {"opset_version": 18, "external_data": False},
    }
    models = {"mixed": random_model(), "transformer": vision_transformer()}
    for name, form in itertools.product(models, forms):
        options = forms[form]
        path = str(folder / f"{name}-{form}.onnx")
        names = {"input_names": ["images"], "output_names": ["scores"]}
        torch.onnx.export(models[name], (images,), path, dynamo=form == "dynamo", verbose=False, **names, **options)
        without_paths(path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        scores = session.run(None, {"images": images.numpy()})[0].ravel()
        print(name, form, " ".join(f"{score:.7f}" for score in scores))
    path = str(folder / "shades-script.onnx")
    names = {"input_names": ["images"], "output_names": ["scores"], "dynamic_axes": {"images": {0: "n"}}}
    torch.onnx.export(trained_model(), (shades(1)[0],), path, dynamo=False, opset_version=17, **names)
    without_paths(path)
    images, labels = shades(100)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    right = (session.run(None, {"images": images.numpy()})[0].argmax(1) == labels.numpy()).mean()
    print(f"shades {right:.2f} right")


if __name__ == "__main__":
    main()
