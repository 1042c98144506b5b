# SPDX-License-Identifier: Apache-2.0
"""tools/peers without the frameworks: the arithmetic of times, the protocol with small programs that stand for peers,
and whole runs over them."""

import array
import contextlib
import io
import json
import math
import os
import pathlib
import struct
import sys
import tempfile
import time
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "peers"))
import child  # noqa: E402
import measure  # noqa: E402
import run  # noqa: E402


def npy(shape, values, kind="f"):
    """The bytes of a .npy file, version 1."""
    header = repr({"descr": {"f": "<f4", "d": "<f8"}[kind], "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array(kind, values).tobytes()


def write_npz(path, **tensors):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in tensors.items():
            archive.writestr(f"{name}.npy", data)


def row(**changes):
    """A sound row of the table."""
    sound = {
        "network": "resnet20",
        "batch": 1,
        "threads": 1,
        "peer": "onnxruntime",
        "ms_median": 0.5,
        "ms_low": 0.4875,
        "ms_high": 0.51,
        "samples": 10,
        "set_aside": 2,
        "contended": False,
        "error": None,
        "difference": 3.2e-7,
    }
    return {**sound, **changes}


class Quantiles(unittest.TestCase):
    def test_are_linear_between_neighbours(self):
        self.assertEqual([measure.quantile([4, 1, 3, 2], q) for q in (0, 0.25, 0.5, 1)], [1, 1.75, 2.5, 4])

    def test_of_one_value_are_that_value(self):
        self.assertEqual([measure.quantile([7], q) for q in (0.25, 0.5, 0.75)], [7, 7, 7])


class SetAside(unittest.TestCase):
    def usage(self, wall, idle, own):
        return measure.Usage(wall=wall, cpus=2, idle=idle, own=own)

    def test_counts_what_neither_idled_nor_was_ours(self):
        before = self.usage(10.0, 100.0, 5.0)
        self.assertAlmostEqual(measure.others_seconds(before, self.usage(11.0, 100.7, 6.0)), 0.3)
        self.assertEqual(measure.others_seconds(before, self.usage(11.0, 101.01, 6.0)), 0.0)

    def test_allows_a_share_of_one_processor_and_one_tick(self):
        self.assertFalse(measure.Sample([1.0], wall=1.0, others=0.0599).set_aside(0.05))
        self.assertTrue(measure.Sample([1.0], wall=1.0, others=0.0601).set_aside(0.05))
        self.assertFalse(measure.Sample([1.0], wall=0.1, others=0.0149).set_aside(0.05))
        self.assertTrue(measure.Sample([1.0], wall=0.1, others=0.0151).set_aside(0.05))

    def test_summary_takes_the_undisturbed(self):
        samples = [measure.Sample([ms, ms, 99.0], 1.0, 0.0) for ms in (1.0, 2.0, 3.0)]
        samples.append(measure.Sample([50.0], 1.0, 0.5))
        expected = {"ms_median": 2.0, "ms_low": 1.5, "ms_high": 2.5, "samples": 3, "set_aside": 1, "contended": False}
        self.assertEqual(measure.summary(samples, 0.05), expected)

    def test_summary_takes_all_where_too_few_were_undisturbed_and_says_so(self):
        samples = [measure.Sample([1.0], 1.0, 0.0), measure.Sample([3.0], 1.0, 0.5)]
        found = measure.summary(samples, 0.05)
        self.assertEqual((found["ms_median"], found["samples"], found["set_aside"]), (2.0, 2, 1))
        self.assertTrue(found["contended"])

    def test_reads_idle_and_disk_time_of_all_processors(self):
        stat = "cpu  10 0 20 300 50 0 1 2 0 0\ncpu0 5 0 10 150 25 0 1 1 0 0\ncpu1 5 0 10 150 25 0 0 1 0 0\nintr 3\n"
        self.assertEqual(measure.idle_of(stat), (2, 3.5))

    def test_adds_up_the_processes_of_a_group(self):
        with tempfile.TemporaryDirectory() as folder:
            for pid, group in ((7, 7), (8, 7), (9, 9)):
                pathlib.Path(folder, str(pid)).mkdir()
                times = "100 20 3 1"
                line = f"{pid} (a ) b) S 1 {group} 0 0 -1 0 0 0 0 0 {times} 20 0\n"
                pathlib.Path(folder, str(pid), "stat").write_text(line)
            self.assertEqual(measure.group_seconds(7, folder), 2.48)

    def test_sees_a_busy_process(self):
        before = measure.group_seconds(os.getpgrp())
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
        self.assertGreaterEqual(measure.group_seconds(os.getpgrp()) - before, 0.15)


class Tensors(unittest.TestCase):
    def read(self, **tensors):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "check.npz")
            write_npz(path, **tensors)
            return measure.read_npz(path)

    def test_are_read_from_floats_of_both_widths(self):
        found = self.read(input=npy((2, 2), [1, 2, 3, 4]), output=npy((2, 1), [0.5, -1], "d"))
        self.assertEqual((found["input"].shape, list(found["input"].values)), ((2, 2), [1, 2, 3, 4]))
        self.assertEqual((found["output"].shape, list(found["output"].values)), ((2, 1), [0.5, -1]))

    def test_of_integers_are_refused(self):
        data = npy((1,), [1]).replace(b"'<f4'", b"'<i4'")
        with self.assertRaisesRegex(ValueError, "input.npy is <i4, needed row-major <f4 or <f8"):
            self.read(input=data)

    def test_are_read_from_safetensors(self):
        header = {
            "__metadata__": {"note": "x"},
            "output": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]},
            "input": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
        }
        text = json.dumps(header).encode()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "check.safetensors")
            path.write_bytes(struct.pack("<Q", len(text)) + text + array.array("f", [1, 2, 3]).tobytes())
            found = measure.read_check(path)
            plain = {name: (tensor.shape, list(tensor.values)) for name, tensor in found.items()}
            self.assertEqual(plain, {"input": ((1, 2), [1, 2]), "output": ((1,), [3])})
            path.write_bytes(path.read_bytes().replace(b"F32", b"F16", 1))
            with self.assertRaisesRegex(ValueError, "output is F16, needed F32"):
                measure.read_check(path)

    def test_repeat_their_images(self):
        tensor = measure.Tensor((2, 1, 2), array.array("f", [1, 2, 3, 4]))
        self.assertEqual(list(tensor.repeated(3).values), [1, 2, 3, 4, 1, 2])
        self.assertEqual(tensor.repeated(1).shape, (1, 1, 2))


