#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Repeats what the zoo's files say of accelerators: zoo_accelerator.py KASIMIR SOURCE. Their commands need no training."""

import json
import shlex
import subprocess
import sys

# A search of a mapping ends by time, within so much of the best product of time and energy on these networks.
TOLERANCE = 0.02


def total(kasimir, source, words):
    done = subprocess.run([kasimir, *words, "--json"], cwd=source, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(kasimir, source):
    listed = subprocess.run([kasimir, "zoo", "list", "--json"], check=True, capture_output=True, text=True).stdout
    rows = [row for row in map(json.loads, listed.splitlines()) if row["cycles"]]
    assert len(rows) >= 10, len(rows)
    original = {}
    for row in rows:
        program, *words = shlex.split(row["command"])
        assert program == "kasimir", row["command"]
        at = words.index("--kernel")
        bare = tuple(words[:at] + words[at + 2:])
        if bare not in original:
            original[bare] = total(kasimir, source, bare)
        for found, prefix in ((total(kasimir, source, words), ""), (original[bare], "original_")):
            for mine, claimed in ((found["cycles"], row[f"{prefix}cycles"]),
                                  (found["energy_pj"] * 1e-6, row[f"{prefix}energy_uj"])):
                assert abs(mine / claimed - 1) < TOLERANCE, (row["kernel"], prefix, mine, claimed)


if __name__ == "__main__":
    main(*sys.argv[1:3])
