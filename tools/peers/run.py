#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times networks with other frameworks, and with programs of ours, side by side. docs/peers.md says how to read it."""

import argparse
import array
import dataclasses
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import child
import exports
import measure
import worker

HERE = pathlib.Path(__file__).resolve().parent
HOME = HERE.parents[1] / "build" / "peers"


@dataclasses.dataclass(frozen=True)
class Model:
    """A network as its files: a Python file with `load(weights)`, the weights, ONNX, checked images and outputs."""

    name: str
    module: pathlib.Path
    weights: pathlib.Path
    onnx: pathlib.Path
    check: pathlib.Path


def in_folders(text):
    """The model of a folder, or of several with commas between: each file is taken from the first that has it. Where no
    file of weights lies beside model.py, `load` gets the folder itself."""
    folders = [pathlib.Path(word).resolve() for word in text.split(",")]

    def find(*names):
        found = [folder / name for folder in folders for name in names if (folder / name).is_file()]
        if not found:
            sys.exit(f"run.py: {text} has no {' or '.join(names)}")
        return found[0]

    module = find("model.py")
    stored = [path for suffix in ("pt", "pth", "safetensors") for path in module.parent.glob(f"*.{suffix}")]
    weights = [path for path in stored if path.stem != "check"]
    return Model(
        folders[0].name,
        module,
        weights[0] if len(weights) == 1 else module.parent,
        find("model.onnx"),
        find("check.npz", "check.safetensors"),
    )


def say(text):
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass
class Case:
    """One network, batch and number of threads: the files that all programs read, the output they must give."""

    model: Model
    batch: int
    threads: int
    folder: pathlib.Path

    def prepare(self):
        stored = measure.read_check(self.model.check)
        images = stored["input"].repeated(self.batch)
        self.shape = images.shape
        self.reference = stored["output"].repeated(self.batch).values
        self.input = self.folder / "input.raw"
        self.input.write_bytes(images.values.tobytes())

    def tuned(self):
        """Where the measurements of TVM's tuning lie: one folder for each model, shape and number of threads."""
        about = [self.model.onnx.read_bytes(), repr((self.shape, self.threads)).encode()]
        return HOME / "tvm" / hashlib.sha256(b"".join(about)).hexdigest()[:16]

    def output(self, name):
        return self.folder / f"{name}.raw"

    def peer_command(self, peer, python):
        model = self.model
        return [
            *(python, str(HERE / "worker.py"), peer),
            *("--module", str(model.module), "--weights", str(model.weights), "--onnx", str(model.onnx)),
            *("--input", str(self.input), "--output", str(self.output(peer))),
            *("--shape", ",".join(map(str, self.shape)), "--threads", str(self.threads)),
            *("--tuned", str(self.tuned())),
        ]

    def tune_command(self, python, trials):
        return [
            *(python, str(HERE / "tvm_tune.py"), "--onnx", str(self.model.onnx), "--folder", str(self.tuned())),
            *("--shape", ",".join(map(str, self.shape)), "--threads", str(self.threads), "--trials", str(trials)),
        ]

    def program_command(self, name, text):
        """The words of a command with {network}, {batch}, ... replaced."""
        words = {
            "{network}": self.model.name,
            "{folder}": str(self.model.onnx.parent),
            "{batch}": str(self.batch),
            "{threads}": str(self.threads),
            "{input}": str(self.input),
            "{output}": str(self.output(name)),
        }
        out = []
        for word in shlex.split(text):
            for key, value in words.items():
                word = word.replace(key, value)
            out.append(word)
        return out


