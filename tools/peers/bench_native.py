#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The control of generated C: networks of the zoo, with the same weights as C, ONNX and PyTorch, timed side by side.

    tools/peers/bench_native.py [--network NAME]... [--batch N]... [--threads N]... [--json] [-- options of run.py]

Exports each network to build/native, compiles the C, and lets run.py compare outputs and take times in turns. One line
per case; with --json one object per line (network, batch, threads, ours_ms, best_peer, speed_vs_best_peer, contended)."""

import argparse
import json
import pathlib
import subprocess
import sys

import exports
import measure

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / "build" / "peers" / "bin" / "python3"


def case(name, batch, threads, models, options):
    c = exports.exported(name, "c", PYTHON, "--batch", batch, "--threads", threads)
    exports.run("make", "--silent", "-C", c, "net_main")
    command = [HERE / "run.py", "--folder", models, "--batch", batch, "--threads", threads, "--json", *options]
    command += ["--program", f"ours={c}/net_main {c}/net.weights {{input}} {{output}}"]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    ours = next((row for row in rows if row["peer"] == "ours"), None)
    if ours is None or ours.get("error"):
        reason = ours["error"] if ours else "no row of ours"
        sys.exit(f"bench_native.py: {name}, batch {batch}, {threads} threads: {reason}")
    return {
        "network": name,
        "batch": batch,
        "threads": threads,
        "ours_ms": ours["ms_median"],
        "ours_low_ms": ours["ms_low"],
        "ours_high_ms": ours["ms_high"],
        "best_peer": ours["best_peer"],
        "speed_vs_best_peer": ours["speed_vs_best_peer"],
        "difference": ours["difference"],
        "contended": any(row.get("contended") for row in rows),
        "peers_ms": {row["peer"]: row["ms_median"] for row in rows if row["peer"] != "ours"},
    }


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", action="append", choices=exports.NETWORKS)
    parser.add_argument("--batch", action="append", type=int)
    parser.add_argument("--threads", action="append", type=int)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    speeds = []
    if not asked.json:
        print(f"{'network':<16}{'batch':>6}{'threads':>8}{'ours, ms':>10}  {'best peer':<14}{'times its speed':>16}")
    for name in asked.network or exports.NETWORKS:
        models = exports.folders(name, PYTHON)
        for batch in asked.batch or [1, 32]:
            for threads in asked.threads or [1, 2]:
                row = case(name, batch, threads, models, options)
                speeds.append(row["speed_vs_best_peer"])
                if asked.json:
                    print(json.dumps(row), flush=True)
                    continue
                mark = "~" if row["contended"] else " "
                print(
                    f"{name:<16}{batch:>6}{threads:>8}{row['ours_ms']:>10.4g}{mark} {row['best_peer']:<14}"
                    f"{row['speed_vs_best_peer']:>16.2f}",
                    flush=True,
                )
    if not asked.json:
        mean = measure.geometric_mean(speeds)
        print(f"geometric mean {mean:.2f}, lowest {min(speeds):.2f}; ~ something else ran during most samples")


if __name__ == "__main__":
    main()
