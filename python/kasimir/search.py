# SPDX-License-Identifier: Apache-2.0
"""Searches for kernels that make a model faster. Needs torch."""

from __future__ import annotations

import pathlib
import statistics
import time
import typing
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn

from . import sites as sites_of
from .errors import InputError, expect
from .study import Study, Trial, create_study


def latency(models: Sequence[nn.Module], example: sites_of.Example, runs: int = 15) -> list[float]:
    """Milliseconds of one forward pass of each model in eval mode: medians of runs that alternate between them."""
    for part in models:
        part.eval()
    inputs = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    times: list[list[float]] = [[] for _ in models]
    with torch.inference_mode():
        for number in range(runs + 2):
            for mine, part in zip(times, models):
                start = time.perf_counter()
                part(*inputs)
                if number >= 2:  # the first runs allocate
                    mine.append(1e3 * (time.perf_counter() - start))
    return [statistics.median(mine) for mine in times]


def search(
    model: nn.Module,
    example: sites_of.Example,
    evaluate: Callable[[nn.Module], float | Mapping[str, float]],
    budget: str = "macs=0.1..0.5",
    trials: int = 20,
    *,
    storage: str | pathlib.Path | None = None,
    sites: sites_of.Sites | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    strategy: str = "evolution",
    seed: int = 0,
    measure_latency: bool = True,
    primitives: tuple[int, int] = (2, 8),
    progress: Callable[[Trial], None] | None = None,
    **limits: typing.Any,
) -> Study:
    """Searches kernels in place of the model's convolutions.

    Args:
        example: one input of the model, or the tuple of its inputs; latency is measured on it.
        evaluate: is given a copy of the model with a kernel in it, trains it as you like and returns how good it is,
            higher is better; or a mapping with ``accuracy`` and perhaps a ``latency`` of your own. What it raises is
            stored with the trial and does not end the search.
        budget: limits of each kernel beside what it replaces.
        trials: how many kernels; a search that is resumed from ``storage`` counts those it has.
        measure_latency: a second objective, ``latency``: milliseconds of eager PyTorch on this machine as it is, beside
            the original's, which ``study.original`` holds.
        progress: called with each finished trial.

    Returns:
        the study; ``study.best.apply(model)`` gives the model with the best kernel, ``study.models`` holds the models
        that this call evaluated and that are on the front.
    """
    expect("model", model, nn.Module, "a torch.nn.Module")
    if not callable(evaluate):
        expect("evaluate", evaluate, (), "a function that trains a model and rates it")
    expect("trials", trials, int, "a number of kernels")
    found = sites if sites is not None else sites_of.find_sites(model, example, include, exclude)
    study = create_study(
        found, budget, seed=seed, strategy=strategy, storage=storage, primitives=primitives,
        objectives=["accuracy", "latency"] if measure_latency else ["accuracy"], **limits,
    )  # fmt: skip

    def run(trial: Trial) -> dict[str, float]:
        torch.manual_seed(seed + trial.number)
        candidate = sites_of.replace(model, trial.kernel, found)
        candidate.train()
        value = evaluate(candidate)
        values = dict(value) if isinstance(value, Mapping) else {"accuracy": float(value)}
        if "accuracy" not in values:
            raise InputError(f"evaluate gave {', '.join(map(str, values))}, `accuracy` is missing")
        if measure_latency and "latency" not in values:
            study.original["latency"], values["latency"] = latency([model, candidate], example)
        study.models[trial.number] = candidate
        return {name: values[name] for name in study.objectives}

    def tidy(trial: Trial) -> None:
        kept = {other.number for other in study.pareto()}
        study.models = {number: made for number, made in study.models.items() if number in kept}
        if progress:
            progress(trial)

    training = model.training
    try:
        study.optimize(run, trials, after=tidy)
    finally:
        model.train(training)
    return study