class Contestant:
    """A program, what was found out about it, and its samples."""

    def __init__(self, name):
        self.name = name
        self.child = None
        self.samples = []
        self.found = {"difference": None, "start_s": None, "version": None, "settings": None}
        self.error = None

    def start(self, case, command, cpus, options):
        """Starts it, compares its output with the reference, and only then warms it up and finds the sample's size."""
        begin = time.monotonic()
        env = child.environment(case.threads, {"TORCHINDUCTOR_CACHE_DIR": str(HOME / "inductor"), **WORKER})
        self.child = child.Child(self.name, command, cpus, env, case.folder / f"{self.name}.log")
        self.child.run(1, options.start_limit)
        self.found["start_s"] = time.monotonic() - begin
        self._check(case, options.tolerance)
        fastest = min(self.child.run(2, options.start_limit))
        count = max(1, round(options.sample_ms / fastest))
        fastest = min(fastest, *self.child.run(count, self._limit(count, fastest)))
        self.count = max(1, round(options.sample_ms / fastest))
        self.limit = self._limit(self.count + 1, fastest)

    @staticmethod
    def _limit(count, ms):
        return max(60.0, 20 * count * ms / 1000)

    def _check(self, case, tolerance):
        path = case.output(self.name)
        if path.is_file():
            output = array.array("f", path.read_bytes())
            self.found["difference"], wrong = measure.check(output, case.reference, tolerance)
            if wrong:
                raise child.Failure(wrong)
        about = path.with_name(f"{path.name}.json")
        if about.is_file():
            self.found.update(json.loads(about.read_text()))

    def fail(self, error):
        self.error = str(error)
        say(f"  {self.name}: {self.error}")
        self.end()

    def end(self):
        if self.child is not None:
            self.child.kill()
            self.child = None

    def row(self, case, options):
        row = {"network": case.model.name, "batch": case.batch, "threads": case.threads, "peer": self.name}
        nothing = dict.fromkeys(("ms_median", "ms_low", "ms_high", "samples", "set_aside", "contended"))
        timed = self.error is None and self.samples
        numbers = measure.summary(self.samples, options.others) if timed else nothing
        return {**row, **numbers, "error": self.error, **self.found}


# Inductor compiles in the process itself: a pool of compilers would outlive the compilation.
WORKER = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def room_for(largest):
    """Whether another program fits into the memory that is left, by the largest so far."""
    left = int(measure.first_match(r"^MemAvailable:\s*(\d+)", "/proc/meminfo", "0")) * 1024
    return left > 2 * largest + (1 << 30), left


