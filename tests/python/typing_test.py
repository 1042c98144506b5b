# SPDX-License-Identifier: Apache-2.0
"""What type checkers see."""

import pathlib
import subprocess
import sys

import pytest

import kasimir

ROOT = pathlib.Path(__file__).resolve().parents[2]
# torch's own backward() has no types, so that calls of what is untyped are allowed
MYPY = [sys.executable, "-m", "mypy", "--strict", "--allow-untyped-calls"]
STUB = ROOT / "python/kasimir/_kasimir.pyi"


def test_the_stub_of_the_extension_is_what_nanobind_writes(tmp_path):
    pytest.importorskip("nanobind")
    made = tmp_path / "made.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "kasimir._kasimir", "-o", made]
    subprocess.run(command, check=True)
    header = "# SPDX-License-Identifier: Apache-2.0\n"
    assert STUB.read_text() == header + made.read_text(), f"write it anew: {' '.join(map(str, command[:-1]))} {STUB}"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    pytest.importorskip("mypy")
    return tmp_path_factory.mktemp("cache")  # torch is read once


def test_the_package_and_its_example_are_typed(cache):
    assert (pathlib.Path(kasimir.__file__).parent / "py.typed").exists()
    command = [*MYPY, "--cache-dir", cache, "python/kasimir", "python/examples"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_misspelt_attribute_is_found(tmp_path, cache):
    (tmp_path / "use.py").write_text(
        "import kasimir\n\n\ndef use(study: kasimir.Study, kernel: kasimir.Kernel) -> None:\n"
        "    print(study.best.kernel.macs, study.best_trial)\n    kernel.costs(5)\n"
    )
    command = [*MYPY, "--cache-dir", cache, "--no-error-summary", "use.py"]
    environment = {"MYPYPATH": str(ROOT / "python"), "PATH": ""}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert found.stdout.splitlines() == [
        'use.py:5: error: "Kernel" has no attribute "macs"  [attr-defined]',
        'use.py:5: error: "Study" has no attribute "best_trial"  [attr-defined]',
        'use.py:6: error: Argument 1 to "costs" of "Kernel" has incompatible type "int"; expected "Site"  [arg-type]',
    ], found.stderr
