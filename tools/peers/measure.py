# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of tools/peers/run.py: quartiles, when a sample is set aside, comparing outputs, rows and tables.

Standard library only. Times are in milliseconds where a name says so, else in seconds."""

import array
import ast
import dataclasses
import json
import math
import os
import pathlib
import platform
import re
import zipfile

# What one look at /proc/stat can be wrong by: it counts in ticks of 1/100 s.
TICK_S = 0.01
# With fewer undisturbed samples than this the disturbed ones are used, and the row says so.
FEWEST_CLEAN = 3


def quantile(values, q):
    """The q-quantile, 0 <= q <= 1, linear between the two nearest values."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@dataclasses.dataclass(frozen=True)
class Usage:
    """A look at the machine: when, how many processors, how long they have idled, CPU time of the watched processes."""

    wall: float
    cpus: int
    idle: float
    own: float


def idle_of(stat, ticks_per_s=100):
    """(processors, seconds they have idled or waited for a disk) from the text of /proc/stat.

    Idle time, not the busy columns: the kernel measures it, while it may estimate the busy ones by sampling."""
    total = re.search(r"^cpu +(.*)$", stat, re.MULTILINE)[1].split()
    cpus = len(re.findall(r"^cpu\d", stat, re.MULTILINE))
    return cpus, (int(total[3]) + int(total[4])) / ticks_per_s


def group_seconds(group, proc="/proc", ticks_per_s=100):
    """CPU seconds of all processes of a process group, with the children they waited for."""
    total = 0
    for path in pathlib.Path(proc).glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        if int(fields[2]) == group:
            total += sum(map(int, fields[11:15]))
    return total / ticks_per_s


def others_seconds(before, after):
    """CPU seconds that went to anything but the watched processes between two looks; the hypervisor's steal counts."""
    busy = (after.wall - before.wall) * after.cpus - (after.idle - before.idle)
    return max(0.0, busy - (after.own - before.own))


@dataclasses.dataclass(frozen=True)
class Sample:
    """Some inferences in a row: the milliseconds of each, how long the whole took, CPU seconds of other processes."""

    ms: list
    wall: float
    others: float

    def set_aside(self, share):
        """Whether other processes used more than this share of one processor, beyond what cannot be resolved."""
        return self.others > share * self.wall + TICK_S

    def median(self):
        return quantile(self.ms, 0.5)


def summary(samples, share):
    """What a row says of its samples: median and quartiles over the medians of the samples that were not set aside.

    Where fewer than FEWEST_CLEAN are left it is taken over all, and `contended` is true."""
    clean = [sample for sample in samples if not sample.set_aside(share)]
    contended = len(clean) < FEWEST_CLEAN
    medians = [sample.median() for sample in (samples if contended else clean)]
    return {
        "ms_median": quantile(medians, 0.5),
        "ms_low": quantile(medians, 0.25),
        "ms_high": quantile(medians, 0.75),
        "samples": len(medians),
        "set_aside": len(samples) - len(clean),
        "contended": contended,
    }


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Floats in row-major order."""

    shape: tuple
    values: array.array

    def repeated(self, batch):
        """The same images again and again until there are `batch` of them: image i is image i mod n."""
        each = len(self.values) // self.shape[0]
        rows = [self.values[i * each : (i + 1) * each] for i in range(self.shape[0])]
        out = array.array("f")
        for image in range(batch):
            out.extend(rows[image % len(rows)])
        return Tensor((batch, *self.shape[1:]), out)


def read_npz(path):
    """{name: Tensor} of a .npz file of little-endian floats of 32 or 64 bits."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            wide = data[6] >= 2  # version 1 of the format counts its header in 2 bytes, later ones in 4
            begin = 12 if wide else 10
            end = begin + int.from_bytes(data[8:begin], "little")
            header = ast.literal_eval(data[begin:end].decode())
            kind = {"<f4": "f", "<f8": "d"}.get(header["descr"])
            if kind is None or header["fortran_order"]:
                raise ValueError(f"{path}: {name} is {header['descr']}, needed row-major <f4 or <f8")
            found[name.removesuffix(".npy")] = Tensor(header["shape"], array.array("f", array.array(kind, data[end:])))
    return found


