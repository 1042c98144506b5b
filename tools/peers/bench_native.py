#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The control of generated C: networks of the zoo, with the same weights as C, ONNX and PyTorch, timed side by side.

    tools/peers/bench_native.py [--network NAME]... [--kernel FILE]... [--batch N]... [--threads N]... [--tune S]
                                [--json] [-- options of run.py]

Exports each network to build/native, compiles the C, and lets run.py compare outputs and take times in turns. With
kernels (files as `kasimir sample --out` writes them), each network is timed once with each of them in place of its
convolutions. One line per case; with --json one object per line (network, kernel, batch, threads, ours_ms, best_peer,
speed_vs_best_peer, contended, peers_ms). A case that fails is named and left out of the means."""

import argparse
import json
import pathlib
import sys

import exports
import measure


class Failed(Exception):
    """A case without a time of ours."""


def case(name, kernel, batch, threads, models, tune, options):
    tuned = ["--cpu", "native", "--tune", tune] if tune else []
    c = exports.exported(name, "c", exports.PYTHON, "--batch", batch, "--threads", threads, *tuned, kernel=kernel)
    exports.run("make", "--silent", "-C", c, "net_main")
    rows = exports.timed(models, batch, threads, c, *options)
    ours = rows.get("ours")
    if ours is None or ours.get("error"):
        reason = ours["error"] if ours else "no row of ours"
        raise Failed(f"{name}, {kernel or 'no kernel'}, batch {batch}, {threads} threads: {reason}")
    if "speed_vs_best_peer" not in ours:
        raise Failed(f"{name}, {kernel or 'no kernel'}, batch {batch}, {threads} threads: no peer has a time")
    return {
        "network": name,
        "kernel": pathlib.Path(kernel).stem if kernel else None,
        "batch": batch,
        "threads": threads,
        "ours_ms": ours["ms_median"],
        "ours_low_ms": ours["ms_low"],
        "ours_high_ms": ours["ms_high"],
        "best_peer": ours["best_peer"],
        "speed_vs_best_peer": ours["speed_vs_best_peer"],
        "difference": ours["difference"],
        "contended": any(row.get("contended") for row in rows.values()),
        "peers_ms": {peer: row["ms_median"] for peer, row in rows.items() if peer != "ours" and row["ms_median"]},
    }


def cases(asked, options):
    """One row per case, as soon as it is measured."""
    for name in asked.network or exports.NETWORKS:
        for kernel in asked.kernel or [None]:
            models = exports.folders(name, exports.PYTHON, kernel)
            for batch in asked.batch or [1, 32]:
                for threads in asked.threads or [1, 2]:
                    try:
                        yield case(name, kernel, batch, threads, models, asked.tune, options)
                    except Failed as reason:
                        print(f"left out: {reason}", file=sys.stderr, flush=True)


def means(rows):
    """Lines with the geometric mean of our speed against each peer, and against the best one."""
    for peer in sorted({peer for row in rows for peer in row["peers_ms"]}):
        speeds = [row["peers_ms"][peer] / row["ours_ms"] for row in rows if peer in row["peers_ms"]]
        yield f"{measure.geometric_mean(speeds):.2f} times the speed of {peer} ({len(speeds)} cases)"
    speeds = [row["speed_vs_best_peer"] for row in rows]
    yield f"geometric mean {measure.geometric_mean(speeds):.2f} times the best peer, lowest {min(speeds):.2f}"


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", action="append", help="of the zoo, or with a size as in resnet18-32x32")
    parser.add_argument("--kernel", action="append", help="a kernel's file, repeatable")
    parser.add_argument("--batch", action="append", type=int)
    parser.add_argument("--threads", action="append", type=int)
    parser.add_argument("--tune", type=float, default=0, help="seconds of tuning for each of our programs (default 0)")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    rows = []
    if not asked.json:
        print(f"{'network':<28}{'batch':>6}{'threads':>8}{'ours, ms':>10}  {'best peer':<14}{'times its speed':>16}")
    for row in cases(asked, options):
        rows.append(row)
        if asked.json:
            print(json.dumps(row), flush=True)
            continue
        name = f"{row['network']} {row['kernel']}" if row["kernel"] else row["network"]
        mark = "~" if row["contended"] else " "
        print(
            f"{name:<28}{row['batch']:>6}{row['threads']:>8}{row['ours_ms']:>10.4g}{mark} {row['best_peer']:<14}"
            f"{row['speed_vs_best_peer']:>16.2f}",
            flush=True,
        )
    if not rows:
        sys.exit("bench_native.py: no case has a time")
    if not asked.json:
        print("\n".join(means(rows)))
        print("~ something else ran during most samples")


if __name__ == "__main__":
    main()
