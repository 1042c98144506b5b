#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a transcript in an empty folder and compares what they print: transcript.py KASIMIR FILE.

A file is a list of blocks. `setup: COMMAND` runs in the shell before what follows. `$ kasimir ARGUMENTS` is run, then
`exit: N`, and the exact lines of `stdout:` and `stderr:` follow; a line `...` stands for any lines, `...` within a line
for any characters (numbers that no test can know). {tmp} is the empty
folder, {source} the repository."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def same(wanted, found):
    return re.fullmatch(".*".join(re.escape(part) for part in wanted.split("...")), found) is not None


def matches(wanted, found):
    """Line by line, `...` for any number of lines."""
    if not wanted:
        return not found
    if wanted[0] == "...":
        return any(matches(wanted[1:], found[i:]) for i in range(len(found) + 1))
    return bool(found) and same(wanted[0], found[0]) and matches(wanted[1:], found[1:])


def blocks(text):
    """(kind, content) for each block; commands carry their expectations."""
    result = []
    section = None
    for line in text.splitlines():
        if line.startswith("setup: "):
            result.append(("setup", line[7:]))
            section = None
        elif line.startswith("$ "):
            result.append(("command", {"line": line[2:], "exit": 0, "stdout": None, "stderr": []}))
            section = None
        elif line.startswith("exit: "):
            result[-1][1]["exit"] = int(line[6:])
        elif line in ("stdout:", "stderr:"):
            section = line[:-1]
            result[-1][1][section] = []
        elif line.startswith("#"):
            section = None
        elif section:
            result[-1][1][section].append(line)
        elif line:
            sys.exit(f"cannot read the line: {line}")
    return result


def trimmed(lines):
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def run(block, program, folder):
    command = re.sub(r"\bkasimir\b", str(program), block["line"], count=1)
    # No test reads or writes what the user has tuned or collected.
    env = {**os.environ, "XDG_CACHE_HOME": folder, "XDG_DATA_HOME": folder}
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=280, env=env
    )
    failures = []
    if done.returncode != block["exit"]:
        failures.append(f"exit code {done.returncode}, wanted {block['exit']}")
    for name, text in (("stdout", done.stdout), ("stderr", done.stderr)):
        wanted = block[name]
        if wanted is None:
            continue
        wanted, found = trimmed(wanted), trimmed(text.splitlines())
        if not matches(wanted, found):
            failures.append(f"{name} is\n" + "\n".join(found) + "\nwanted\n" + "\n".join(wanted))
    return [f"$ {block['line']}\n{failure}" for failure in failures]


def main():
    program, file = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    source = pathlib.Path(__file__).resolve().parents[2]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        text = file.read_text().replace("{tmp}", folder).replace("{source}", str(source))
        for kind, block in blocks(text):
            if kind == "setup":
                subprocess.run(block, shell=True, cwd=folder, check=True, env={**os.environ, "LC_ALL": "C"})
            else:
                failures += run(block, program, folder)
    if failures:
        sys.exit(f"{file.name}:\n" + "\n\n".join(failures))


if __name__ == "__main__":
    main()
