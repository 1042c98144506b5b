# SPDX-License-Identifier: Apache-2.0
"""Where kernels may go in a ``torch.nn.Module``, and putting them there. Needs torch."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import fnmatch
import typing
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import nn

from .errors import InputError, expect
from .kernel import Kernel, Load, Site, as_loads
from .modules import Placeholder, module
from .tables import html_table

Example: typing.TypeAlias = "torch.Tensor | Sequence[torch.Tensor]"
Calls: typing.TypeAlias = list[tuple[tuple[int, ...], tuple[int, ...]]]  # shapes of input and output of each

Part: typing.TypeAlias = "nn.Conv2d | Placeholder"  # what kernels replace

_FEWEST_CHANNELS = 8  # stems read 1 to 4 channels, which no grouping divides


@dataclasses.dataclass(frozen=True)
class Place:
    """One convolution that a kernel may replace."""

    name: str
    site: Site
    rows: int  # zeros below the input that make it stride * h high
    columns: int
    macs: int
    params: int
    bias: bool


@dataclasses.dataclass(frozen=True)
class Kept:
    """One convolution that stays, and why."""

    name: str
    reason: str
    macs: int


_HEAD = ("convolution", "site", "MACs", "what becomes of it")


@dataclasses.dataclass(frozen=True, repr=False)
class Sites:
    """What ``find_sites`` found: print it for a table. Iterates over the places."""

    places: tuple[Place, ...]
    kept: tuple[Kept, ...]
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Place]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def loads(self) -> list[Load]:
        """Distinct sites with their counts and costs, for sampling."""
        return as_loads([Load(place.site, 1, float(place.macs), float(place.params)) for place in self.places])

    @property
    def macs_share(self) -> float:
        """The share of all convolutions' MACs that kernels may replace."""
        mine = sum(place.macs for place in self.places)
        return mine / max(1, mine + sum(kept.macs for kept in self.kept))

    def _rows(self) -> list[tuple[str, str, int, str]]:
        rows = [(p.name, str(p.site), p.macs, "replaced") for p in self.places]
        return rows + [(k.name, "", k.macs, k.reason) for k in self.kept]

    def _total(self) -> str:
        every = len(self.places) + len(self.kept)
        return f"{len(self.places)} of {every} convolutions, {self.macs_share:.1%} of their MACs, replaced"

    def _repr_html_(self) -> str:
        return html_table(_HEAD, self._rows(), "; ".join([self._total(), *self.warnings]))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        rows = [_HEAD, *((name, site, f"{macs:,}", what) for name, site, macs, what in self._rows())]
        wide = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{r[0]:<{wide[0]}}  {r[1]:<{wide[1]}}  {r[2]:>{wide[2]}}  {r[3]}" for r in rows]
        return "\n".join([self._total(), *lines, *self.warnings])


