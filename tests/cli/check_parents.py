#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks where the kernels of a study come from: check_parents.py STUDY FIRST, where FIRST is the number of trained
candidates before which none has parents."""

import json
import sqlite3
import sys

study, first = sys.argv[1], int(sys.argv[2])
database = sqlite3.connect(study)
accuracy = dict(database.execute("select trial, accuracy from jobs where rung = 0 and trial > 0 and accuracy not null"))
bred = 0
for number, origin in database.execute("select number, origin from trials where number > 0 order by number"):
    parents = json.loads(origin or "{}").get("parents", [])
    before = sorted((trial for trial in accuracy if trial < number), key=lambda trial: -accuracy[trial])
    if not parents:
        continue
    bred += 1
    if len(before) < first:
        sys.exit(f"trial {number} has parents after {len(before)} candidates")
    worst = accuracy[before[len(before) // 2 - 1]]
    for parent in parents:
        if parent not in before or accuracy[parent] < worst:
            sys.exit(f"trial {number} has parent {parent}, which is not among the better half of {before}")
    if len(parents) != len(set(parents)):
        sys.exit(f"trial {number} is a crossing of {parents[0]} with itself")
if bred == 0:
    sys.exit("no trial has parents")
