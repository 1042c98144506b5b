# SPDX-License-Identifier: Apache-2.0
"""Models whose weights and activations are rounded. Needs torch and numpy."""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Iterable, Sequence

import numpy
import torch
from torch import nn

from . import _kasimir, quantize
from .errors import InputError, expect
from .modules import source_of
from .sites import _in_eval

_MOST_VALUES = 1 << 16  # of one layer and one batch; ranges are taken from them


class Rounding:
    """A hook that rounds what a layer reads."""

    def __init__(self, step: float, zero: int, low: int, high: int) -> None:
        self.step, self.zero, self.low, self.high = step, zero, low, high

    def __call__(self, layer: nn.Module, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        x = torch.fake_quantize_per_tensor_affine(given[0], self.step, self.zero, self.low, self.high)
        return (x, *given[1:])


def rounded(
    model: nn.Module, weights: str, activations: str, data: Iterable[torch.Tensor | Sequence[torch.Tensor]],
    exclude: Sequence[str], quantizer: str, range: str,
) -> nn.Module:  # fmt: skip
    """See ``quantize.module``."""
    expect("model", model, nn.Module, "a torch.nn.Module")
    expect("weights", weights, str, "a number format such as int8")
    expect("activations", activations, str, "a number format such as int8")
    for format in filter(None, (weights, activations)):
        quantize.check_format(format)
    made = copy.deepcopy(model)
    layers = {name: part for name, part in made.named_modules() if _has_weights(part)}
    for pattern in exclude:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in layers):
            raise InputError(f"the pattern `{pattern}` matches no layer", [f"there are {', '.join(layers)}"])
    layers = {name: part for name, part in layers.items() if not any(fnmatch.fnmatchcase(name, one) for one in exclude)}
    if not layers:
        raise InputError("the model has no convolution, fully connected layer or kernel to round")
    if weights:
        _round_weights(layers, weights, quantizer, range)
    if activations:
        codes = _kasimir.code_range(activations)
        if codes is None:
            raise InputError(f"activations have the format `{activations}`, an integer format is needed")
        for name, values in _values_read(made, layers, data).items():
            step, zero, _ = _kasimir.fit_scales(values, 1, activations, "affine", range, f"the input of {name}")[0]
            layers[name].register_forward_pre_hook(Rounding(step, zero, *codes))
    return made


def _has_weights(part: nn.Module) -> bool:
    return isinstance(part, (nn.Conv2d, nn.Linear)) or source_of(part) is not None


def _round_weights(layers: dict[str, nn.Module], format: str, quantizer: str, range: str) -> None:
    for name, part in layers.items():
        for own, parameter in part.named_parameters(recurse=False):
            if parameter.ndim < 2:  # biases and scales are few
                continue
            values = parameter.detach().cpu().numpy()
            how = {"per_channel": True, "quantizer": quantizer, "range": range}
            new = quantize.array(values, format, name=f"{name}.{own}", **how)  # type: ignore[arg-type]
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(new.values))


def _values_read(
    model: nn.Module, layers: dict[str, nn.Module], data: Iterable[torch.Tensor | Sequence[torch.Tensor]]
) -> dict[str, quantize.Floats]:
    """Some of the values that each layer reads, evenly spread over each batch."""
    names = {part: name for name, part in layers.items()}
    seen: dict[str, list[quantize.Floats]] = {}

    def note(part: nn.Module, given: tuple[torch.Tensor, ...]) -> None:
        flat = given[0].detach().reshape(-1)
        some = flat[:: max(1, flat.numel() // _MOST_VALUES)]
        seen.setdefault(names[part], []).append(some.float().cpu().numpy())

    hooks = [part.register_forward_pre_hook(note) for part in names]
    try:
        with torch.no_grad(), _in_eval(model):
            for batch in data:
                if isinstance(batch, torch.Tensor):
                    model(batch)
                else:
                    model(*batch)
    finally:
        for hook in hooks:
            hook.remove()
    if not seen:
        raise InputError(
            "activations are to be rounded without data, some inputs of the model are needed", ["data=[x]"]
        )
    return {name: numpy.concatenate(values) for name, values in seen.items()}
