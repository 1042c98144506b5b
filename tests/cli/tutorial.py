#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/tutorial.md in its order, the search on less: tutorial.py KASIMIR.

Blocks of `console` hold commands and what they print. Numbers, kernels' names and how many rows follow each other that
are alike otherwise may differ, lines may not; `...` stands for any lines, within a line for any characters (transcript.py)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from transcript import matches, trimmed

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# What is smaller here than in the text; a change there that these do not know is an error.
SMALLER = {
    # Another seed: the kernels of the first are in the zoo.
    "--train-limit 8000 --quick-images 2000 --trials 6": "--seed 2 --train-limit 600 --quick-images 300 --trials 3 "
    "--quick-epochs 1 --longer-epochs 1 --full-epochs 1",
}


def blocks(text):
    """(command, lines that it prints) for each command."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed.splitlines()))
    return found


def plain(lines):
    """Without what differs from run to run: numbers, the width of columns, how many alike rows a table has."""
    result = []
    for line in lines:
        line = re.sub(r"\bk_[0-9a-f]{8}\b", "KERNEL", line)
        line = re.sub(r"(?<![\w.])[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?[kMGmu]?\b", "N", line)
        line = re.sub(r"\s+", " ", line).strip()
        if not result or line != result[-1]:
            result.append(line)
    return trimmed(result)


def best_finalist(kasimir, folder):
    shown = subprocess.run([kasimir, "study", "show", "first.db", "--json"], cwd=folder, capture_output=True,
                           text=True, check=True).stdout
    full = [trial for trial in map(json.loads, shown.splitlines()) if trial["rung"] == "full" and trial["number"]]
    return max(full, key=lambda trial: trial["accuracy"])["number"]


def main(kasimir):
    text = (SOURCE / "docs" / "tutorial.md").read_text()
    for words in SMALLER:
        assert words in text, f"docs/tutorial.md no longer says {words}"
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(SOURCE / "examples", pathlib.Path(folder, "examples"))
        env = {**os.environ, "XDG_CACHE_HOME": folder, "XDG_DATA_HOME": folder,
               "PATH": f"{pathlib.Path(kasimir).parent}:{os.environ['PATH']}"}
        commands = blocks(text)
        assert len(commands) >= 8, commands
        for command, printed in commands:
            for words, fewer in SMALLER.items():
                command = command.replace(words, fewer)
            if "--trial " in command:
                command = re.sub(r"--trial \d+", f"--trial {best_finalist(kasimir, folder)}", command)
            done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False,
                                  timeout=800)
            if done.returncode != 0 or not matches(plain(printed), plain(done.stdout.splitlines())):
                failures.append(f"$ {command}\nended with {done.returncode}\n{done.stderr}{done.stdout}\nwanted\n"
                                + "\n".join(printed))
    if failures:
        sys.exit("\n\n".join(failures))


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
