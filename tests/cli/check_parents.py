#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks where the kernels of a study come from: check_parents.py STUDY STRATEGY FIRST, where FIRST is the number of
trained candidates before which none has parents."""

import json
import sqlite3
import sys

study, strategy, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
database = sqlite3.connect(study)
accuracy = dict(database.execute("select trial, accuracy from jobs where rung = 0 and trial > 0 and accuracy not null"))
bred = 0
for number, origin in database.execute("select number, origin from trials where number > 0 order by number"):
    origin = json.loads(origin or "{}") or {}  # null: the kernel was there already
    parents = origin.get("parents", [])
    before = sorted((trial for trial in accuracy if trial < number), key=lambda trial: -accuracy[trial])
    if not parents:
        continue
    bred += 1
    if origin["strategy"] != strategy:
        sys.exit(f"trial {number} is of strategy {origin['strategy']}")
    if len(before) < first:
        sys.exit(f"trial {number} has parents after {len(before)} candidates")
    # Evolution takes parents from the better half by accuracy; other objectives keep others too.
    worst = accuracy[before[len(before) // 2 - 1]] if strategy == "evolution" else 0
    for parent in parents:
        if parent not in before or accuracy[parent] < worst:
            sys.exit(f"trial {number} has parent {parent}, which is not among those that may be of {before}")
    if len(parents) != len(set(parents)):
        sys.exit(f"trial {number} is a crossing of {parents[0]} with itself")
if bred == 0:
    sys.exit("no trial has parents")
