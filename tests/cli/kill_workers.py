#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills workers of a real search with SIGKILL twenty times, and once the search itself: kill_workers.py KASIMIR [SEED].

Afterwards no trial may be lost or counted twice, every finished job has one result, and the store is sound."""

import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

KILLS = 20
TRIALS = 60


def workers_of(search):
    """Process numbers of the search's own workers."""
    try:
        children = pathlib.Path(f"/proc/{search.pid}/task/{search.pid}/children").read_text().split()
    except OSError:
        return []
    found = []
    for child in children:
        try:
            words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 1 and words[1] == b"worker":
            found.append(int(child))
    return found


def finished(path):
    if not path.exists():
        return False
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as store:
        try:
            return store.execute("select phase from study").fetchone()[0] >= 4
        except (sqlite3.OperationalError, TypeError):
            return False


def kill_some(command, path, folder, dice):
    """Starts the search again and again until it has been hit often enough. Returns the kills."""
    kills = 0
    search = None
    while kills < KILLS and not finished(path):
        if search is None or search.poll() is not None:
            search = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0.2, 1.5))
        targets = workers_of(search)
        if not targets:
            continue
        target = search.pid if kills == KILLS // 2 else dice.choice(targets)
        os.kill(target, signal.SIGKILL)
        kills += 1
    if search is not None and search.poll() is None:
        search.send_signal(signal.SIGINT)
        search.wait(timeout=120)
    return kills


def check(path, table):
    """The store's own rows against each other and against what the program lists."""
    store = sqlite3.connect(path)
    assert store.execute("pragma integrity_check").fetchone()[0] == "ok", "the store is corrupt"
    twice = store.execute("select trial, rung, seed, count(*) from jobs group by trial, rung, seed having count(*) > 1").fetchall()
    assert not twice, f"jobs counted twice: {twice}"
    open_jobs = store.execute("select count(*) from jobs where state not in ('done', 'failed')").fetchone()[0]
    assert open_jobs == 0, f"{open_jobs} jobs were left open"
    numbers = [row[0] for row in store.execute("select number from trials order by number")]
    assert numbers == list(range(len(numbers))), f"trial numbers have gaps: {numbers}"
    listed = [json.loads(line) for line in table.splitlines()]
    assert [row["number"] for row in listed] == numbers, "the table does not list every trial once"
    tried = [row for row in listed if row["number"] > 0 and row["state"] != "rejected"]
    assert len(tried) == TRIALS, f"{len(tried)} candidates were tried, {TRIALS} were asked for"
    died = [row for row in listed if "worker died" in (row["reason"] or "")]
    return len(tried), len(died)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    print(f"seed {seed}")
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, pathlib.Path(__file__).with_name("make_pictures.py"), "pictures"], cwd=folder, check=True)
        path = folder / "s.db"
        command = [program, "search", "--data", "pictures", "--network", "resnet8", "--validation", "0.3", "--study", "s.db"]
        command += ["--trials", str(TRIALS), "--finalists", "2", "--finalist-seeds", "2", "--workers", "2", "--quick-epochs", "12"]
        kills = kill_some(command, path, folder, dice)
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=500)
        table = subprocess.run([program, "study", "show", "s.db", "--json"], cwd=folder, check=True, capture_output=True, text=True).stdout
        tried, died = check(path, table)
    assert kills == KILLS, f"the search was over after {kills} of {KILLS} kills"
    print(f"{kills} kills, {tried} candidates tried, none lost or counted twice, {died} given up after three dead workers")


if __name__ == "__main__":
    main()