def read_safetensors(path):
    """{name: Tensor} of a .safetensors file of 32-bit floats."""
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, needed F32")
        begin, end = entry["data_offsets"]
        found[name] = Tensor(tuple(entry["shape"]), array.array("f", data[start + begin : start + end]))
    return found


def read_check(path):
    """{"input": images, "output": what they must give} of either kind of file."""
    return (read_safetensors if pathlib.Path(path).suffix == ".safetensors" else read_npz)(path)


def difference(output, reference):
    """The largest difference, relative to the largest value of the reference; NaN in the output gives NaN."""
    if any(math.isnan(value) for value in output):
        return math.nan
    largest = max(abs(value) for value in reference)
    return max(abs(a - b) for a, b in zip(output, reference)) / largest


def check(output, reference, tolerance):
    """(difference, what is wrong or None) of a raw output."""
    if len(output) != len(reference):
        return None, f"wrote {len(output)} numbers, the reference has {len(reference)}"
    if not any(reference):
        return None, "the reference is 0 everywhere, which every broken network equals"
    found = difference(output, reference)
    if found <= tolerance:
        return found, None
    return found, f"the output differs by {found:.1e} of the largest value, allowed is {tolerance:.0e}"


def with_ratios(rows, programs):
    """The rows, those of our programs with the fastest peer of the same network, batch and threads, and the ratio."""
    out = []
    for row in rows:
        key = [row[name] for name in ("network", "batch", "threads")]
        peers = [
            other
            for other in rows
            if [other[name] for name in ("network", "batch", "threads")] == key
            and other["peer"] not in programs
            and other["error"] is None
        ]
        if row["peer"] in programs and row["error"] is None and peers:
            best = min(peers, key=lambda other: other["ms_median"])
            row = {**row, "best_peer": best["peer"], "speed_vs_best_peer": best["ms_median"] / row["ms_median"]}
        out.append(row)
    return out


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def json_line(row):
    """One object; numbers with five digits, and null for what JSON has no number for."""

    def plain(value):
        if isinstance(value, float):
            return float(f"{value:.5g}") if math.isfinite(value) else None
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return value

    return json.dumps(plain(row))


COLUMNS = ("network", "batch", "threads", "peer", "ms", "quartiles", "samples", "aside", "difference", "vs best peer")


def cells(row):
    """The texts of one row of the table. A time that others disturbed ends with `~`."""
    place = [row["network"], str(row["batch"]), str(row["threads"]), row["peer"]]
    if row["error"] is not None:
        return [*place, f"error: {row['error']}"]
    ratio = row.get("speed_vs_best_peer")
    return [
        *place,
        f"{row['ms_median']:.4g}{'~' if row['contended'] else ''}",
        f"{row['ms_low']:.4g}..{row['ms_high']:.4g}",
        str(row["samples"]),
        str(row["set_aside"]),
        "not checked" if row["difference"] is None else f"{row['difference']:.1e}",
        "" if ratio is None else f"{ratio:.2f}",
    ]


def table(rows):
    """The rows as text. Columns of numbers are aligned right; an error takes the rest of its line."""
    lines = [list(COLUMNS), *map(cells, rows)]
    full = [line for line in lines if len(line) == len(COLUMNS)]
    place = [max(len(line[i]) for line in lines) for i in range(4)]
    widths = place + [max(len(line[i]) for line in full) for i in range(4, len(COLUMNS))]
    out = []
    for line in lines:
        texts = [text.ljust(widths[i]) if i in (0, 3) else text.rjust(widths[i]) for i, text in enumerate(line[:4])]
        texts += line[4:] if len(line) < len(COLUMNS) else [line[i].rjust(widths[i]) for i in range(4, len(line))]
        out.append("  ".join(texts).rstrip())
    return "\n".join(out)


def first_match(pattern, path, otherwise):
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else otherwise


def machine(cpus):
    """What the times depend on: the processor and its instructions, governor, kernel, the processors in use."""
    flags = first_match(r"^flags\s*:(.*)$", "/proc/cpuinfo", "").split()
    wanted = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")
    return {
        "cpu": first_match(r"^model name\s*:(.*)$", "/proc/cpuinfo", platform.machine()),
        "cores": os.cpu_count(),
        "pinned_to": list(cpus),
        "instructions": [flag for flag in wanted if flag in flags],
        "governor": first_match(r"(\w+)", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not exposed"),
        "virtual": "hypervisor" in flags,
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
    }