class Check(unittest.TestCase):
    def test_is_relative_to_the_largest_value(self):
        self.assertEqual(measure.check([0.0, -8.0], [1.0, -8.0], 0.2), (0.125, None))

    def test_says_by_how_much_an_output_differs(self):
        wrong = "the output differs by 1.2e-01 of the largest value, allowed is 1e-04"
        self.assertEqual(measure.check([0.0, -8.0], [1.0, -8.0], 1e-4), (0.125, wrong))

    def test_refuses_nan_wherever_it_is(self):
        for output in ([math.nan, 1.0], [1.0, math.nan]):
            found, wrong = measure.check(output, [1.0, 1.0], 1e-4)
            self.assertTrue(math.isnan(found))
            self.assertEqual(wrong, "the output differs by nan of the largest value, allowed is 1e-04")

    def test_refuses_another_number_of_values(self):
        self.assertEqual(measure.check([1.0], [1.0, 2.0], 1e-4), (None, "wrote 1 numbers, the reference has 2"))

    def test_refuses_a_reference_that_shows_nothing(self):
        wrong = "the reference is 0 everywhere, which every broken network equals"
        self.assertEqual(measure.check([0.0], [0.0], 1e-4), (None, wrong))


TABLE = """\
network   batch  threads  peer             ms     quartiles  samples  aside   difference  vs best peer
resnet20      1        1  onnxruntime     0.5  0.4875..0.51       10      2      3.2e-07
resnet20     32        1  onnxruntime  14.25~     14..15.12       10      2  not checked
resnet20      1        1  tvm          error: no answer to `run 1` within 900 s
resnet20      1        1  ours           0.25  0.4875..0.51       10      2      3.2e-07          2.00"""


