# SPDX-License-Identifier: Apache-2.0
"""The notebooks run, and hold the outputs that tools/notebooks writes."""

import importlib.machinery
import importlib.util
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
nbformat = pytest.importorskip("nbformat")
for module in ("nbclient", "ipykernel", "torch", "numpy", "pandas", "onnxscript"):
    pytest.importorskip(module)


def tool():
    loader = importlib.machinery.SourceFileLoader("notebooks", str(ROOT / "tools/notebooks"))
    spec = importlib.util.spec_from_loader("notebooks", loader)
    made = importlib.util.module_from_spec(spec)
    loader.exec_module(made)
    return made


def kinds(notebook):
    """What each code cell shows: streams and kinds of data, no values."""
    return [
        [output.get("name") or sorted(output.get("data", {})) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 5


def test_what_a_cell_printed_is_one_piece_without_stderr():
    pieces = [("stdout", "a"), ("stderr", "no"), ("stdout", "b")]
    outputs = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in pieces]
    outputs.insert(1, nbformat.v4.new_output("execute_result", {"text/plain": "5"}))
    assert [output.get("text") for output in tool().tidied(outputs)] == ["a", None, "b"]
    assert [output.text for output in tool().tidied([*outputs[2:], outputs[0]])] == ["ba"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_is_committed_with(path):
    if "fashion-mnist" in path.read_text() and not pathlib.Path("/usr/share/datasets/fashion-mnist").exists():
        pytest.skip("no dataset-fashion-mnist")
    assert kinds(tool().executed(path)) == kinds(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_tells_nothing_of_the_machine_that_ran_it(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    outputs = str([cell.outputs for cell in notebook.cells if cell.cell_type == "code"])
    assert any(kinds(notebook)), "write the outputs by tools/notebooks"
    assert not re.findall(r"/(?:tmp|home|root|work|usr)/[\w./-]*|0x[0-9a-f]{6,}|\d\d:\d\d:\d\d|stderr", outputs)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
