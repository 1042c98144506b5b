#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts which primitive reads what another one made, in kernel files.

    python3 tools/successors.py examples/kernels/*.txt > src/kasimir/synth/successors.inc

prints the sampler's built-in table of successors (src/kasimir/synth/successors.h); with --text, a file for
`--successors`.
"""
import argparse
import collections
import itertools
import pathlib
import re

STEP = re.compile(r"\s*(\w+) = (\w+)\((.*)\)\s*$")
OPERAND = re.compile(r"\w+$")


def steps(text):
    """Of each line `name = primitive(operand, .., parameter=..)`: the three parts."""
    for line in text.splitlines():
        match = STEP.match(line.split("#")[0])
        if match:
            name, primitive, arguments = match.groups()
            words = [word.strip() for word in arguments.split(",")]
            yield name, primitive, list(itertools.takewhile(OPERAND.match, words))


def count(text, counts):
    made_by = {"x": "input"}
    for name, primitive, words in steps(text):
        for word in words:
            if word in made_by:
                counts[made_by[word], primitive] += 1
        made_by[name] = primitive


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="+", type=pathlib.Path)
    parser.add_argument("--text", action="store_true", help="lines of PRODUCER CONSUMER WEIGHT")
    options = parser.parse_args()
    counts = collections.Counter()
    for path in options.kernels:
        count(path.read_text(), counts)
    if not options.text:
        print("// SPDX-License-Identifier: Apache-2.0")
        print("// python3 tools/successors.py examples/kernels/*.txt")
    for (producer, consumer), times in sorted(counts.items()):
        print(f"{producer} {consumer} {times}" if options.text else f'{{"{producer}", "{consumer}", {times}.0}},')


main()