class Rows(unittest.TestCase):
    def test_compare_our_programs_with_the_fastest_peer_of_the_same_case(self):
        rows = [
            row(),
            row(peer="openvino", ms_median=0.4),
            row(peer="tvm", ms_median=None, error="no answer"),
            row(peer="openvino", batch=32, ms_median=0.1),
            row(peer="ours", ms_median=0.2),
        ]
        found = measure.with_ratios(rows, {"ours"})
        self.assertEqual(found[:4], rows[:4])
        self.assertEqual((found[4]["best_peer"], found[4]["speed_vs_best_peer"]), ("openvino", 2.0))

    def test_are_not_compared_where_no_peer_was_timed(self):
        alone = [row(peer="ours")]
        self.assertEqual(measure.with_ratios(alone, {"ours"}), alone)

    def test_geometric_mean(self):
        self.assertAlmostEqual(measure.geometric_mean([0.5, 8.0]), 2.0)

    def test_as_json_are_one_line_with_short_numbers_and_without_nan(self):
        line = measure.json_line({"ms_median": 1 / 3, "difference": math.nan, "batch": 32, "machine": {"x": 2 / 3}})
        self.assertEqual(line, '{"ms_median": 0.33333, "difference": null, "batch": 32, "machine": {"x": 0.66667}}')

    def test_as_a_table_are_aligned_and_mark_what_was_disturbed(self):
        rows = [
            row(),
            row(batch=32, ms_median=14.25, ms_low=14, ms_high=15.123456, contended=True, difference=None),
            row(peer="tvm", error="no answer to `run 1` within 900 s"),
            row(peer="ours", ms_median=0.25, best_peer="onnxruntime", speed_vs_best_peer=2.0),
        ]
        self.assertEqual(measure.table(rows), TABLE)


# A program that follows the protocol: {network} is unused, its arguments are the output file and the values to write.
GOOD = """
import array, json, os, sys
if len(sys.argv) > 1:
    array.array("f", map(float, sys.argv[2:])).tofile(open(sys.argv[1], "wb"))
for line in sys.stdin:
    print(json.dumps([0.5] * int(line.split()[1])), flush=True)
"""


class Protocol(unittest.TestCase):
    """A child for each way to keep or break the protocol."""

    def child(self, program, *arguments):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        cpus = sorted(os.sched_getaffinity(0))[-1:]
        command = [sys.executable, "-c", program, *arguments]
        made = child.Child("fake", command, cpus, child.environment(1, {"EXTRA": "1"}), pathlib.Path(folder, "log"))
        self.addCleanup(made.kill)
        return made

    def expect_failure(self, program, text, limit=30.0):
        made = self.child(program)
        with self.assertRaises(child.Failure) as caught:
            made.run(2, limit)
        self.assertEqual(str(caught.exception), text)
        self.assertIsNotNone(made.process.returncode)

    def test_gives_the_milliseconds_of_each_inference(self):
        made = self.child(GOOD)
        self.assertEqual(made.run(3, 30), [0.5, 0.5, 0.5])
        self.assertEqual(made.run(1, 30), [0.5])

    def test_does_not_count_the_first_inference_of_a_sample(self):
        counting = "import sys, json\nfor line in sys.stdin:\n    print(json.dumps([9, 1, 1]), flush=True)\n"
        self.assertEqual(self.child(counting).sample(2, 30).ms, [1, 1])

    def test_pins_the_program_and_sets_its_threads(self):
        asked = "import json, os\ninput()\nprint(json.dumps([len(os.sched_getaffinity(0)),"
        asked += "int(os.environ['OMP_NUM_THREADS']), int(os.environ['EXTRA'])]), flush=True)\ninput()"
        self.assertEqual(self.child(asked).run(3, 30), [1, 1, 1])

    def test_stops_the_program_between_questions(self):
        spinning = "import threading\ndef spin():\n    while True: pass\n"
        spinning += "threading.Thread(target=spin, daemon=True).start()\n" + GOOD
        made = self.child(spinning)
        made.run(1, 30)
        time.sleep(0.05)
        before = measure.group_seconds(made.process.pid)
        time.sleep(0.3)
        self.assertLessEqual(measure.group_seconds(made.process.pid) - before, 0.02)

    def test_names_a_program_that_does_not_exist(self):
        with self.assertRaises(child.Failure) as caught:
            child.Child("x", ["/no/such"], [0], {}, "/dev/null")
        self.assertEqual(str(caught.exception), "there is no program /no/such")

    def test_gives_the_status_and_last_words_of_a_program_that_ended(self):
        text = "ended with status 3 before it answered `run 2`: no weights"
        self.expect_failure("import sys\ninput()\nprint('loading\\nno weights', file=sys.stderr)\nsys.exit(3)", text)

    def test_names_the_signal_of_a_crash(self):
        text = "was ended by signal 11 before it answered `run 2`"
        self.expect_failure("import os, signal\ninput()\nos.kill(os.getpid(), signal.SIGSEGV)", text)

    def test_ends_a_program_that_hangs(self):
        self.expect_failure("input()\nwhile True: pass", "no answer to `run 2` within 0.3 s", limit=0.3)

    def test_refuses_answers_that_are_no_times(self):
        for answer in ("ready", "[0.5]", "[0.5, 0]", "[0.5, true]", "[0.5, NaN]", '{"ms": 1}'):
            text = f"answered `{answer}`, needed a JSON list of 2 times in milliseconds"
            self.expect_failure(f"input()\nprint('''{answer}''')", text)


