#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Quantised networks as generated C beside ONNX Runtime's static quantisation, on one thread.

    tools/peers/bench_int8.py [--network NAME]... [--batch N]... [--json] [-- options of run.py]

`kasimir bench int8` writes each network as C with products of bytes, after it has compared it with the same network by
float loops; run.py takes the times in turns. Both have random weights and ranges, so their scores are not compared with
each other: `onnxruntime-int8` says how far its scores are from those in f32. One line per case; with --json one object
per line (network, batch, ours_ms, onnxruntime_ms, speed, difference, contended)."""

import argparse
import json
import sys

import exports
import measure

FLAGS = "-std=gnu11 -O3 -march=native -mprefer-vector-width=512 -ffp-contract=fast"
NETWORKS = ["resnet20", "resnet18-32x32", "vgg16"]
PEER = "onnxruntime-int8"


def program(name, batch):
    """The folder of the compiled network and its weights."""
    out = exports.ROOT / "build" / "native" / "int8"
    exports.run(
        *(exports.PROGRAM, "bench", "int8", "--networks", name, "--batch", batch, "--seconds", 0, "--out", out)
    )
    folder = out / f"{name}-batch{batch}"
    exports.run("cc", *FLAGS.split(), "-o", folder / "net_main", folder / "net.c", folder / "net_main.c", "-lm")
    return folder


def case(name, batch, options):
    """The row of a case. @throws RuntimeError without a time of either."""
    models = exports.folders(name, exports.PYTHON)
    # Ranges of noise: what is right of ours was compared when it was written.
    peer_only = ["--peer", PEER, "--tolerance", "inf"]
    rows = exports.timed(models, batch, 1, program(name, batch), *peer_only, *options)
    for who in ("ours", PEER):
        if who not in rows or rows[who]["error"]:
            raise RuntimeError(f"{name}, batch {batch}: {who}: {rows[who]['error'] if who in rows else 'no row'}")
    ours, peer = rows["ours"], rows[PEER]
    return {
        "network": name,
        "batch": batch,
        "ours_ms": ours["ms_median"],
        "onnxruntime_ms": peer["ms_median"],
        "speed": peer["ms_median"] / ours["ms_median"],
        "difference": peer["difference"],
        "contended": any(row["contended"] for row in rows.values()),
    }


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", action="append", help="of the zoo, or with a size as in resnet18-32x32")
    parser.add_argument("--batch", action="append", type=int)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    rows = []
    if not asked.json:
        print(f"{'network':<20}{'batch':>6}{'ours, ms':>12} {'ONNX Runtime, ms':>18}{'times its speed':>17}")
    for name in asked.network or NETWORKS:
        for batch in asked.batch or [1, 32]:
            try:
                row = case(name, batch, options)
            except RuntimeError as reason:
                print(f"left out: {reason}", file=sys.stderr, flush=True)
                continue
            rows.append(row)
            mark = "~" if row["contended"] else " "
            ours, peer = f"{row['ours_ms']:.4g}", f"{row['onnxruntime_ms']:.4g}"
            line = f"{name:<20}{batch:>6}{ours:>12}{mark}{peer:>18}{row['speed']:>17.2f}"
            print(json.dumps(row) if asked.json else line, flush=True)
    if not rows:
        sys.exit("bench_int8.py: no case has a time")
    if not asked.json:
        print(f"geometric mean {measure.geometric_mean([row['speed'] for row in rows]):.2f}")
        print("~ something else ran during most samples")


if __name__ == "__main__":
    main()
