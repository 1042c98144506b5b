# SPDX-License-Identifier: Apache-2.0
"""A program that runs inferences on request, in a process group of its own, with a limit on each answer.

The protocol: the line `run N` on its standard input makes it run N inferences and answer with their milliseconds as one
line, a JSON list. Before it answers the first `run` it has written its output to the file it was told."""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time

import measure


class Failure(Exception):
    """What the row of a peer says instead of a time."""


# A first touch of a page is slow on virtual machines: blocks that are freed stay with the process, in large pages.
MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "20000000000",
    "MALLOC_TRIM_THRESHOLD_": "20000000000",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


# How long a program that closed its output may take to end.
LAST_BREATH_S = 5


def environment(threads, more):
    """The environment of every program that is timed: thread counts, memory, and the settings given."""
    counts = {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "MKL", "OPENBLAS", "TVM")}
    return {**os.environ, **MEMORY, **counts, **more}


def end_group(process):
    """Ends a process that leads its group, and whatever it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all of them have ended
    process.wait()


class Child:
    """One running program. Between questions its processes are stopped: threads that wait busily then cost nothing."""

    def __init__(self, name, command, cpus, env, log):
        self.name = name
        self.log = pathlib.Path(log)
        self.buffer = b""
        self.killed = False
        if shutil.which(command[0]) is None:
            raise Failure(f"there is no program {command[0]}")
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=env,
                start_new_session=True,
                preexec_fn=lambda: os.sched_setaffinity(0, cpus),
            )

    def _signal(self, number):
        if self.killed:
            return
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass  # it has ended; the next question says how

    def kill(self):
        if not self.killed:
            end_group(self.process)
        self.killed = True
        self.process.stdin.close()
        self.process.stdout.close()

    def last_words(self):
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return f": {lines[-1].strip()}" if lines else ""

    def _ended(self, question):
        try:
            status = self.process.wait(LAST_BREATH_S)
        except subprocess.TimeoutExpired:
            return Failure(f"closed its output before it answered `{question}`{self.last_words()}")
        how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
        return Failure(f"{how} before it answered `{question}`{self.last_words()}")

    def _line(self, question, limit):
        until = time.monotonic() + limit
        while b"\n" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failure(f"no answer to `{question}` within {limit:g} s")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise self._ended(question)
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.decode(errors="replace")

    def run(self, count, limit):
        """The milliseconds of `count` inferences. @throws Failure, and then the program has been killed."""
        question = f"run {count}"
        self._signal(signal.SIGCONT)
        try:
            try:
                self.process.stdin.write(f"{question}\n".encode())
                self.process.stdin.flush()
            except BrokenPipeError:
                raise self._ended(question) from None
            return milliseconds(self._line(question, limit), count)
        except Failure:
            self.kill()
            raise
        finally:
            self._signal(signal.SIGSTOP)

    def usage(self):
        """A look at the machine, with the CPU time of this program and of the one that asks."""
        own = measure.group_seconds(self.process.pid) + time.process_time()
        wall = time.monotonic()
        cpus, idle = measure.idle_of(pathlib.Path("/proc/stat").read_text())
        return measure.Usage(wall, cpus, idle, own)

    def sample(self, count, limit):
        """`count` inferences after one that is not counted (other programs have used the caches), as a Sample."""
        before = self.usage()
        ms = self.run(count + 1, limit)
        after = self.usage()
        return measure.Sample(ms[1:], after.wall - before.wall, measure.others_seconds(before, after))

    def resident_bytes(self):
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def milliseconds(line, count):
    """The numbers of an answer. @throws Failure where they are not `count` times above 0."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    numbers = isinstance(found, list) and all(type(ms) in (int, float) and ms > 0 for ms in found)
    if not numbers or len(found) != count:
        raise Failure(f"answered `{line[:60]}`, needed a JSON list of {count} times in milliseconds")
    return found
