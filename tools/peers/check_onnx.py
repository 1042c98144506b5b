#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Exports models of torchvision and timm as ONNX files, lets `kasimir` read them, and compares what it makes of them
with ONNX Runtime: as C and as ONNX, on the same random image. Prints one row for each file.

    build/peers/bin/python3 tools/peers/check_onnx.py                     # all models, both exporters
    build/peers/bin/python3 tools/peers/check_onnx.py resnet18 timm:repvgg_a0 --exporter dynamo
    build/peers/bin/python3 tools/peers/check_onnx.py --no-c              # without compiling: seconds for each model
    build/peers/bin/python3 tools/peers/check_onnx.py --kernel examples/kernels/depthwise_separable.txt
    build/peers/bin/python3 tools/peers/check_onnx.py vit_b_16 --kernel examples/kernels/low_rank.txt --replace '*linear*'

With --kernel a search of one trial puts the kernel in place of convolutions, trains the network for a few steps on random
images, and exports it as ONNX and as C; `kasimir export` compares both with the trained network.

Weights are random; statistics of batch norms are those of random images, so that values keep their size. Differences
are of the largest score. Exit code 1 where a file that is read differs by more than 1e-4.
Needs what tools/peers/setup installs."""

import argparse
import json
import logging
import pathlib
import re
import shutil
import subprocess
import sys
import warnings

import exports
import numpy
import onnx
import onnxruntime
import torch

LIMIT = 1e-4
IMAGES = 20  # random ones that networks with kernels are trained on: two steps of eight
MODELS = [
    "resnet18", "resnet50", "vgg16_bn", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "densenet121",
    "squeezenet1_1", "shufflenet_v2_x1_0", "regnet_y_400mf", "regnet_x_400mf", "resnext50_32x4d", "convnext_tiny",
    "vit_b_16", "swin_t", "timm:resnext50_32x4d", "timm:res2net50_26w_4s", "timm:repvgg_a0",
]  # fmt: skip
# Their classifiers or windows need the size that they were published for.
LARGE = {"vgg16_bn", "vit_b_16", "swin_t"}
FOLDER = exports.ROOT / "build" / "native" / "models"


def model_of(name):
    torch.manual_seed(1)
    if name.startswith("timm:"):
        import timm

        return timm.create_model(name.removeprefix("timm:"), pretrained=False)
    import torchvision

    return getattr(torchvision.models, name)(weights=None)


def settle(model, shape):
    """Statistics of random images, as training would leave them, and norms that are not the identity."""
    for module in model.modules():
        # Vision transformers begin with a classifier of zeros, behind which everything would look alike.
        if isinstance(module, torch.nn.Linear) and not module.weight.any():
            torch.nn.init.normal_(module.weight, 0.0, 0.1)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # the mean over all batches
        norm.reset_running_stats()
        torch.nn.init.normal_(norm.weight, 1.0, 0.1)
        torch.nn.init.normal_(norm.bias, 0.0, 0.1)
    model.train()
    with torch.no_grad():
        for _ in range(2 if norms else 0):
            model(torch.randn(4, *shape[1:]))
    return model.eval()


def write_model(name, exporter):
    """The file and the shape of an image. It is made again each time: exporters change."""
    shape = (1, 3, 224, 224) if name in LARGE else (1, 3, 64, 64)
    path = FOLDER / f"{name.replace(':', '-')}-{exporter}.onnx"
    model = settle(model_of(name), shape)
    options = {"opset_version": 17} if exporter == "script" else {"external_data": False}
    torch.onnx.export(model, (torch.randn(shape),), path, dynamo=exporter == "dynamo", verbose=False, **options)
    return path, shape


def call(*words):
    """Exit code and output of a program."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def scores(path, image):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: image})[0].ravel()


def scores_of_c(program, path, image):
    """The scores of the exported program, or why there are none."""
    folder = FOLDER / (path.stem + "-c")
    code, text = call(program, "export", "--network", path, "--to", "c", "--cpu", "native", folder)
    if code:
        return None, reason(text)
    code, text = call("make", "--silent", "-C", folder, "net_main")
    if code:
        return None, text.strip().splitlines()[-1]
    image.tofile(folder / "image")
    (folder / "scores").unlink(missing_ok=True)  # the program would compare with what an earlier run left
    code, text = call(folder / "net_main", folder / "net.weights", folder / "image", folder / "scores")
    return (None, text) if code else (numpy.fromfile(folder / "scores", "<f4"), None)


def reason(text):
    """The first line of an error."""
    lines = [line for line in text.splitlines() if line.startswith("error: ")]
    return lines[0].removeprefix("error: ") if lines else text.strip()[-200:]


def random_images(shape):
    """A file with images of a model's size, of two classes."""
    path = FOLDER / f"images-{shape[2]}.npz"
    images = numpy.random.default_rng(3).integers(0, 256, (IMAGES, *shape[1:]), dtype=numpy.uint8)
    numpy.savez(path, x=images, y=numpy.arange(IMAGES) % 2)
    return path


