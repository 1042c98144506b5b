# SPDX-License-Identifier: Apache-2.0
"""The examples for clusters on one machine, with a search that costs nothing: cluster_test.py FAKE_WORKER

Slurm's srun is a stub that starts its command several times. Ray is real, from the environment build/ray:
python3 -m venv build/ray && build/ray/bin/pip install ray==2.60.0; without it its test is skipped."""

import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RAY_PYTHON = ROOT / "build/ray/bin/python3"
FAKE_WORKER = ""

# What the examples call: a search begins the study and works on it as any worker.
KASIMIR = """#!/bin/sh
case $1 in
  search) "{fake}" "$3" begin {trials} && exec "{fake}" "$3" {pause} ;;
  study) exec "{fake}" "$3" show ;;
  worker) exec "{fake}" "$2" {pause} ;;
esac
exit 70
"""
SRUN = """#!/bin/sh
for task in 1 2 3; do "$@" & done
wait
"""


def processes_of(study):
    """Process numbers of the fake workers that have this study."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if words[0].endswith(b"study_fake_worker") and str(study).encode() in words:
            found.append(int(folder.name))
    return found


class Cluster(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.study = self.folder / "study.db"

    def program(self, name, text, **values):
        path = self.folder / name
        path.write_text(text.format(**values) if values else text)
        path.chmod(0o755)
        return path

    def kill_one(self):
        """Kills a worker once a few trials are done."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            workers = processes_of(self.study)
            # The first worker may be looking at its data still, and the study be empty.
            if len(workers) > 1 and self.has_jobs() and self.count("state = 'done'") > 5:
                os.kill(workers[-1], signal.SIGKILL)
                return
            time.sleep(0.02)
        self.fail("no workers came")

    def has_jobs(self):
        with sqlite3.connect(self.study) as database:
            return database.execute("select count(*) from sqlite_master where name = 'jobs'").fetchone()[0] == 1

    def count(self, where):
        with sqlite3.connect(self.study) as database:
            return database.execute(f"select count(*) from jobs where {where}").fetchone()[0]

    def assert_finished(self):
        self.assertEqual(self.count("state not in ('done', 'failed')"), 0)
        with sqlite3.connect(self.study) as database:
            self.assertEqual(database.execute("select phase from study").fetchone()[0], 4)
        self.assertGreater(self.count("true"), 100)

    def test_slurm_starts_workers_everywhere_and_one_may_be_killed(self):
        kasimir = self.program("kasimir", KASIMIR, fake=FAKE_WORKER, trials=100, pause=20000)
        self.program("srun", SRUN)
        environment = {**os.environ, "KASIMIR": str(kasimir), "PATH": f"{self.folder}:{os.environ['PATH']}"}
        command = ["sh", str(ROOT / "examples/cluster/slurm.sbatch"), str(self.study), "--network", "resnet8"]
        with subprocess.Popen(command, env=environment) as job:
            self.kill_one()
            self.assertEqual(job.wait(timeout=240), 0)
        self.assert_finished()
        with sqlite3.connect(self.study) as database:
            self.assertGreater(database.execute("select count(distinct worker) from jobs").fetchone()[0], 2)

    def test_slurm_stops_where_the_search_refuses(self):
        kasimir = self.program("kasimir", "#!/bin/sh\nexit 2\n")
        environment = {**os.environ, "KASIMIR": str(kasimir)}
        command = ["sh", str(ROOT / "examples/cluster/slurm.sbatch"), str(self.study)]
        self.assertEqual(subprocess.run(command, env=environment, timeout=60, check=False).returncode, 2)

    @unittest.skipUnless(RAY_PYTHON.exists(), "needs Ray in build/ray: see the top of this file")
    def test_ray_starts_a_killed_worker_again(self):
        kasimir = self.program("kasimir", KASIMIR, fake=FAKE_WORKER, trials=150, pause=20000)
        subprocess.run([FAKE_WORKER, str(self.study), "begin", "150"], check=True)
        command = [str(RAY_PYTHON), str(ROOT / "examples/cluster/ray_workers.py"), str(self.study)]
        command += ["--workers", "2", "--kasimir", str(kasimir)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
            self.kill_one()
            output, _ = job.communicate(timeout=280)
        self.assertEqual((job.returncode, output.splitlines()[-1]), (0, "2 of 2 workers came to the end of study.db"))
        self.assert_finished()


if __name__ == "__main__":
    FAKE_WORKER = sys.argv.pop(1)
    unittest.main()
