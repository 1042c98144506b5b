# SPDX-License-Identifier: Apache-2.0
"""A small CNN on Fashion-MNIST becomes cheaper: first_search.py [trials] [steps] [folder]."""

import gzip
import sys

import torch
from torch import nn

import kasimir

TRIALS, STEPS, FOLDER = (sys.argv[1:] + ["8", "300", "faster"][len(sys.argv) - 1 :])[:3]


def read(name: str, skip: int, root: str = "/usr/share/datasets/fashion-mnist") -> torch.Tensor:
    """The bytes of an IDX file of the Debian package dataset-fashion-mnist."""
    with gzip.open(f"{root}/{name}-ubyte.gz") as file:
        return torch.frombuffer(bytearray(file.read()[skip:]), dtype=torch.uint8)


images = read("train-images-idx3", 16).view(-1, 1, 28, 28) / 255.0
labels = read("train-labels-idx1", 8).long()


def block(ci: int, co: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(ci, co, 3, stride, 1, bias=False), nn.BatchNorm2d(co), nn.ReLU()]


def network() -> nn.Module:
    body = [*block(1, 16), *block(16, 32, 2), *block(32, 64, 2), *block(64, 64)]
    return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def evaluate(model: nn.Module) -> float:
    """Trains on 50,000 images, returns the accuracy on 5,000 others."""
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for _ in range(int(STEPS)):
        batch = torch.randint(50_000, (64,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimizer.step()
    with torch.inference_mode():
        return float((model.eval()(images[-5000:]).argmax(1) == labels[-5000:]).float().mean())


if __name__ == "__main__":
    model = network()
    print(kasimir.find_sites(model, images[:1]))
    study = kasimir.search(model, images[:32], evaluate, budget="macs=0.05..0.4", trials=int(TRIALS))
    for trial in study.trials:
        print(trial.number, trial.state, trial.values or trial.reason)
    print(study.best.kernel, f"\noriginal: {evaluate(network()):.3f}, {study.original['latency']:.1f} ms")
    study.best.save(FOLDER)  # kernels.py and weights.pt, which need torch only: kernels.load(network())
