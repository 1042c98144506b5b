# SPDX-License-Identifier: Apache-2.0
"""Accelerators: what layers cost on them, and the best mappings with a proof of how good they are.

Nothing here needs torch unless a model is given.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import typing
from collections.abc import Sequence

from . import _kasimir
from .errors import InputError, expect
from .kernel import Kernel, Site, as_site
from .network import Network
from .tables import html_table

if typing.TYPE_CHECKING:
    import torch

    from .sites import Example


def presets() -> list[str]:
    """Names of the architectures that come with Kasimir."""
    return _kasimir.preset_names()


def preset(name: str) -> str:
    """The architecture as TOML, to be changed and given to ``map`` as a file."""
    return _kasimir.preset_toml(name)


def convolution(
    in_channels: int, out_channels: int, height: int, width: int, window: int | tuple[int, int] = 3, stride: int = 1,
    groups: int = 1, batch: int = 1, bits: int = 8, *, image: tuple[int, int] | None = None,
    padding: tuple[int, int] = (0, 0),
) -> str:  # fmt: skip
    """The einsum of a convolution with this output height and width.

    Args:
        image: height and width of the input, and ``padding`` the zeros above and on its left, which are never stored;
            by default zeros are part of the input.
    """
    rows, columns = (window, window) if isinstance(window, int) else window
    numbers = dict(
        batch=batch, out_channels=out_channels, in_channels=in_channels, out_height=height, out_width=width,
        kernel_height=rows, kernel_width=columns, stride=stride, groups=groups,
    )  # fmt: skip
    if image is not None:
        numbers |= dict(in_height=image[0], in_width=image[1], pad_above=padding[0], pad_left=padding[1])
    return _kasimir.convolution_text(numbers, bits)


def _text_of_site(site: Site, bits: int) -> str:
    ci, co, h, w, stride = site
    return convolution(ci, co, h, w, 3, stride, bits=bits, image=(stride * h, stride * w), padding=(1, 1))


def _text_of_conv(part: torch.nn.Conv2d, given: tuple[int, ...], made: tuple[int, ...], bits: int) -> str:
    window = (part.kernel_size[0], part.kernel_size[1])
    if isinstance(part.padding, str):  # "same" puts the odd zero below and on the right
        padding = ((window[0] - 1) // 2, (window[1] - 1) // 2) if part.padding == "same" else (0, 0)
    else:
        padding = (part.padding[0], part.padding[1])
    if part.dilation != (1, 1) or part.stride[0] != part.stride[1]:
        padding, image = (0, 0), None
    else:
        image = (given[2], given[3])
    return convolution(
        part.in_channels, part.out_channels, made[2], made[3], window, part.stride[0], part.groups, made[0], bits,
        image=image, padding=padding,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Mapped:
    """One layer with its best mapping."""

    layer: str
    found: bool
    cycles: float
    energy_pj: float
    utilization: float  # share of the compute units' cycles that are used, 0 .. 1
    gap: float  # proved: at most (1 + gap) times the optimum; infinite where nothing is proved
    certificate: str
    mapping: str  # one line
    loops: str  # as nested loops
    report: str  # counts and energies of each level


@dataclasses.dataclass(frozen=True, repr=False)
class Mapping:
    """All layers, run one after the other."""

    layers: tuple[Mapped, ...]
    found: bool
    misfit: str
    cycles: float
    energy_pj: float
    milliseconds: float
    area_mm2: float
    objective: str
    value: float
    lower_bound: float
    gap: float
    certificate: str

    def _repr_html_(self) -> str:
        head = ["layer", "cycles", "energy, uJ", "utilization", "certificate"]
        rows = [(one.layer, one.cycles, 1e-6 * one.energy_pj, one.utilization, one.certificate) for one in self.layers]
        return html_table(head, rows, str(self))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if not self.found:
            return f"no mapping: {self.misfit}"
        return (
            f"{self.cycles:,.0f} cycles ({self.milliseconds:.3g} ms), {1e-6 * self.energy_pj:.4g} uJ, "
            f"{self.area_mm2:.2f} mm2; {self.objective}: {self.certificate}"
        )


def _certificate(gap: float) -> str:
    if gap <= 1e-9:
        return "optimal"
    return "nothing proved" if math.isinf(gap) else f"within {100 * gap:.2g} % of the optimum"


def _seconds(time: float | str) -> float:
    if not isinstance(time, str):
        expect("time", time, float, "seconds, or a text like 10s,")
        return float(time)
    found = re.fullmatch(r"\s*([0-9.]+)\s*(ms|s|m|h)\s*", time)
    if not found:
        raise InputError(f"the time `{time}` is not understood, such as 10s, 500ms or 2m is")
    return float(found[1]) * {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}[found[2]]


def _texts(layers: typing.Any, example: Example | None, bits: int) -> list[tuple[str, str]]:
    """Names and einsums."""
    if isinstance(layers, str) and "[" in layers:  # names and files have none, einsums have
        return [("layer", layers)]
    if isinstance(layers, (str, pathlib.Path)):
        layers = Network.load(layers)
    if isinstance(layers, Network):
        return layers._native.problems(1, bits)
    if isinstance(layers, tuple) and len(layers) == 2 and isinstance(layers[0], Kernel):
        return layers[0]._native.problems(as_site(layers[1]), 1, bits)
    if isinstance(layers, Site):
        return [(str(layers), _text_of_site(layers, bits))]
    if isinstance(layers, Sequence):
        return [pair for layer in layers for pair in _texts(layer, example, bits)]
    if hasattr(layers, "named_modules"):
        return _model_texts(layers, example, bits)
    kinds = "an einsum, a Site, a (Kernel, Site) pair, a list of these, a Network, its name, an .onnx file or a model"
    raise InputError(f"`layers` is a {type(layers).__name__}, {kinds} is needed")


def _model_texts(model: torch.nn.Module, example: Example | None, bits: int) -> list[tuple[str, str]]:
    """The convolutions, fully connected layers and kernels of a ``torch.nn.Module``."""
    if example is None:
        raise InputError("a model is given without an example, which is needed to know the sizes")
    from torch import nn

    from .modules import kernel_of
    from .sites import call_shapes

    kernels = {part: found for part in model.modules() if (found := kernel_of(part))}
    names = {
        part: name
        for name, part in model.named_modules()
        if part in kernels or isinstance(part, (nn.Conv2d, nn.Linear))
    }
    calls = call_shapes(model, example, names)
    texts = []
    for part, name in names.items():
        for given, made in calls[name]:
            if part in kernels:
                kernel, site = kernels[part]
                nests = kernel._native.problems(site, given[0], bits)
                texts += [(f"{name}.{nest}", text) for nest, text in nests]
            elif isinstance(part, nn.Linear):
                rows = math.prod(made[:-1])
                texts.append((name, convolution(part.in_features, part.out_features, 1, 1, 1, batch=rows, bits=bits)))
            elif isinstance(part, nn.Conv2d):
                texts.append((name, _text_of_conv(part, given, made, bits)))
    if not texts:
        raise InputError("the model has no convolution and no fully connected layer")
    return texts


def map(
    layers: typing.Any, example: Example | None = None, *, arch: str = "gemmini", objective: str = "edp",
    engine: str = "branch_and_bound", time: float | str = "10s", evaluations: int = 0, seed: int = 1, gap: float = 0.005, bits: int = 8,
) -> Mapping:  # fmt: skip
    """The best mapping of each layer on an accelerator.

    Args:
        layers: an einsum (``convolution`` makes one), a ``Site`` (a 3 x 3 convolution), a pair of a ``Kernel`` and a
            ``Site``, a list of these; or a ``Network``, the name of one, a file that ends in ``.onnx``; or a
            ``torch.nn.Module`` with an ``example``. Element-wise steps between layers of a model are not counted.
        arch: a preset, or a file that ends in ``.toml``.
        objective: ``latency``, ``energy`` or ``edp``.
        time: for all layers together, ``"10s"`` or seconds.
        gap: proved within this share of the optimum is enough.
    """
    for name, value in (("arch", arch), ("objective", objective), ("engine", engine)):
        expect(name, value, str, "a name")
    expect("bits", bits, int, "a number of bits")
    texts = _texts(layers, example, bits)
    answer = _kasimir.map_layers(
        [text for _, text in texts], arch, objective, engine, _seconds(time), evaluations, seed, gap
    )
    mapped = tuple(
        Mapped(name, one.found, one.cycles, one.energy_pj, one.utilization, one.gap,
               _certificate(one.gap) if one.found else one.explanation, one.mapping, one.loops, one.report)
        for (name, _), one in zip(texts, answer.layers)
    )  # fmt: skip
    return Mapping(
        mapped, answer.found, answer.misfit, answer.cycles, answer.energy_pj, answer.cycles / (1e3 * answer.clock_mhz),
        1e-6 * answer.area_um2, objective, answer.value, answer.lower_bound, answer.gap, _certificate(answer.gap),
    )  # fmt: skip
