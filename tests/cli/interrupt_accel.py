#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in a search for machines: interrupt_accel.py KASIMIR.

What was found is printed with what is proved, and the exit status says that the search was stopped."""

import json
import signal
import subprocess
import sys
import time

# 4,000 designs of which each takes some milliseconds: minutes in all
LAYER = "O[m,n] += I[m,k] * W[k,n] for m=64 n=64 k=64"
VARY = ["sram.columns=" + ",".join(str(n) for n in range(1, 21)), "sram.rows=" + ",".join(str(n) for n in range(1, 21)),
        "sram.capacity_weight=1..512 KiB"]
LONGEST = 120


def interrupted(kasimir, seconds, *more):
    """Stops the search after some seconds. None if the program was not even listening yet."""
    command = [kasimir, "accel", "search", "--layer", LAYER, "--arch", "systolic_ws", "--time", "none", *more]
    for knob in VARY:
        command += ["--vary", knob]
    search = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    assert search.poll() is None, f"the search was over before {seconds} s: {search.communicate()}"
    search.send_signal(signal.SIGINT)
    out, err = search.communicate(timeout=LONGEST)
    return None if search.returncode == -signal.SIGINT else (search.returncode, out, err)


def with_a_front(kasimir, *more):
    """The answer of the first search that had time to find something."""
    seconds = 0.5
    while seconds < LONGEST:
        answer = interrupted(kasimir, seconds, *more)
        if answer is not None and any(words in answer[1] for words in ("best edp", '"best":true')):
            return answer
        seconds *= 2
    raise AssertionError(f"nothing was found within {seconds} s: {answer}")


def main(kasimir):
    status, out, err = with_a_front(kasimir)
    assert status == 130, (status, out, err)
    assert "; stopped before the others" in out, out
    assert "no design takes fewer than" in out, out
    assert err == "stopped; the same command starts anew\n", err

    status, out, err = with_a_front(kasimir, "--json")
    assert status == 130, (status, out, err)
    lines = [json.loads(line) for line in out.splitlines()]
    total = lines[-1]
    assert total["found"] and not total["complete"], total
    assert 0 < total["searched"] < total["designs"] == 4000, total
    assert 0 < total["lower_bound"] <= total["value"], total
    assert any(line["best"] for line in lines[:-1]), lines


if __name__ == "__main__":
    main(sys.argv[1])