@contextlib.contextmanager
def _in_eval(model: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def call_shapes(model: nn.Module, example: Example, names: Mapping[nn.Module, str]) -> dict[str, Calls]:
    """Input and output shapes of each call of these modules."""
    calls: dict[str, Calls] = {name: [] for name in names.values()}

    def note(part: nn.Module, given: tuple[torch.Tensor, ...], made: torch.Tensor) -> None:
        calls[names[part]].append((tuple(given[0].shape), tuple(made.shape)))

    hooks = [part.register_forward_hook(note) for part in names]
    try:
        with torch.no_grad(), _in_eval(model):
            if isinstance(example, (tuple, list)):
                model(*example)
            else:
                model(example)
    finally:
        for hook in hooks:
            hook.remove()
    return calls


def _reason(conv: Part, calls: Calls, chosen: bool) -> str:
    """Why this convolution stays; empty if it need not."""
    if not calls:
        return "the example never reached it"
    if len(set(calls)) > 1:
        return "it is used at several sizes"
    given, made = calls[0]
    if len(given) != 4:
        return "its input has no batch axis"
    if isinstance(conv, Placeholder):
        return ""
    if conv.groups != 1:
        return f"it has {conv.groups} groups"
    if conv.stride[0] != conv.stride[1]:
        return f"its strides differ, {conv.stride[0]} and {conv.stride[1]}"
    if conv.padding_mode != "zeros":
        return f"its padding is {conv.padding_mode}"
    stride = conv.stride[0]
    if any(out != -(-size // stride) for size, out in zip(given[2:], made[2:])):
        return "its output is not its input divided by the stride, rounded up"
    if chosen:
        return ""
    if conv.kernel_size == (1, 1):
        return "its window is 1x1"
    if conv.in_channels < _FEWEST_CHANNELS:
        return f"it reads {conv.in_channels} channel{'s' if conv.in_channels > 1 else ''} only"
    return ""


def _macs(part: Part, calls: Calls) -> int:
    conv = part.body if isinstance(part, Placeholder) else part
    if not calls or not isinstance(conv, nn.Conv2d):
        return 0
    return conv.weight.numel() * calls[0][1][-1] * calls[0][1][-2] * len(calls)


def _candidates(model: nn.Module) -> dict[Part, str]:
    inside = {part.body for part in model.modules() if isinstance(part, Placeholder)}
    return {
        part: name
        for name, part in model.named_modules()
        if isinstance(part, Placeholder) or (isinstance(part, nn.Conv2d) and part not in inside)
    }


def find_sites(
    model: nn.Module,
    example: Example,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Sites:
    """The convolutions and placeholders of a model that kernels may replace.

    Args:
        example: one input (or the tuple of inputs) that the model is called with, once, in eval mode.
        include: shell-like patterns of names; without any, all with a window above 1x1 and 8 channels in or more.
        exclude: patterns of names that stay.

    Raises:
        InputError: if a pattern matches nothing, or nothing may be replaced; the notes list what stays and why.
    """
    expect("model", model, nn.Module, "a torch.nn.Module")
    expect("example", example, (torch.Tensor, tuple, list), "an input of the model, or the tuple of its inputs,")
    for number, one in enumerate(() if isinstance(example, torch.Tensor) else example):
        expect(f"example[{number}]", one, torch.Tensor, "a tensor")
    for words, patterns in (("include", include), ("exclude", exclude)):
        expect(words, patterns, (list, tuple), "a list of patterns of names")
    names = _candidates(model)
    for pattern in [*include, *exclude]:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names.values()):
            raise InputError(
                f"the pattern `{pattern}` matches no convolution", [f"there are {', '.join(names.values())}"]
            )
    calls = call_shapes(model, example, typing.cast(dict[nn.Module, str], names))
    places, kept = [], []
    for part, name in names.items():
        mine = calls[name]
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in exclude):
            reason = "it is excluded"
        elif include and not any(fnmatch.fnmatchcase(name, pattern) for pattern in include):
            reason = "it is not included"
        else:
            reason = _reason(part, mine, bool(include))
        if reason:
            kept.append(Kept(name, reason, _macs(part, mine)))
        else:
            places.append(_place(part, name, mine))
    if not places:
        raise InputError(
            "no convolution of the model can be replaced",
            [f"{one.name}: {one.reason}" for one in kept] or ["it has none"],
        )
    return Sites(tuple(places), tuple(kept))


def _place(part: Part, name: str, calls: Calls) -> Place:
    given, made = calls[0]
    stride = part.stride if isinstance(part, Placeholder) else part.stride[0]
    site = Site(given[1], made[1], made[2], made[3], stride)
    conv = part.body if isinstance(part, Placeholder) else part
    params = conv.weight.numel() if isinstance(conv, nn.Conv2d) else 9 * site.ci * site.co
    return Place(
        name,
        site,
        stride * site.h - given[2],
        stride * site.w - given[3],
        params * site.h * site.w,
        params,
        getattr(conv, "bias", None) is not None and isinstance(conv, nn.Conv2d),
    )


def replace(model: nn.Module, kernel: Kernel, sites: Sites | None = None, example: Example | None = None) -> nn.Module:
    """A deep copy of the model with the kernel in place of the convolutions; everything else keeps its weights.

    A convolution's bias stays: it is added to the kernel's output. Give ``sites``, or an ``example`` to find them.
    """
    if sites is None:
        if example is None:
            raise InputError("neither sites nor an example is given, one is needed to know the sizes")
        sites = find_sites(model, example)
    fitted = kernel.fit(sites) if _has_free_sizes(kernel, sites) else kernel
    copied = copy.deepcopy(model)
    for place in sites.places:
        old = copied.get_submodule(place.name)
        weight = next(iter(old.parameters()))
        made = module(fitted, place.site, place.rows, place.columns, place.bias)
        made = made.to(device=weight.device, dtype=weight.dtype).train(old.training)
        if place.bias:
            conv = old.body if isinstance(old, Placeholder) else old
            with torch.no_grad():
                made.get_parameter("bias").copy_(conv.get_parameter("bias"))
        if isinstance(old, Placeholder):
            old.put(made)
        else:
            parent, _, last = place.name.rpartition(".")
            setattr(copied.get_submodule(parent), last, made)
    return copied


def _has_free_sizes(kernel: Kernel, sites: Sites) -> bool:
    """Whether some size of the kernel has no value at some site."""
    return any(not kernel._native.fitted(place.site) for place in sites.places)
