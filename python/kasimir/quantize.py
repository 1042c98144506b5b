# SPDX-License-Identifier: Apache-2.0
"""Number formats and quantizers over NumPy arrays. Needs numpy, never torch."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Mapping, Sequence

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _kasimir
from .errors import InputError, expect

if typing.TYPE_CHECKING:
    import torch

Floats: typing.TypeAlias = NDArray[numpy.float32]


def formats() -> dict[str, int]:
    """Number formats with their bits: ``int8``, ``uint4``, ``sint4`` (symmetric), ``bf16``, ..."""
    return {name: bits for name, bits, _ in _kasimir.number_formats()}


def quantizers() -> dict[str, str]:
    """Rules that turn ranges into scales, with one line on each."""
    return dict(_kasimir.quantizers())


def ranges() -> dict[str, str]:
    """Rules that say which range of the values codes shall cover, with one line on each."""
    return dict(_kasimir.range_estimators())


@dataclasses.dataclass(frozen=True)
class Quantized:
    """An array rounded to a number format."""

    values: Floats  # what the codes stand for, float32
    codes: NDArray[numpy.int32] | None  # int32; None for floating point
    steps: Floats  # one for the array, or one for each slice along its first axis
    zero_points: NDArray[numpy.int32]
    format: str
    error: float  # mean squared


def check_format(format: str) -> None:
    """Refuses a number format that is not there."""
    if format not in formats():
        raise InputError(f"unknown number format `{format}`", [f"there are {', '.join(formats())}"])


def array(
    values: ArrayLike, format: str = "int8", *, per_channel: bool = False, quantizer: str = "symmetric",
    range: str = "min_max", name: str = "the array",
) -> Quantized:  # fmt: skip
    """Rounds an array.

    Args:
        per_channel: a scale for each slice along the first axis, as for weights.
        name: what messages call it.

    Raises:
        InputError: for unknown names and values that are not finite.
    """
    given = numpy.ascontiguousarray(values, dtype=numpy.float32)
    rounded = numpy.empty_like(given)
    check_format(format)
    if _kasimir.code_range(format) is None:  # floating point
        _kasimir.nearest(given.reshape(-1), rounded.reshape(-1), format)
        steps, zeros = numpy.zeros(0, numpy.float32), numpy.zeros(0, numpy.int32)
        return Quantized(rounded, None, steps, zeros, format, _error(given, rounded))
    slices = given.shape[0] if per_channel and given.ndim > 0 else 1
    flat = given.reshape(-1)
    scales = _kasimir.fit_scales(flat, slices, format, quantizer, range, name)
    _kasimir.round_values(flat, rounded.reshape(-1), scales, format, quantizer)
    codes = None
    if all(offset == 0 for _, _, offset in scales):
        codes = numpy.array(_kasimir.encode(flat, scales, format, name), dtype=numpy.int32).reshape(given.shape)
    steps = numpy.array([step for step, _, _ in scales], dtype=numpy.float32)
    zeros = numpy.array([zero for _, zero, _ in scales], dtype=numpy.int32)
    return Quantized(rounded, codes, steps, zeros, format, _error(given, rounded))


def _error(a: Floats, b: Floats) -> float:
    return float(numpy.mean((a.astype(numpy.float64) - b) ** 2)) if a.size else 0.0


def report(weights: Mapping[str, ArrayLike], format: str = "int8", **how: typing.Any) -> list[dict[str, typing.Any]]:
    """For each array of floating point in a mapping by name (a state dict, an ``.npz``): what rounding it costs.

    One row each: ``name``, ``shape``, ``error`` (mean squared), ``snr_db`` (signal to noise).
    """
    rows = []
    expect("weights", weights, Mapping, "a mapping of arrays by name")
    for name, values in weights.items():
        given = numpy.asarray(values)
        if not numpy.issubdtype(given.dtype, numpy.floating):
            continue
        given = given.astype(numpy.float32)
        rounded = array(given, format, per_channel=given.ndim > 1, name=name, **how)
        power = float(numpy.mean(given.astype(numpy.float64) ** 2)) if given.size else 0.0
        snr = 10 * numpy.log10(power / rounded.error) if rounded.error > 0 and power > 0 else numpy.inf
        rows.append({"name": name, "shape": given.shape, "error": rounded.error, "snr_db": float(snr)})
    return rows


def module(
    model: torch.nn.Module, weights: str = "int8", activations: str = "", data: Iterable[typing.Any] = (), *,
    exclude: Sequence[str] = (), quantizer: str = "symmetric", range: str = "min_max",
) -> torch.nn.Module:  # fmt: skip
    """A deep copy of a model whose values are rounded, to see what bits cost. Needs torch.

    It computes in floating point with values that the codes stand for, keeps its parameters' names, and trains: the
    gradient passes the rounding of activations. Code that multiplies whole numbers comes from `kasimir quantize` of
    the program.

    Args:
        weights: the format of weights of convolutions, fully connected layers and kernels, a scale for each slice
            along their first axis; empty: they stay.
        activations: the integer format of what these layers read (inside kernels values stay), by the rule ``affine``.
        data: inputs of the model, from which the ranges of activations are taken.
        exclude: patterns of names of layers that stay, such as the first and the last.

    Raises:
        InputError: for unknown names, and activations without data.
    """
    from . import rounding

    return rounding.rounded(model, weights, activations, data, exclude, quantizer, range)