class Runs(unittest.TestCase):
    """Whole runs over a folder whose network gives [1, 2] for one image and [3, 4] for another."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "toy")
        self.folder.mkdir()
        (self.folder / "model.py").write_text("")
        (self.folder / "model.onnx").write_text("")
        output = npy((2, 2), [1, 2, 3, 4])
        write_npz(self.folder / "check.npz", input=npy((2, 1, 1, 1), [5, 6]), output=output)
        self.program = self.folder / "program.py"
        self.program.write_text(GOOD)
        # Stands for the interpreter with the peers: of worker.py's arguments it needs the output and the batch.
        self.python = self.folder / "python"
        self.python.write_text(
            f"#!{sys.executable}\nimport json, sys\n"
            "at = lambda name: sys.argv[sys.argv.index(name) + 1]\n"
            "json.dump({'version': 'toy 1.0', 'settings': 'none'}, open(at('--output') + '.json', 'w'))\n"
            "batch = int(at('--shape').split(',')[0])\n"
            "sys.argv = ['', at('--output'), *'1234'[: 2 * batch]]\n" + GOOD
        )
        self.python.chmod(0o755)

    def run_on(self, *arguments):
        """(exit status, standard output) of a short run over one peer."""
        common = ["--folder", self.folder, "--python", self.python, "--threads", "1", "--peer", "openvino"]
        short = ["--samples", "3", "--sample-ms", "2", "--seconds", "1", "--others", "9"]
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            status = run.main([*map(str, common), *short, *map(str, arguments)])
        return status, out.getvalue()

    def rows(self, *arguments):
        status, text = self.run_on("--json", *arguments)
        return status, [json.loads(line) for line in text.splitlines()]

    def ours(self, words):
        return f"ours={sys.executable} {self.program} {words}"

    def test_give_a_row_for_each_peer_batch_and_program(self):
        status, rows = self.rows("--batch", "1,2", "--program", self.ours("{output} 1 2"))
        self.assertEqual(status, 1)  # for a batch of 2 our program is wrong
        both = [("openvino", 1), ("ours", 1), ("openvino", 2), ("ours", 2)]
        self.assertEqual([(each["peer"], each["batch"]) for each in rows], both)
        self.assertEqual(rows[3]["error"], "wrote 2 numbers, the reference has 4")
        self.assertIsNone(rows[3]["ms_median"])
        expected = {
            "network": "toy",
            "threads": 1,
            "ms_median": 0.5,
            "ms_low": 0.5,
            "ms_high": 0.5,
            "samples": 3,
            "set_aside": 0,
            "contended": False,
            "error": None,
            "difference": 0.0,
        }
        for each in rows[:3]:
            self.assertEqual({key: each[key] for key in expected}, expected)
        self.assertEqual((rows[0]["version"], rows[0]["settings"]), ("toy 1.0", "none"))
        self.assertEqual((rows[1]["best_peer"], rows[1]["speed_vs_best_peer"]), ("openvino", 1.0))
        self.assertEqual(len(rows[0]["machine"]["pinned_to"]), 1)

    def test_take_no_time_of_a_program_whose_output_is_wrong(self):
        status, rows = self.rows("--batch", "1", "--program", self.ours("{output} 1 2.5"))
        self.assertEqual(status, 1)
        self.assertEqual(rows[1]["error"], "the output differs by 2.5e-01 of the largest value, allowed is 1e-04")
        self.assertEqual(rows[1]["difference"], 0.25)
        self.assertNotIn("speed_vs_best_peer", rows[1])

    def test_say_that_a_program_without_an_output_was_not_checked(self):
        status, text = self.run_on("--batch", "1", "--program", self.ours(""))
        self.assertEqual(status, 0)
        lines = text.splitlines()
        self.assertIn("not checked", lines[2])
        self.assertEqual(lines[4], "speed against the best peer, geometric mean of 1: 1.00")
        self.assertEqual(lines[5], "openvino: toy 1.0; none")

    def test_record_a_peer_that_fails_and_go_on(self):
        self.python.write_text("#!/bin/sh\necho no such framework >&2\nexit 1\n")
        status, rows = self.rows("--batch", "1", "--program", self.ours("{output} 1 2"))
        self.assertEqual(status, 0)
        self.assertEqual(rows[0]["error"], "ended with status 1 before it answered `run 1`: no such framework")
        self.assertEqual(rows[1]["ms_median"], 0.5)

    def test_replace_the_words_of_a_command(self):
        case = run.Case(run.in_folders(str(self.folder)), 1, 2, self.folder)
        case.prepare()
        words = case.program_command("ours", "bench '{network} {batch}' --t={threads} {folder} {input} {output}")
        at = [str(self.folder / name) for name in ("", "input.raw", "ours.raw")]
        self.assertEqual(words, ["bench", "toy 1", "--t=2", *(path.rstrip("/") for path in at)])
        self.assertEqual((self.folder / "input.raw").read_bytes(), array.array("f", [5]).tobytes())

    def test_find_the_weights_of_a_folder(self):
        self.assertEqual(run.in_folders(str(self.folder)).weights, self.folder)
        (self.folder / "state.pt").write_text("")
        self.assertEqual(run.in_folders(str(self.folder)).weights, self.folder / "state.pt")

    def test_take_each_file_from_the_first_folder_that_has_it(self):
        other = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        (self.folder / "model.onnx").rename(other / "model.onnx")
        (self.folder / "check.npz").unlink()
        for name in ("weights", "check"):
            (self.folder / f"{name}.safetensors").write_text("")
        model = run.in_folders(f"{self.folder},{other}")
        here = self.folder
        expected = run.Model(
            "toy", here / "model.py", here / "weights.safetensors", other / "model.onnx", here / "check.safetensors"
        )
        self.assertEqual(model, expected)

    def test_name_what_a_folder_lacks(self):
        (self.folder / "check.npz").unlink()
        with self.assertRaises(SystemExit) as caught:
            run.in_folders(str(self.folder))
        self.assertEqual(str(caught.exception), f"run.py: {self.folder} has no check.npz or check.safetensors")

    def test_refuse_more_threads_than_processors(self):
        with self.assertRaises(SystemExit) as caught:
            self.run_on("--threads", "2", "--cpus", "0", "--batch", "1")
        self.assertEqual(str(caught.exception), "run.py: 2 threads need as many processors, there are 1")


if __name__ == "__main__":
    unittest.main()
