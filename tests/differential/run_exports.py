#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what exports_test wrote and compares it with the interpreter: run_exports.py pytorch|onnx FOLDER.

pytorch: scores for 4 images and for 1, a kernel in training with its statistics, the names of the state dict, a deep
copy, tracing by torch.compile without a break, and `python model.py`. onnx: the checker of onnx with its shapes, and
scores of ONNX Runtime for 4 images and for 1. Ends with 77 where what it needs is not installed."""

import copy
import importlib.util
import json
import pathlib
import subprocess
import sys

SKIPPED = 77


def read_tensors(path):
    """({name: (shape, memoryview of float32 bytes)}, metadata) of a .safetensors file."""
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    notes = header.pop("__metadata__", {})
    spans = {name: entry["data_offsets"] for name, entry in header.items()}
    return {n: (header[n]["shape"], memoryview(data)[start + b : start + e]) for n, (b, e) in spans.items()}, notes


class Torch:
    def __init__(self):
        import torch

        self.torch = torch
        self.compiled = 0

    def tensors(self, path):
        tensors, notes = read_tensors(path)
        read = self.torch.frombuffer
        return {n: read(bytearray(d), dtype=self.torch.float32).reshape(s) for n, (s, d) in tensors.items()}, notes

    def check(self, folder):
        """Yields what is wrong."""
        torch = self.torch
        spec = importlib.util.spec_from_file_location(folder.name, folder / "model.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        network = module.load()
        stored, _ = self.tensors(folder / "check.safetensors")
        expected, notes = self.tensors(folder / "expected.safetensors")
        images, scores, limit = stored["input"], stored["output"], expected["limit"].item()
        with torch.inference_mode():
            yield from differs("scores", network(images), scores, limit)
            yield from differs("scores of one image", network(images[-1:]), scores[-1:], limit)
            yield from differs("scores of a copy", copy.deepcopy(network)(images), scores, limit)
        weights, _ = read_tensors(folder / "weights.safetensors")
        names = {name for name in network.state_dict() if not name.endswith(".num_batches_tracked")}
        if names != set(weights):
            yield f"the state dict has other names: {sorted(names ^ set(weights))}"
        if "replaced" in notes:
            yield from self.check_training(copy.deepcopy(network.get_submodule(notes["replaced"])), expected)
        if self.compiled < 12:  # tracing takes long
            self.compiled += 1
            traced = torch.compile(network, backend="eager", fullgraph=True, dynamic=True)
            yield from differs("scores of the traced network", traced(images).detach(), scores, limit)

    def check_training(self, kernel, expected):
        limit = expected["train.limit"].item()
        x = expected["train.input"].clone().requires_grad_()
        y = kernel.train()(x)
        yield from differs("training", y.detach(), expected["train.output"], limit)
        y.sum().backward()
        if any(p.grad is None or not p.grad.isfinite().all() for p in kernel.parameters()):
            yield "a weight has no gradient"
        for name, buffer in kernel.named_buffers():
            yield from differs(f"statistic {name} after training", buffer, expected[f"after.{name}"], limit)


class Onnx:
    def __init__(self):
        import numpy
        import onnx
        import onnxruntime

        self.numpy, self.onnx, self.runtime = numpy, onnx, onnxruntime

    def tensors(self, path):
        tensors, _ = read_tensors(path)
        return {n: self.numpy.frombuffer(d, dtype="<f4").reshape(s) for n, (s, d) in tensors.items()}

    def check(self, folder):
        model = self.onnx.load(folder / "model.onnx")
        self.onnx.checker.check_model(model, full_check=True)
        domains = {node.domain for node in model.graph.node} | {entry.domain for entry in model.opset_import}
        if domains != {""} or model.opset_import[0].version != 17:
            yield f"operators of {domains}, set {model.opset_import[0].version}"
        path, providers = folder / "model.onnx", ["CPUExecutionProvider"]
        session = self.runtime.InferenceSession(path, providers=providers)
        stored = self.tensors(folder / "check.safetensors")
        expected = self.tensors(folder / "expected.safetensors")
        limit = float(expected["limit"][0])
        images, scores = stored["input"], stored["output"]
        if "loose" in expected:
            # By default ONNX Runtime rounds weights that have more than 8 bits to 8, and biases to whole steps.
            exact = self.runtime.InferenceSession(
                path, providers=providers, disabled_optimizers=["WeightBiasQuantization"]
            )
            found = exact.run(["scores"], {"images": images})[0]
            # Where a value lies between two codes, its last bits decide: hardly ever in all images.
            close = min(range(len(scores)), key=lambda i: abs(found[i] - scores[i]).max())
            yield from differs("scores of the closest image", found[close], scores[close], limit)
            limit = float(expected["loose"][0])
        yield from differs("scores", session.run(["scores"], {"images": images})[0], scores, limit)
        yield from differs("scores of one image", session.run(["scores"], {"images": images[-1:]})[0], scores[-1:], limit)


def differs(what, found, expected, limit):
    if tuple(found.shape) != tuple(expected.shape):
        yield f"{what}: shape {tuple(found.shape)}, expected {tuple(expected.shape)}"
        return
    difference = float(abs(found - expected).max())
    if not difference <= limit:
        yield f"{what}: largest difference {difference:.2e}, limit {limit:.2e}"


def main():
    kind, root = sys.argv[1], pathlib.Path(sys.argv[2])
    try:
        runner = {"pytorch": Torch, "onnx": Onnx}[kind]()
    except ImportError as missing:
        print(f"skipped: {missing}; install it for {sys.executable}")
        sys.exit(SKIPPED)
    folders = sorted(path.parent for path in root.glob("*/expected.safetensors"))
    failures = 0
    for folder in folders:
        try:
            wrong = list(runner.check(folder))
        except Exception as problem:  # one broken export must not hide the others
            wrong = [f"{type(problem).__name__}: {problem}"]
        failures += bool(wrong)
        for text in wrong:
            print(f"{folder}: {text}")
    if kind == "pytorch" and folders:
        done = subprocess.run([sys.executable, folders[0] / "model.py"], capture_output=True, text=True, check=False)
        print(f"{folders[0].name}: {(done.stdout or done.stderr).strip()}")
        failures += done.returncode != 0
    print(f"{kind}: {len(folders)} exports, {failures} failures")
    sys.exit(failures > 0 or not folders)


if __name__ == "__main__":
    main()