def tune(case, cpus, options):
    """Tunes TVM for a case unless it was. That it failed is said here; its row says that it is not tuned."""
    folder = case.tuned()
    if (folder / "tuned").is_file():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    say(f"  tvm: tuning, its log is {folder}/log")
    env = child.environment(case.threads, WORKER)
    command = ["taskset", "-c", ",".join(map(str, cpus)), *case.tune_command(options.python, options.tune)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            status = process.wait(options.tune_limit)
            say("  tvm: tuned" if status == 0 else f"  tvm: tuning ended with status {status}")
        except subprocess.TimeoutExpired:
            say(f"  tvm: tuning took more than {options.tune_limit:g} s and was ended")
        finally:
            child.end_group(process)


def start_all(contestants, case, cpus, options):
    largest = 0
    for contestant, command in contestants:
        fits, left = room_for(largest)
        if not fits:
            need = f"{(2 * largest + (1 << 30)) / 1e9:.1f} GB"
            contestant.fail(f"not started: {left / 1e9:.1f} GB of memory left, needed {need}; name fewer with --peer")
            continue
        try:
            contestant.start(case, command, cpus, options)
            largest = max(largest, contestant.child.resident_bytes())
            say(f"  {contestant.name}: ready in {contestant.found['start_s']:.1f} s")
        except (child.Failure, OSError) as error:
            contestant.fail(error)


def sample_all(contestants, options):
    """Rounds in which each program gives one sample, beginning with another one each time, until all have enough that
    were not set aside, or the time is up."""
    until = time.monotonic() + options.seconds
    for turn in range(10 * options.samples):
        running = [contestant for contestant in contestants if contestant.error is None]
        clean = [sum(not sample.set_aside(options.others) for sample in each.samples) for each in running]
        late = time.monotonic() > until and turn >= measure.FEWEST_CLEAN
        if not running or late or min(clean) >= options.samples:
            return
        first = turn % len(running)
        for contestant in running[first:] + running[:first]:
            try:
                contestant.samples.append(contestant.child.sample(contestant.count, contestant.limit))
            except child.Failure as error:
                contestant.fail(error)


def run_case(case, programs, options):
    """The rows of one case."""
    cpus = sorted(options.cpus)[-case.threads :]
    if len(cpus) < case.threads:
        sys.exit(f"run.py: {case.threads} threads need as many processors, there are {len(cpus)}")
    say(f"{case.model.name}, batch {case.batch}, {case.threads} thread{'s' * (case.threads > 1)}")
    case.prepare()
    if options.tune and "tvm" in options.peer:
        tune(case, cpus, options)
    both = [(Contestant(peer), case.peer_command(peer, options.python)) for peer in options.peer]
    both += [(Contestant(name), case.program_command(name, text)) for name, text in programs.items()]
    contestants = [contestant for contestant, _ in both]
    try:
        start_all(both, case, cpus, options)
        sample_all(contestants, options)
        return [{**each.row(case, options), "machine": measure.machine(cpus)} for each in contestants]
    finally:
        for contestant in contestants:
            contestant.end()


def numbers(text):
    return [int(word) for word in text.split(",")]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    networks = ", ".join(exports.NETWORKS)
    parser.add_argument("--network", action="append", help=f"of the zoo, repeatable (default: {networks})")
    parser.add_argument("--folder", action="append", default=[], help="of an export, or several: A,B; repeatable")
    parser.add_argument("--module", type=pathlib.Path, help="with --weights, --onnx and --check instead of a folder")
    for name in ("weights", "onnx", "check"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    parser.add_argument("--batch", type=numbers, default=[1, 32], help="such as 1,32")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="such as 1,2")
    peers = [*worker.PEERS, *worker.QUANTISED]
    parser.add_argument("--peer", action="append", choices=peers, help="repeatable (default: all in f32)")
    parser.add_argument("--program", action="append", default=[], help="NAME=COMMAND of a program of ours, repeatable")
    parser.add_argument("--samples", type=int, default=10, help="that were not disturbed, of each (default 10)")
    parser.add_argument("--sample-ms", type=float, default=400, help="length of a sample (default 400)")
    parser.add_argument("--seconds", type=float, default=180, help="of sampling per case (default 180)")
    parser.add_argument("--start-limit", type=float, default=900, help="seconds to load, compile and answer once")
    parser.add_argument("--tune", type=int, metavar="N", help="let TVM try N schedules per layer where it has not")
    parser.add_argument("--tune-limit", type=float, default=7200, help="seconds that this may take per case")
    parser.add_argument("--others", type=float, default=0.05, help="share of a processor that others may use")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of the largest output (default 1e-4)")
    parser.add_argument("--cpus", type=numbers, default=sorted(os.sched_getaffinity(0)), help="to run on, such as 0,1")
    parser.add_argument("--python", default=str(HOME / "bin" / "python3"), help="interpreter with the peers")
    parser.add_argument("--json", action="store_true", help="one object per line instead of the table")
    options = parser.parse_args(arguments)
    options.peer = options.peer or list(worker.PEERS)
    return options


def models(options):
    """The models that were asked for; those of the zoo are written only when their turn comes."""
    for folder in options.folder:
        yield in_folders(folder)
    if options.module:
        if not (options.weights and options.onnx and options.check):
            sys.exit("run.py: --module needs --weights, --onnx and --check")
        yield Model(options.onnx.stem, options.module, options.weights, options.onnx, options.check)
    zoo = options.network or ([] if options.folder or options.module else exports.NETWORKS)
    for name in zoo:
        say(f"{name}: exporting")
        yield in_folders(exports.folders(name, options.python))


def report(rows, programs):
    print(measure.table(rows))
    ratios = [row["speed_vs_best_peer"] for row in rows if "speed_vs_best_peer" in row]
    if ratios:
        print(f"\nspeed against the best peer, geometric mean of {len(ratios)}: {measure.geometric_mean(ratios):.2f}")
    for about in sorted({f"{row['peer']}: {row['version']}; {row['settings']}" for row in rows if row["version"]}):
        print(about)
    print(", ".join(f"{key} {value}" for key, value in rows[0]["machine"].items()))


def main(arguments):
    options = parse(arguments)
    programs = dict(text.split("=", 1) for text in options.program)
    if shutil.which(options.python) is None:
        sys.exit(f"run.py: no interpreter at {options.python}; tools/peers/setup makes it")
    rows = []
    for model in models(options):
        for batch in options.batch:
            for threads in options.threads:
                with tempfile.TemporaryDirectory() as folder:
                    case = Case(model, batch, threads, pathlib.Path(folder))
                    found = measure.with_ratios(run_case(case, programs, options), programs)
                if options.json:
                    print("\n".join(map(measure.json_line, found)), flush=True)
                rows += found
    if not options.json:
        report(rows, programs)
    ours_failed = any(row["error"] for row in rows if row["peer"] in programs)
    return 1 if ours_failed or all(row["error"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
