# SPDX-License-Identifier: Apache-2.0
"""What needs no torch."""

import pickle
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

import kasimir

SITES = [kasimir.Site(64, 64, 16, 16), kasimir.Site(64, 128, 8, 8, 2)]


def test_importing_loads_neither_torch_nor_numpy():
    code = "import sys, kasimir; kasimir.sample; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_study_that_lives_until_the_end_is_no_complaint():
    code = "import kasimir; study = kasimir.create_study(kasimir.Site(64, 64, 16, 16)); study.ask(); study.me = study"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")


def test_kernels_print_compare_and_pickle():
    for name, kernel in kasimir.examples().items():
        again = kasimir.Kernel.parse(kernel.text)
        assert again == kernel and hash(again) == hash(kernel) and again.name == name
        assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert kasimir.examples()["squeeze_excite"].primitives == [
        "conv", "fold", "linear", "relu", "linear", "sigmoid", "broadcast"]  # fmt: skip


def test_costs_are_those_of_the_literature():
    costs = kasimir.examples()["convolution"].costs(SITES[1])
    assert costs["params"] == 9 * 64 * 128
    assert costs["macs"] == 9 * 64 * 128 * 8 * 8


def test_an_unknown_primitive_is_an_input_error_with_its_place():
    with pytest.raises(kasimir.InputError) as caught:
        kasimir.Kernel.parse("kernel a\n  b = foo(x)\nreturn b", "mine.txt")
    assert caught.value.message.startswith("unknown primitive `foo`, known: group, merge")
    assert caught.value.notes == ["at mine.txt:2:7: b = foo(x)"]
    assert isinstance(caught.value, ValueError)


def test_samples_keep_the_budget_and_repeat_for_a_seed():
    kernels = list(kasimir.sample(SITES, 10, budget="macs=0.1..0.5", seed=3))
    assert kernels == list(kasimir.sample(SITES, 10, budget="macs=0.1..0.5", seed=3))
    assert kernels != list(kasimir.sample(SITES, 10, budget="macs=0.1..0.5", seed=4))
    assert len(set(kernels)) == 10
    for kernel in kernels:
        for load in map(kasimir.conv_load, SITES):
            assert 0.1 <= kernel.costs(load.site)["macs"] / load.macs * (1 + 1e-9) and (
                kernel.costs(load.site)["macs"] <= 0.5 * load.macs * (1 + 1e-9))  # fmt: skip
        assert 5 <= len(kernel.primitives) <= 25


def test_a_budget_that_nothing_keeps_is_unsolved():
    with pytest.raises(kasimir.UnsolvedError, match="0 of 1 kernels found in 50 attempts"):
        list(kasimir.sample(SITES, 1, budget="macs=0.0000001..0.0000002", attempts=50))


def test_a_drawing_is_one_svg_element():
    svg = kasimir.examples()["involution"].svg()
    assert svg.startswith("<svg") and svg.endswith("</svg>") and kasimir.examples()["involution"]._repr_svg_() == svg


def test_an_accelerator_mapping_has_a_certificate():
    assert "gemmini" in kasimir.accel.presets()
    mapped = kasimir.accel.map(kasimir.Site(16, 16, 8, 8), arch="gemmini", objective="latency", gap=0)
    assert mapped.found and mapped.certificate == "optimal" and mapped.cycles >= 9 * 16 * 16 * 64 / 256
    assert mapped.layers[0].mapping and "for" in mapped.layers[0].loops
    with pytest.raises(kasimir.InputError, match="gemini"):
        kasimir.accel.map(kasimir.Site(16, 16, 8, 8), arch="gemini")


def test_rounded_arrays_are_what_their_codes_stand_for():
    numpy = pytest.importorskip("numpy")
    values = numpy.random.default_rng(1).normal(size=(4, 50)).astype("float32")
    rounded = kasimir.quantize.array(values, "int8", per_channel=True)
    assert numpy.allclose(rounded.values, rounded.codes * rounded.steps[:, None])
    assert numpy.abs(values - rounded.values).max() <= rounded.steps.max() / 2 * (1 + 1e-5)
    assert kasimir.quantize.array(values, "int4").error > rounded.error
    with pytest.raises(kasimir.InputError, match="weights"):
        kasimir.quantize.array([1.0, float("nan")], name="weights")


def test_networks_of_the_zoo_have_sites():
    network = kasimir.Network.load("resnet8")
    assert network.sites()["stage2.block1.conv1"] == kasimir.Site(16, 32, 16, 16, 2)
    assert sum(load.count for load in network.loads()) == 6
    with pytest.raises(kasimir.InputError, match="resnet81"):
        kasimir.Network.load("resnet81")


# -- studies ----------------------------------------------------------------------------------------------------------


def cheap(trial):
    return -trial.macs


@pytest.mark.parametrize("strategy", ["random", "evolution"])
def test_a_study_resumes_and_gives_what_one_run_gives(tmp_path, strategy):
    how = dict(budget="macs=0.05..0.9", strategy=strategy, seed=5)
    whole = kasimir.create_study(SITES, **how).optimize(cheap, trials=24)
    first = kasimir.create_study(SITES, storage=tmp_path / "s.db", **how).optimize(cheap, trials=10)
    first.close()
    second = kasimir.create_study(SITES, storage=tmp_path / "s.db", **how).optimize(cheap, trials=24)
    assert [t.kernel for t in whole.trials] == [t.kernel for t in second.trials]
    assert second.best.values["value"] == max(t.value for t in second.trials)
    assert any(t.parents for t in second.trials) == (strategy == "evolution")
    with pytest.raises(kasimir.InputError, match="asked for something else"):
        kasimir.create_study(SITES, storage=tmp_path / "s.db", **{**how, "seed": 6})


