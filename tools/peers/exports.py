# SPDX-License-Identifier: Apache-2.0
"""The networks of the benchmark as `kasimir export` writes them, all forms of one with the same random weights, and
what run.py measures of them."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "kasimir"
PYTHON = ROOT / "build" / "peers" / "bin" / "python3"
NETWORKS = ["resnet20", "resnet18-32x32", "resnet18", "vgg16", "mobilenet_v2"]


def run(*command):
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except FileNotFoundError:
        sys.exit(f"there is no {words[0]}; `make build` makes it")
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}")


def exported(name, form, python, *options, kernel=None):
    """The folder of a network in a form (pytorch, onnx, c). `name` is one of the zoo, or with a size as in
    resnet18-32x32; `kernel` is a file whose kernel replaces its convolutions. It is written again each time: the
    program may have changed."""
    sized = re.fullmatch(r"(\w+)-(\d+x\d+)", name)
    network, size = sized.groups() if sized else (name, None)
    folder = ROOT / "build" / "native" / form / (f"{name}-{pathlib.Path(kernel).stem}" if kernel else name)
    given = ["--input", f"3x{size}"] if size else []
    given += ["--kernel", kernel] if kernel else []
    run(PROGRAM, "export", "--network", network, *given, "--to", form, "--python", python, *options, folder)
    return folder


def folders(name, python, kernel=None):
    """What run.py reads of a network: the folders of its ONNX and its PyTorch form."""
    return ",".join(str(exported(name, form, python, kernel=kernel)) for form in ("onnx", "pytorch"))


def timed(models, batch, threads, folder, *options):
    """The rows of run.py by peer: `ours` is the program `net_main` of a folder, with its weights beside it."""
    command = [ROOT / "tools" / "peers" / "run.py", "--json", "--folder", models, "--batch", batch]
    command += ["--threads", threads, *options, "--program", f"ours={folder}/net_main {folder}/net.weights {{input}} {{output}}"]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["peer"]: row for row in rows}
