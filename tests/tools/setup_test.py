# SPDX-License-Identifier: Apache-2.0
"""tools/setup on machines made of stub programs: what it installs, and the exact words where it may not."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "setup"
REAL = "cat cksum cp dirname env mkdir readlink rm sh tail touch tr".split()

# The interpreter: makes build/venv with a copy of itself, and believes requirements.txt once pip has read it.
PYTHON = """#!/bin/sh
echo "python $*" | head -c 60 | head -n 1 >>calls
case "$*" in
  "-m venv --clear build/venv")
    [ ! -f no-venv ] || { echo 'ensurepip is not available'; exit 1; }
    rm -rf build/venv; mkdir -p build/venv/bin; cp "$0" build/venv/bin/python3 ;;
  "-m pip --version") ;;
  "-m pip install -r requirements.txt")
    [ ! -f no-pip ] || { echo 'no matching distribution'; exit 1; }
    cp requirements.txt build/venv/installed ;;
  "-m pip install -r requirements-test.txt") cp requirements-test.txt build/venv/tools ;;
  *requirements-test.txt) cmp -s requirements-test.txt build/venv/tools ;;
  *) cmp -s requirements.txt build/venv/installed ;;
esac
"""
# Packages named in `installed` are there; apt-get adds those it is asked for, if its lists know them.
STUBS = {
    "dpkg-query": '[ -f all-installed ] || grep -qx "$4" installed && echo "ii "',
    "id": "cat uid",
    "sudo": '[ -f sudoer ] || exit 1; shift; "$@"',
    "apt-get": 'echo "apt-get $1" >>calls\n'
    'if [ "$1" = update ]; then touch lists; exit 100; fi\n'
    "[ -f lists ] || { echo 'E: Unable to locate package ninja-build'; exit 100; }\n"
    "touch all-installed",
}


class Setup(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "tools").mkdir()
        shutil.copy(SCRIPT, self.root / "tools" / "setup")
        (self.root / "bin").mkdir()
        for name in REAL + ["cmp", "grep", "head"]:
            (self.root / "bin" / name).symlink_to(shutil.which(name))
        for name, text in STUBS.items():
            self.program(name, "#!/bin/sh\n" + text + "\n")
        self.program("python", PYTHON)
        self.write("requirements.txt", "torch==1.0\n")
        self.write("requirements-test.txt", "pytest==1.0\n")
        self.write("uid", "0\n")
        self.write("installed", "")

    def program(self, name, text):
        self.write("bin/" + name, text)
        (self.root / "bin" / name).chmod(0o755)

    def write(self, name, text=""):
        (self.root / name).write_text(text)

    def run_setup(self, *arguments):
        """(exit code, output, error output, calls of apt-get and python)."""
        self.write("calls")
        python = str(self.root / "bin" / "python")
        environment = {"PATH": str(self.root / "bin"), "KASIMIR_SETUP_PYTHON": python, "HOME": str(self.root)}
        command = [os.path.realpath(shutil.which("sh")), "tools/setup", *arguments]
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "check": False}
        result = subprocess.run(command, cwd=self.root, env=environment, **options)
        error = result.stderr.replace(python, "PYTHON")
        return result.returncode, result.stdout, error, (self.root / "calls").read_text().splitlines()

    def all_but(self, *packages):
        names = "g++ cmake ninja-build ccache git python3 python3-venv libfmt-dev libspdlog-dev libcli11-dev "
        names += "nlohmann-json3-dev libtomlplusplus-dev libyaml-cpp-dev libsoci-dev libboost-dev libsqlite3-dev libpq-dev "
        names += "libcpp-httplib-dev libgtest-dev libgmock-dev libonnx-dev libprotobuf-dev librapidcheck-dev robin-map-dev "
        names += "libjpeg62-turbo-dev libpng-dev zlib1g-dev graphviz dataset-fashion-mnist"
        self.write("installed", "".join(f"{name}\n" for name in names.split() if name not in packages))

    def test_installs_only_what_is_missing_and_refreshes_the_lists_only_if_they_do_not_know_it(self):
        self.all_but("ninja-build", "graphviz")
        code, output, error, calls = self.run_setup()
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(
            output.splitlines(),
            [
                "setup: installing Debian packages: ninja-build graphviz",
                "setup: installing torch==1.0 into build/venv; the download can be large",
            ],
        )
        self.assertEqual(calls[:3], ["apt-get install", "apt-get update", "apt-get install"])

    def test_asks_nobody_the_second_time(self):
        self.write("all-installed")
        self.assertEqual(self.run_setup()[0], 0)
        self.assertEqual(self.run_setup()[:3], (0, "", ""))
        self.assertFalse([call for call in self.run_setup()[3] if "apt-get" in call or "pip" in call])

    def test_installs_again_when_the_requirements_change(self):
        self.write("all-installed")
        self.run_setup()
        self.write("requirements.txt", "torch==2.0\n")
        code, output, _, calls = self.run_setup()
        self.assertEqual(code, 0)
        self.assertEqual(output, "setup: installing torch==2.0 into build/venv; the download can be large\n")
        self.assertIn("python -m pip install -r requirements.txt", calls)
        self.assertNotIn("python -m venv --clear build/venv", calls)

    def test_makes_a_broken_environment_anew(self):
        self.write("all-installed")
        self.run_setup()
        (self.root / "build/venv/bin/python3").unlink()
        code, _, _, calls = self.run_setup()
        self.assertEqual(code, 0)
        self.assertIn("python -m venv --clear build/venv", calls)

    def test_asks_for_linters_and_a_server_only_when_told(self):
        self.all_but()
        self.assertEqual(self.run_setup()[0], 0)
        self.assertEqual(
            self.run_setup("python")[1].splitlines(),
            ["setup: installing Debian packages: python3-dev", "setup: installing pytest==1.0 into build/venv"],
        )
        self.assertEqual(self.run_setup("python")[:3], (0, "", ""))
        (self.root / "all-installed").unlink()
        self.assertEqual(self.run_setup("test")[1], "setup: installing Debian packages: postgresql python3-dev\n")
        self.assertEqual(self.run_setup("test")[:3], (0, "", ""))
        (self.root / "build/venv/tools").unlink()
        self.assertEqual(self.run_setup("test")[1], "setup: installing pytest==1.0 into build/venv\n")
        (self.root / "all-installed").unlink()
        self.assertIn("installing Debian packages: clang-format-19 clang-tidy-19\n", self.run_setup("lint")[1])

    def test_uses_sudo_where_it_asks_no_password(self):
        self.write("uid", "1000\n")
        self.write("sudoer")
        self.write("lists")
        self.assertEqual(self.run_setup()[0], 0)
        self.assertTrue((self.root / "all-installed").exists())

    def test_says_what_to_run_where_it_may_not_install(self):
        self.write("uid", "1000\n")
        self.all_but("ninja-build", "ccache")
        self.assertEqual(
            self.run_setup(),
            (
                4,
                "",
                "\nsetup stopped: missing Debian packages: ninja-build ccache; installing them needs root, and sudo is"
                " not available. Run this by hand, then the same make command again:\n\n"
                "    apt-get update && apt-get install --no-install-recommends ninja-build ccache\n\n",
                [],
            ),
        )

    def test_says_what_apt_said_where_it_fails(self):
        self.program("apt-get", "#!/bin/sh\necho 'E: Unable to locate package ccache'; exit 100\n")
        self.all_but("ccache")
        code, _, error, _ = self.run_setup()
        self.assertEqual(code, 4)
        self.assertEqual(
            error,
            "E: Unable to locate package ccache\n" * 3
            + "\nsetup stopped: missing Debian packages: ccache; apt-get failed, its last words are above (all of them:"
            " build/setup.log). Run this by hand, then the same make command again:\n\n"
            "    apt-get update && apt-get install --no-install-recommends ccache\n\n",
        )

    def test_says_what_python_said_where_there_can_be_no_environment(self):
        self.write("all-installed")
        self.write("no-venv")
        code, _, error, _ = self.run_setup()
        self.assertEqual(code, 4)
        self.assertEqual(
            error,
            "ensurepip is not available\n"
            "\nsetup stopped: no virtual environment at build/venv; python failed, its last words are above (all of"
            " them: build/setup.log). Run this by hand, then the same make command again:\n\n"
            "    PYTHON -m venv --clear build/venv\n\n",
        )

    def test_says_what_pip_said_where_it_fails_and_does_not_believe_in_torch_afterwards(self):
        self.write("all-installed")
        self.write("no-pip")
        for _ in range(2):
            code, _, error, _ = self.run_setup()
            self.assertEqual(code, 4)
            self.assertEqual(
                error,
                "no matching distribution\n"
                "\nsetup stopped: no usable torch in build/venv; pip failed, its last words are above (all of them:"
                " build/setup.log). Run this by hand, then the same make command again:\n\n"
                "    PYTHON -m venv --clear build/venv && build/venv/bin/python3 -m pip install -r requirements.txt\n\n",
            )

    def test_says_that_it_knows_debian_only(self):
        (self.root / "bin/dpkg-query").unlink()
        code, _, error, _ = self.run_setup()
        self.assertEqual(code, 4)
        start = "\nsetup stopped: this is not a Debian machine; setup installs Debian packages only; install their"
        self.assertEqual(error[: len(start)], start)
        self.assertIn("    make SETUP=true build    # after installing: g++ cmake ninja-build", error)

    def test_refuses_an_argument_that_it_does_not_know(self):
        self.assertEqual(
            self.run_setup("everything"),
            (2, "", "tools/setup: unknown argument 'everything'; it takes nothing, 'test', 'python' or 'lint'\n", []),
        )


if __name__ == "__main__":
    unittest.main()
