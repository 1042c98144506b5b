# SPDX-License-Identifier: Apache-2.0
"""The reference part of the site, written from what the program says of itself."""

import json
import pathlib
import re
import subprocess
import tempfile
import textwrap

PAGES = ["reference/commands", "reference/primitives", "reference/numbers", "reference/networks", "reference/presets",
         "reference/python"]
WIDTH = 104
# Enough attempts to draw a kernel with any primitive; where it is small, the picture is.
SAMPLE = ["--network", "resnet20", "--budget", "none", "--allow-pointwise", "--allow-unmixed", "--composites", "0",
          "--seed", "1"]


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def records(program, *words):
    return [json.loads(line) for line in run(program, *words, "--json").splitlines()]


def block(text, language="text"):
    fence = "```"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def row(*cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def table(header, rows):
    return "\n".join([row(*header), row(*["---"] * len(header)), *(row(*cells) for cells in rows)]) + "\n"


def sentence(brief):
    return f"{brief[0].upper()}{brief[1:]}."


def wrapped(text):
    """Help with its long lines broken, what follows below where the description begins."""
    lines = []
    for line in text.splitlines():
        at = re.match(r"( {2}\S(?:.*?\S)?\s{2,})\S", line)
        indent = len(at[1]) if at and len(at[1]) < 60 else len(line) - len(line.lstrip())
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, break_long_words=False,
                               break_on_hyphens=False, drop_whitespace=True) if len(line) > WIDTH else [line]
    return "\n".join(lines)


def subcommands(text):
    """Names in the help's list of subcommands."""
    part = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.M)
    return re.findall(r"^  (\w+)", part[1], re.M) if part else []


def command_sections(program, words):
    text = run(program, *words, "--help")
    level = "#" * max(2, len(words) + 1)
    yield f"{level} {' '.join(['kasimir', *words])}\n\n{block(wrapped(text))}"
    for name in subcommands(text):
        yield from command_sections(program, [*words, name])


def commands(program):
    return "# Commands\n\nWhat `--help` says of every command.\n\n" + "\n".join(command_sections(program, []))


def example_of(program, name, folder):
    """A short kernel with the primitive: what `show` says of it, its picture in the folder; None if there is none."""
    for longest in range(1, 9):
        done = subprocess.run([program, "sample", *SAMPLE, "--require", name, "--primitives", f"1..{longest}",
                               "--count", "1", "--json"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            continue
        text = json.loads(done.stdout.splitlines()[0])["kernel"]
        kernel = re.sub(r"^kernel \w+", f"kernel with_{name}", text)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(kernel)
            file.flush()
            shown = run(program, "show", file.name, "--network", "resnet20", "--stages", "--svg",
                        str(folder / f"{name}.svg"))
        return shown[: shown.index("\n  x ")]
    return None


def primitives(program, folder):
    pictures = folder / "primitives"
    pictures.mkdir()
    parts = ["# Primitives\n\nThe steps that kernels are made of, with the parameters that a kernel's text gives them. "
             "Each example is a kernel that the sampler drew (`kasimir sample --require NAME`), followed by its "
             "equations.\n"]
    for one in records(program, "catalog", "primitives"):
        operands = "one operand" if one["operands"] == 1 else f"{one['operands']} operands"
        weights = "learned weights" if one["weights"] else "no weights"
        parts.append(f"## {one['name']}\n\n{sentence(one['brief'])} "
                     f"{one['family'].capitalize()}, {operands}, {weights}. Source: {one['source']}.\n")
        if one["params"]:
            parts.append(table(["parameter", "takes", "default", ""],
                               [[f"`{p['name']}`", p["kind"] + (": " + ", ".join(p["words"]) if "words" in p else ""),
                                 f"`{p['default']}`" if "default" in p else "", p["brief"]] for p in one["params"]]))
        example = example_of(program, one["name"], pictures)
        if example:
            parts.append(block(example) + f"\n![A kernel with {one['name']}](primitives/{one['name']}.svg)\n")
    return "\n".join(parts)


def listing(title, words, rows):
    return f"{'#' * 2} {title}\n\n{words}\n\n" + table(["name", "", "source"],
                                                        [[f"`{r['name']}`", r["brief"], r["source"]] for r in rows])


def numbers(program):
    return "# Numbers\n\n" + "\n".join([
        listing("Formats", "How weights and activations are stored.", records(program, "catalog", "formats")),
        listing("Quantizers", "From a range of values to codes.", records(program, "catalog", "quantizers")),
        listing("Ranges", "How the range of a tensor is found.", records(program, "catalog", "ranges")),
    ])


def networks(program):
    rows = [[f"`{r['name']}`", r["brief"], r["input"], r["classes"], r["source"]]
            for r in records(program, "catalog", "networks")]
    return ("# Networks\n\nThose that `--network` builds by name; any other is read from an ONNX file.\n\n"
            + table(["name", "", "image", "classes", "source"], rows))


def presets(program):
    text = run(program, "accel", "presets")
    parts = ["# Accelerators that come with the program\n\n`--arch` takes these names, or a file in the same form.\n",
             block(text)]
    for name in [line.split()[0] for line in text.splitlines()[2:] if line.strip()]:
        parts.append(f"## {name}\n\n" + block(run(program, "accel", "presets", name), "toml"))
    return "\n".join(parts)


def python():
    modules = ["search", "sites", "study", "kernel", "modules", "network", "accel", "quantize", "errors"]
    parts = ["# The Python package\n\nFrom its own documentation; [how it is used](../python.md).\n"]
    for name in modules:
        parts.append(f"## {name}\n\n" + block(f".. automodule:: kasimir.{name}", "{eval-rst}"))
    return "\n".join(parts)


def write(program, folder):
    target = pathlib.Path(folder) / "reference"
    target.mkdir()
    pages = {"commands": commands(program), "primitives": primitives(program, target), "numbers": numbers(program),
             "networks": networks(program), "presets": presets(program), "python": python()}
    for name, text in pages.items():
        (target / f"{name}.md").write_text(text)
