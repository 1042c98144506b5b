#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the ONNX project's own tests of operators (onnx.backend.test, Apache-2.0, part of the PyPI package `onnx`) for
the operators that `kasimir` reads, and prints how each ended: passed, refused with the reason, or failed.

    python3 tools/peers/onnx_node_tests.py                    # needs onnx and onnxruntime, as in tools/peers/setup
    python3 tools/peers/onnx_node_tests.py --to c             # compiles each: minutes
    python3 tools/peers/onnx_node_tests.py --only test_conv

A test's first input of floating-point numbers becomes the images, its first axis the batch; its other inputs become
constants. Behind its operators stands a matrix (the unit matrix, or 64 random columns where there are more than 512
numbers), so that it is a network with scores. Exit code 1 where one failed: where a file was read and computes
something else than the test says."""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import onnx.backend.test.loader
import onnx.helper
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 1e-4


class Unsuitable(Exception):
    """Why a test cannot be written as a network for images."""


def call(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def reason(text):
    lines = [line for line in text.splitlines() if line.startswith("error: ")]
    return lines[0].removeprefix("error: ") if lines else text.strip()[-200:]


def operators(program, folder):
    """Those that are read, as the program says when it meets another one."""
    path = folder / "other.onnx"
    image = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, 1, 1])
    node = onnx.helper.make_node("NoOperator", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [image], [onnx.helper.make_tensor_value_info("y", 1, [1, 1])])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)
    found = re.search(r"read are: (.*)", call(program, "network", "--network", path)[1])
    return set(found[1].split(", "))


def read(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def parts_of(case):
    """Model, inputs and results; older packages have them in files, newer ones make them."""
    if case.model is not None:
        return (case.model, *case.data_sets[0])
    folder = pathlib.Path(case.model_dir)
    files = [sorted((folder / "test_data_set_0").glob(f"{kind}_*.pb")) for kind in ("input", "output")]
    return (onnx.load(folder / "model.onnx"), *([read(path) for path in paths] for paths in files))


def wrapped(name, model, inputs, outputs):
    """The test as a network, its images [n, c, h, w] and the scores that it wants."""
    graph = model.graph
    values = {}
    for value, array in zip(graph.input, inputs):
        if not value.name or not isinstance(array, (numpy.ndarray, numpy.generic)):
            raise Unsuitable("an input that is no tensor")
        values[value.name] = numpy.asarray(array)
    images = next((name for name, array in values.items() if array.dtype == numpy.float32), None)
    if images is None:
        raise Unsuitable("no input of float32")
    x, y = values[images], numpy.asarray(outputs[0])
    if y.dtype != numpy.float32:
        raise Unsuitable("a result of another type than float32")
    if x.ndim < 2 or y.ndim < 2 or x.shape[0] != y.shape[0] or x.size == 0 or y.size == 0:
        raise Unsuitable("images that are not along the first axis of input and result")
    # A file that is read is a network as it is used: nothing is dropped, whatever it asks of a training.
    if any(node.op_type == "Dropout" and len(node.input) > 2 for node in graph.node) and not numpy.array_equal(x, y):
        raise Unsuitable("a result of chance")
    nodes = list(graph.node)
    constants = [t for t in graph.initializer]
    constants += [numpy_helper.from_array(array, of) for of, array in values.items() if of != images]
    shape = list(x.shape) if x.ndim == 4 else [x.shape[0], x.size // x.shape[0], 1, 1]
    if x.ndim != 4:
        constants.append(numpy_helper.from_array(numpy.array(x.shape, numpy.int64), "kasimir.shape"))
        nodes.insert(0, onnx.helper.make_node("Reshape", ["kasimir.images", "kasimir.shape"], [images]))
    count = y.size // y.shape[0]
    matrix = numpy.eye(count, dtype="f4") if count <= 512 else numpy.random.default_rng(1).standard_normal((count, 64), "f4")
    constants.append(numpy_helper.from_array(matrix, "kasimir.matrix"))
    flat = onnx.helper.make_node("Flatten", [graph.output[0].name], ["kasimir.flat"], axis=1)
    nodes += [flat, onnx.helper.make_node("Gemm", ["kasimir.flat", "kasimir.matrix"], ["kasimir.scores"])]
    source = images if x.ndim == 4 else "kasimir.images"
    made = onnx.helper.make_graph(
        nodes, name,
        [onnx.helper.make_tensor_value_info(source, onnx.TensorProto.FLOAT, shape)],
        [onnx.helper.make_tensor_value_info("kasimir.scores", onnx.TensorProto.FLOAT, [y.shape[0], matrix.shape[1]])],
        constants,
    )  # fmt: skip
    network = onnx.helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)
    return network, x.reshape(shape), y.reshape(y.shape[0], -1).astype("f8") @ matrix


def scores_of_onnx(folder, images):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return numpy.concatenate([session.run(None, {name: image[None]})[0].reshape(1, -1) for image in images])


def scores_of_c(folder, images):
    code, text = call("make", "--silent", "-C", folder, "net_main")
    if code:
        raise RuntimeError(text.strip().splitlines()[-1])
    rows = []
    for image in images:
        image.tofile(folder / "image")
        code, text = call(folder / "net_main", folder / "net.weights", folder / "image", folder / "scores")
        if code:
            raise RuntimeError(text)
        rows.append(numpy.fromfile(folder / "scores", "<f4"))
    return numpy.stack(rows)


def outcome(name, parts, asked, folder):
    """How a test ended, and why."""
    try:
        network, images, wanted = wrapped(name, *parts)
    except Unsuitable as why:
        return "unsuitable", str(why)
    path = folder / f"{name}.onnx"
    onnx.save(network, path)
    out = folder / name
    code, text = call(asked.program, "export", "--network", path, "--to", asked.to, "--python", "/bin/false", out)
    if code == 2:
        return "refused", re.sub(r"^\S+: (node `[^`]*` )?", "", reason(text))
    if code:
        return "failed", reason(text)
    try:
        found = scores_of_c(out, images) if asked.to == "c" else scores_of_onnx(out, images)
    except RuntimeError as why:
        return "failed", str(why)
    far = numpy.abs(found - wanted).max() / max(1.0, numpy.abs(wanted).max())
    return ("passed", "") if far <= LIMIT else ("failed", f"differs by {far:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="tests whose names begin so")
    parser.add_argument("--to", choices=["onnx", "c"], default="onnx", help="what is made of each and run")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "release" / "kasimir")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of the tests themselves, while they are made
    ends = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        known = operators(asked.program, folder)
        print("test | result | why\n---|---|---")
        for case in sorted(onnx.backend.test.loader.load_model_tests(kind="node"), key=lambda case: case.name):
            if not case.name.startswith(asked.only):
                continue
            parts = parts_of(case)
            if not {node.op_type for node in parts[0].graph.node} <= known:
                ends["with operators that are not read"] += 1
                continue
            end, why = outcome(case.name, parts, asked, folder)
            ends[end] += 1
            print(f"{case.name} | {end} | {why}", flush=True)
    print(", ".join(f"{count} {end}" for end, count in sorted(ends.items())))
    sys.exit(1 if ends["failed"] else 0)


if __name__ == "__main__":
    main()