def trained(program, path, shape, kernel, replace):
    """The file of a study in which the kernel is trial 1, or why it cannot be."""
    study = path.with_suffix(".db")
    for file in study.parent.glob(study.name + "*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    data = ["--data", random_images(shape), "--pixel-mean", "0.5", "--pixel-deviation", "0.25", "--batch", "8"]
    rungs = ["--quick-images", IMAGES, "--quick-epochs", "1", "--promote", "0", "--full-epochs", "1"]
    few = ["--trials", "1", "--finalists", "1", "--finalist-seeds", "1", "--workers", "1"]
    # Neither its cost nor its time nor what it sees rules the kernel out: this is about whether it works.
    any_kernel = ["--budget", "none", "--slowest", "1000", "--allow-pointwise", "--allow-unmixed", "--latency", "eager"]
    places = [word for pattern in replace or [] for word in ("--replace", pattern)]
    code, text = call(program, "search", "--network", path, *places, *data, *rungs, *few, *any_kernel,
                      "--seed-kernels", kernel, "--study", study)  # fmt: skip
    if code:
        return None, text, reason(text)
    code, shown = call(program, "study", "show", study, "--json")
    trials = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
    mine = next((trial for trial in trials if trial.get("number") == 1), {})
    why = None if mine.get("state") == "complete" else f"{mine.get('state')}: {mine.get('reason')}"
    return study, text, why


def difference(checked):
    """Of the largest score, from what `kasimir export` says: a share in C, a number beside its limit of 1e-4 in ONNX."""
    share = re.search(r"largest difference (\S+) of the largest score", checked)
    if share:
        return float(share[1])
    numbers = re.search(r"largest difference (\S+), limit (\S+)", checked)
    return 1e-4 * float(numbers[1]) / float(numbers[2])


def kernel_row_of(name, exporter, asked):
    """Cells of the table of networks with a kernel, and whether all is well."""
    path, shape = write_model(name, exporter)
    study, text, why = trained(asked.program, path, shape, asked.kernel.resolve(), asked.replace)
    covered = re.search(r"(\d+) of (\d+) convolutions are replaced, ([\d.]+) %", text)
    places = [f"{covered[1]} of {covered[2]}", covered[3]] if covered else ["none", ""]
    cells = []
    for form in ("onnx", "c") if why is None else ():
        folder = FOLDER / f"{path.stem}-kernel-{form}"
        options = ["--trial", "1", "--to", form, "--python", sys.executable]
        code, text = call(asked.program, "export", study, folder, *options)
        checked = re.search(r"^checked: .*", text, re.M)
        cells.append(f"{difference(checked[0]):.1e}" if checked else "")
        if code or not checked:
            why = f"{form}: {reason(text)}"
    return [name, exporter, *places, *(cells + ["", ""])[:2], why or ""], why is None


def row_of(name, exporter, asked):
    """Cells of the table, and whether all is well."""
    path, shape = write_model(name, exporter)
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    start = [name, exporter, str(nodes)]
    code, text = call(asked.program, "network", "--network", path)
    covered = re.search(r"(\d+) of (\d+) convolutions are replaced", text)
    if code and "nothing is replaced" not in text:
        return [*start, "", "", "", "", reason(text)], True
    layers = re.search(r"are (\d+) layers", text)
    places = f"{covered[1]} of {covered[2]}" if covered else "none"
    image = numpy.random.default_rng(2).standard_normal(shape, dtype=numpy.float32)
    wanted = scores(path, image)
    size = numpy.abs(wanted).max()
    folder = FOLDER / (path.stem + "-onnx")
    found = {}
    code, text = call(asked.program, "export", "--network", path, "--to", "onnx", folder)
    why = reason(text) if code else None
    if not code:
        found["onnx"] = scores(folder / "model.onnx", image)
    if asked.c and not why:
        found["c"], why = scores_of_c(asked.program, path, image)
    far = {form: numpy.abs(of - wanted).max() / size for form, of in found.items() if of is not None}
    cells = [f"{far[form]:.1e}" if form in far else "" for form in ("onnx", "c")]
    good = why is None and all(of <= LIMIT for of in far.values())
    return [*start, layers[1] if layers else "", places, *cells, why or ""], good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", default=MODELS, help="of torchvision, or timm:NAME")
    parser.add_argument("--exporter", action="append", choices=["script", "dynamo"], help="default: both")
    parser.add_argument("--kernel", type=pathlib.Path, help="a kernel's text, put in place of convolutions and trained")
    parser.add_argument("--replace", action="append", help="with --kernel: which convolutions, by name; * and ? match")
    parser.add_argument("--no-c", dest="c", action="store_false", help="compile nothing")
    parser.add_argument("--program", default=exports.PROGRAM, type=pathlib.Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    makes = kernel_row_of if asked.kernel else row_of
    middle = ["places", "MACs replaced, %"] if asked.kernel else ["operators", "layers", "places"]
    columns = ["model", "exporter", *middle, "ONNX differs", "C differs", "why not"]
    print(" | ".join(columns), "|".join(["---"] * len(columns)), sep="\n", flush=True)
    bad = 0
    for name in asked.model:
        for exporter in asked.exporter or ["script", "dynamo"]:
            cells, good = makes(name, exporter, asked)
            bad += not good
            print(" | ".join(cells), flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
