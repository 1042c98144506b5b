# SPDX-License-Identifier: Apache-2.0
"""What needs no torch."""

import pickle
import subprocess
import sys

import pytest

import kasimir

SITES = [kasimir.Site(64, 64, 16, 16), kasimir.Site(64, 128, 8, 8, 2)]


def test_importing_loads_neither_torch_nor_numpy():
    code = "import sys, kasimir; kasimir.sample; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


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
