#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers of a study wherever Ray has room: examples/cluster/ray_workers.py STUDY [--workers N] [--kasimir PROGRAM]

Begin the study first, on any machine: `kasimir search --study STUDY --workers 1 ...`. Every node must see the program,
the data and the PostgreSQL server. A worker that dies, or whose node does, is started again up to --retries times; the
store gives its trial to the next one. Ends when the study is finished."""

import argparse
import subprocess
import sys

import ray


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", help="postgresql://USER@HOST/DATABASE#STUDY")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--retries", type=int, default=100, help="of each worker")
    parser.add_argument("--kasimir", default="build/release/kasimir")
    parser.add_argument("--address", help="of a Ray cluster; default: one on this machine")
    options = parser.parse_args()
    ray.init(address=options.address, log_to_driver=False)

    # Workers have one thread; a process of its own, so that nothing of Ray's reaches the training.
    @ray.remote(num_cpus=1, max_retries=options.retries, retry_exceptions=True)
    def work():
        done = subprocess.run([options.kasimir, "worker", options.study], capture_output=True, text=True, check=False)
        if done.returncode in (2, 3):  # wrong input: another try says the same
            return done.stderr.strip()
        if done.returncode != 0:
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
        return ""

    errors = [error for error in ray.get([work.remote() for _ in range(options.workers)]) if error]
    for error in errors:
        print(error, file=sys.stderr)
    print(f"{options.workers - len(errors)} of {options.workers} workers came to the end of {options.study.split('#')[-1].split('/')[-1]}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
