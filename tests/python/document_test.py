# SPDX-License-Identifier: Apache-2.0
"""The code of docs/python.md and the example run as they are."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytest.importorskip("torch")
pytest.importorskip("numpy")


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    names: dict = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert (tmp_path / "faster/kernels.py").exists() and names["mapped"].found


@pytest.mark.skipif(not pathlib.Path("/usr/share/datasets/fashion-mnist").exists(), reason="no dataset-fashion-mnist")
def test_the_example_ends_in_files_that_load_without_kasimir(tmp_path):
    example = ROOT / "python/examples/first_search.py"
    run = subprocess.run(
        [sys.executable, "-B", example, "2", "4", str(tmp_path / "f")], capture_output=True, text=True, check=True
    )
    assert "3 of 4 convolutions" in run.stdout and "original:" in run.stdout
    code = f"import sys; sys.modules['kasimir'] = None; sys.path.insert(0, {str(tmp_path / 'f')!r})\n"
    code += "import kernels; print(len(kernels.PLACES))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": ""}
    )
    assert loaded.stdout == "3\n"