def test_failures_are_kept_with_their_reasons_and_end_nothing():
    def evaluate(trial):
        if trial.number == 1:
            raise RuntimeError("out of luck")
        return float("nan") if trial.number == 2 else trial.number

    study = kasimir.create_study(SITES).optimize(evaluate, trials=4)
    assert [t.state for t in study.trials] == ["complete", "failed", "failed", "complete"]
    assert study.trials[1].reason == "RuntimeError: out of luck"
    assert study.trials[2].reason == "the evaluation gave value = nan"
    assert study.best.number == 3


def test_the_front_keeps_what_nothing_beats():
    study = kasimir.create_study(SITES, objectives=["accuracy", "latency"])
    for accuracy, latency in [(0.9, 5.0), (0.8, 3.0), (0.7, 4.0)]:
        study.tell(study.ask(), {"accuracy": accuracy, "latency": latency})
    assert [t.number for t in study.pareto()] == [0, 1]
    study.tell(study.ask(), {"accuracy": 0.9, "latency": 2.0})
    assert study.best.number == 3  # as accurate as the first, and on the front
    with pytest.raises(kasimir.InputError, match="there is no trial 9"):
        study.tell(9, {"accuracy": 1, "latency": 1})
    with pytest.raises(kasimir.InputError, match="objectives are accuracy, latency"):
        study.tell(study.ask(), {"accuracy": 1})
    with pytest.raises(kasimir.InputError, match="trial 0 is complete already"):
        study.tell(0, {"accuracy": 1, "latency": 1})


def test_a_file_that_is_no_study_is_refused(tmp_path):
    (tmp_path / "x.db").write_text("not a database, and long enough to have a header of one hundred bytes" * 3)
    with pytest.raises(kasimir.InputError, match="cannot be opened as a study"):
        kasimir.create_study(SITES, storage=tmp_path / "x.db")


def test_a_study_becomes_a_frame():
    pandas = pytest.importorskip("pandas")
    study = kasimir.create_study(SITES, objectives=["accuracy", "latency"])
    study.tell(study.ask(), {"accuracy": 0.5, "latency": 2.0})
    study.tell(study.ask(), reason="diverged")
    frame = study.to_frame()
    assert isinstance(frame, pandas.DataFrame) and frame.index.name == "number" and list(frame.index) == [0, 1]
    assert list(frame.columns) == ["state", "accuracy", "latency", "macs", "params", "how", "kernel", "reason"]
    assert frame["accuracy"][0] == 0.5 and pandas.isna(frame["latency"][1]) and frame["reason"][1] == "diverged"
    assert kasimir.Kernel.parse(frame["kernel"][1]) == study.trials[1].kernel


def test_a_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(kasimir.InputError) as caught:
        kasimir.create_study(SITES).to_frame()
    assert caught.value.message == "pandas is not installed, a frame needs it"
    assert caught.value.notes == ["pip install pandas"]


def test_jupyter_shows_tables_and_drawings():
    study = kasimir.create_study(SITES)
    assert repr(study) == "<Study without trials>"
    study.tell(study.ask(), 0.5)
    study.tell(study.ask(), reason="<b>no</b> & nothing")
    assert repr(study) == "<Study of 2 trials: 1 complete, 1 failed>"
    page = study._repr_html_()
    table = xml.fromstring(page.replace("&nbsp;", " "))
    assert [one.text for one in table.iter("th")] == ["number", "state", "value", "macs", "params", "how", "reason"]
    assert len(list(table.iter("tr"))) == 3 and "&lt;b&gt;no&lt;/b&gt; &amp; nothing" in page
    network = kasimir.Network.load("resnet8")
    rows = list(xml.fromstring(network._repr_html_()).iter("tr"))
    assert len(rows) == 1 + len(network.layers)
    mapped = kasimir.accel.map(kasimir.Site(16, 16, 8, 8), gap=0.1)
    cells = [one.text for one in xml.fromstring(mapped._repr_html_()).iter("td")]
    assert cells[0] == "16->16x8x8" and cells[-1] == mapped.layers[0].certificate
    drawing = xml.fromstring(kasimir.examples()["involution"]._repr_svg_())
    assert drawing.tag.endswith("svg")


def test_a_kernel_that_cannot_be_drawn_shows_as_text(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert kasimir.examples()["involution"]._repr_svg_() is None


def test_a_convolution_costs_the_same_as_einsum_and_as_kernel():
    site = kasimir.Site(16, 32, 8, 8, 2)
    how = dict(arch="gemmini", objective="latency", gap=0)
    as_site = kasimir.accel.map(site, **how)
    as_kernel = kasimir.accel.map((kasimir.examples()["convolution"], site), **how)
    assert as_kernel.cycles == as_site.cycles and as_kernel.certificate == "optimal"
    several = kasimir.accel.map([(kasimir.examples()["squeeze_excite"], site), site], **how)
    assert len(several.layers) > 2 and several.cycles > 2 * as_site.cycles


def test_networks_are_mapped_by_name():
    network = kasimir.Network.load("resnet8")
    whole = kasimir.accel.map(network, gap=1, time="5s", objective="latency")
    assert whole.found and whole.cycles >= network.macs / 256  # gemmini has 256 multipliers
    assert len(whole.layers) == len(kasimir.accel.map("resnet8", gap=1, time="5s", objective="latency").layers)
