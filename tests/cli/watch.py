#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A study in the terminal: watch.py KASIMIR.

Blocks where the output is no terminal, one that is drawn over itself where it is, the end by the study's and by Ctrl-C,
results of another process, and that nothing is written."""

import os
import pathlib
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time


def fill(kasimir, study, trials):
    subprocess.run([kasimir, "bench", "store", "--trials", str(trials), "--study", study], check=True,
                   capture_output=True)


def read_until(source, wanted, seen=b"", seconds=120):
    """Reads a file descriptor until the bytes have come; what was read."""
    end = time.monotonic() + seconds
    while wanted not in seen:
        assert time.monotonic() < end, (wanted, seen[-2000:])
        if select.select([source], [], [], 1)[0]:
            piece = os.read(source, 65536)
            assert piece, (wanted, seen[-2000:])
            seen += piece
    return seen


def screen_of(written):
    """The lines that a terminal shows: of the codes that the program uses."""
    lines = [""]
    at = 0
    for part in re.split(r"(\x1b\[\d*[FJK]|\r?\n)", written):
        if part.endswith("\n"):
            at += 1
            lines += [""] * (at + 1 - len(lines))
        elif part.endswith("F"):
            at -= int(part[2:-1])
            assert at >= 0, "drawn above the first line"
        elif part == "\x1b[J":
            lines[at:] = [""]
        elif part == "\x1b[K":
            pass  # each line is written whole and cleared behind its end
        elif part:
            lines[at] = part
    return lines


def on_terminal(kasimir, study):
    master, slave = pty.openpty()
    watching = subprocess.Popen([kasimir, "study", "watch", study, "--every", "0.2s"], stdout=slave,
                                stderr=subprocess.PIPE)
    os.close(slave)
    seen = read_until(master, b"last trials")
    seen = read_until(master, b"\x1b[J", seen)
    with sqlite3.connect(study) as store:  # as a worker would
        store.execute("update trials set state = 'failed', rule = 'diverged' where number = 30")
    seen = read_until(master, b"diverged", seen)
    time.sleep(0.5)
    seen += os.read(master, 65536)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=60) == 130, watching.returncode
    assert watching.stderr.read() == b""
    # The last piece is whole: every drawing ends by clearing what is below.
    lines = screen_of(seen[:seen.rindex(b"\x1b[J") + 3].decode())
    assert sum(line == "last trials" for line in lines) == 1, lines
    assert sum("diverged" in line for line in lines) == 1, lines
    assert all(len(line) <= 80 for line in lines), lines
    os.close(master)


def in_blocks(kasimir, study):
    before = pathlib.Path(study).read_bytes()
    watching = subprocess.Popen([kasimir, "study", "watch", study, "--every", "0.2s"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
    seen = read_until(watching.stdout.fileno(), b"last trials")
    seen = read_until(watching.stdout.fileno(), b"\n\n" + study.encode(), seen)  # a second block
    assert b"\x1b" not in seen, seen
    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=60) == 130, watching.returncode
    watching.stdout.close()
    assert pathlib.Path(study).read_bytes() == before, "reading wrote something"
    text = seen.decode()
    assert re.search(r"^rung quick: 30 candidates evaluated or in training, 0 screened out, 0 failed", text, re.M), text
    assert re.search(r"^quick +0 +0 +31 +0$", text, re.M), text
    assert "\nno worker has a job\n" in text and "\nfront of accuracy and MACs\n" in text, text


def at_the_end(kasimir, study):
    with sqlite3.connect(study) as store:
        store.execute("update study set phase = 4")
    done = subprocess.run([kasimir, "study", "watch", study], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "\nfinished: 2" in done.stdout and done.stderr == "", done


def main(kasimir):
    with tempfile.TemporaryDirectory() as folder:
        study = str(pathlib.Path(folder, "watched.db"))
        fill(kasimir, study, 30)
        in_blocks(kasimir, study)
        on_terminal(kasimir, study)
        at_the_end(kasimir, study)
    missing = subprocess.run([kasimir, "study", "watch", "nowhere.db"], capture_output=True, text=True)
    assert missing.returncode == 2 and "nowhere.db" in missing.stderr, missing
    wrong = subprocess.run([kasimir, "study", "watch", "nowhere.db", "--every", "soon"], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stderr) == (
        2, "error: `soon` is no span of time; write 90s, 40m or 1.5h\n"), wrong


if __name__ == "__main__":
    main(sys.argv[1])
