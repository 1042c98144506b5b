# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments and guessed names: the exact words."""

import copy
import pickle

import pytest

import kasimir

SITE = kasimir.Site(64, 64, 16, 16)


def message_of(call):
    with pytest.raises(kasimir.InputError) as caught:
        call()
    return caught.value.message


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kasimir.create_study(5),
         "`sites` is 5, a Site, a list of them, a Network or what find_sites gives, is needed"),
        (lambda: kasimir.create_study([(64, 64)]),
         "`sites` is (64, 64), a Site(ci, co, h, w, stride) of whole numbers from 1, or a text like 64->128x16x16/2, is needed"),
        (lambda: kasimir.examples()["low_rank"].module((64, 64, 16, 0)),
         "`site` is (64, 64, 16, 0), a Site(ci, co, h, w, stride) of whole numbers from 1, or a text like 64->128x16x16/2, is needed"),
        (lambda: kasimir.sample(SITE, "3"), "`n` is '3', a number of kernels is needed"),
        (lambda: kasimir.sample(SITE, 3, primitives=5), "`primitives` is 5, a pair of whole numbers, from .. to, is needed"),
        (lambda: kasimir.sample(SITE, 3, budget=0.5), "`budget` is 0.5, a text like macs=0.1..0.5 is needed"),
        (lambda: kasimir.sample(SITE, 3, seed=None), "`seed` is None, a whole number from 0 is needed"),
        (lambda: kasimir.sample(SITE, 3, seed=-1), "`seed` is -1, a whole number from 0 is needed"),
        (lambda: kasimir.sample(SITE, 3, forbid="conv"), "`forbid` is 'conv', a list of primitives' names is needed"),
        (lambda: kasimir.create_study(SITE, objectives="accuracy"),
         "`objectives` is 'accuracy', a mapping of names to directions, or a list of names, is needed"),
        (lambda: kasimir.create_study(SITE, direction="max"),
         "the direction of value is `max`, there are maximize and minimize"),
        (lambda: kasimir.create_study(SITE).optimize(0.5, trials=3), "`evaluate` is 0.5, a function that is given a trial is needed"),
        (lambda: kasimir.create_study(SITE).optimize(print, trials="3"), "`trials` is '3', a number of trials is needed"),
        (lambda: kasimir.create_study(SITE).tell("0", 1.0), "`trial` is '0', a trial of `ask` or its number is needed"),
        (lambda: told_words(), "`value` is 'good', a number is needed"),
        (lambda: kasimir.Kernel.parse(None), "`text` is None, a kernel's text is needed"),
        (lambda: kasimir.Network.load(5), "`path_or_name` is 5, a network of the zoo or a file that ends in .onnx is needed"),
        (lambda: kasimir.accel.map(5),
         "`layers` is a int, an einsum, a Site, a (Kernel, Site) pair, a list of these, a Network, its name, an .onnx file "
         "or a model is needed"),
        (lambda: kasimir.accel.map(SITE, arch=None), "`arch` is None, a name is needed"),
        (lambda: kasimir.accel.map(SITE, time=None), "`time` is None, seconds, or a text like 10s, is needed"),
        (lambda: kasimir.accel.map(SITE, time="soon"), "the time `soon` is not understood, such as 10s, 500ms or 2m is"),
        (lambda: kasimir.accel.map(SITE, bits="int8"), "`bits` is 'int8', a number of bits is needed"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_with_what_is_needed(call, words):
    assert message_of(call) == words


def told_words():
    study = kasimir.create_study(SITE)
    study.tell(study.ask(), "good")


def test_models_and_their_inputs_are_asked_for():
    torch = pytest.importorskip("torch")
    model = torch.nn.Conv2d(16, 16, 3, padding=1)
    x = torch.zeros(1, 16, 8, 8)
    assert message_of(lambda: kasimir.find_sites("resnet", x)) == "`model` is 'resnet', a torch.nn.Module is needed"
    assert message_of(lambda: kasimir.find_sites(model, (1, 16, 8, 8))) == (
        "`example[0]` is 1, a tensor is needed")  # fmt: skip
    assert message_of(lambda: kasimir.find_sites(model, 8)) == (
        "`example` is 8, an input of the model, or the tuple of its inputs, is needed")  # fmt: skip
    assert message_of(lambda: kasimir.search(model, x, None)) == (
        "`evaluate` is None, a function that trains a model and rates it is needed")  # fmt: skip
    assert message_of(lambda: kasimir.quantize.module(model, "int9")) == "unknown number format `int9`"
    assert message_of(lambda: kasimir.quantize.module(model, activations="bf16", data=[x])) == (
        "activations have the format `bf16`, an integer format is needed")  # fmt: skip
    assert message_of(lambda: kasimir.quantize.module(model, activations="int8")) == (
        "activations are to be rounded without data, some inputs of the model are needed")  # fmt: skip


def test_names_of_other_libraries_get_a_hint():
    study = kasimir.create_study(SITE)
    trial = study.ask()
    for thing, name, words in [
        (study, "best_trial", "a study has no attribute `best_trial`: `study.best` is the best trial"),
        (study, "trials_dataframe", "a study has no attribute `trials_dataframe`: `study.to_frame()` gives a pandas frame"),
        (study, "bets", "a study has no attribute `bets`"),
        (trial, "suggest_int", "a trial has no attribute `suggest_int`: the study proposes kernels; `trial.kernel` is this trial's"),
        (kasimir, "load_study", "kasimir has no attribute `load_study`: `create_study` with the same arguments and `storage` goes on where it stopped"),
    ]:  # fmt: skip
        with pytest.raises(AttributeError) as caught:
            getattr(thing, name)
        assert str(caught.value) == words
    assert not hasattr(study, "anything") and copy.copy(trial).kernel == trial.kernel
    assert pickle.loads(pickle.dumps(trial.kernel)) == trial.kernel
