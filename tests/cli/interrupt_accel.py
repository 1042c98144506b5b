#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in a search for machines or mappings: interrupt_accel.py KASIMIR.

What was found is printed with what is proved, and the exit status says that the search was stopped."""

import json
import signal
import subprocess
import sys
import time

# 4,000 designs of which each takes some milliseconds: minutes in all
LAYER = "O[m,n] += I[m,k] * W[k,n] for m=64 n=64 k=64"
SEARCH = ["search", "--layer", LAYER, "--arch", "systolic_ws"]
VARY = ["sram.columns=" + ",".join(str(n) for n in range(1, 21)), "sram.rows=" + ",".join(str(n) for n in range(1, 21)),
        "sram.capacity_weight=1..512 KiB"]
for knob in VARY:
    SEARCH += ["--vary", knob]
# 3,375 classes of orders: the proof takes hours
MAP = ["map", "--layer", "O[k,p,q] += I[c,p+r,q+s] * W[k,c,r,s] for k=64 c=64 p=56 q=56 r=3 s=3", "--arch",
       "eyeriss_row_stationary", "--gap", "0"]
LONGEST = 120


def interrupted(kasimir, seconds, arguments):
    """Stops the search after some seconds. None if the program was not even listening yet."""
    command = [kasimir, "accel", *arguments, "--time", "none"]
    search = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    assert search.poll() is None, f"the search was over before {seconds} s: {search.communicate()}"
    search.send_signal(signal.SIGINT)
    out, err = search.communicate(timeout=LONGEST)
    return None if search.returncode == -signal.SIGINT else (search.returncode, out, err)


def with_an_answer(kasimir, arguments, *signs):
    """The answer of the first search that had time to find something: one of the signs is in its output."""
    seconds = 0.5
    while seconds < LONGEST:
        answer = interrupted(kasimir, seconds, arguments)
        if answer is not None and any(words in answer[1] for words in signs):
            return answer
        seconds *= 2
    raise AssertionError(f"nothing was found within {seconds} s: {answer}")


def main(kasimir):
    status, out, err = with_an_answer(kasimir, SEARCH, "best edp")
    assert status == 130, (status, out, err)
    assert "; stopped before the others" in out, out
    assert "no design takes fewer than" in out, out
    assert err == "stopped; the same command starts anew\n", err

    status, out, err = with_an_answer(kasimir, [*SEARCH, "--json"], '"best":true')
    assert status == 130, (status, out, err)
    lines = [json.loads(line) for line in out.splitlines()]
    total = lines[-1]
    assert total["found"] and not total["complete"], total
    assert 0 < total["searched"] < total["designs"] == 4000, total
    assert 0 < total["lower_bound"] <= total["value"], total
    assert any(line["best"] for line in lines[:-1]), lines

    status, out, err = with_an_answer(kasimir, MAP, "edp: within")
    assert status == 130, (status, out, err)
    assert "nothing fits" not in out, out
    assert err == "stopped; the same command starts anew\n", err

    status, out, err = with_an_answer(kasimir, [*MAP, "--json"], '"found":true')
    assert status == 130, (status, out, err)
    total = json.loads(out.splitlines()[-1])
    assert 0 < total["lower_bound"] < total["value"] and total["gap"] > 0, total


if __name__ == "__main__":
    main(sys.argv[1])
