# SPDX-License-Identifier: Apache-2.0
"""Networks of the zoo and of ONNX files, to look at and to sample kernels for."""

from __future__ import annotations

import pathlib
import typing
from collections.abc import Sequence

from . import _kasimir
from .errors import expect
from .kernel import Load, Site, as_loads
from .tables import html_table


class Layer(typing.NamedTuple):
    name: str
    what: str  # "conv 3x3 /2 16->32 pad 1"
    shape: str  # of its output for one image, "32x16x16"


class Network:
    """A network whose convolutions kernels may replace."""

    def __init__(self, native: _kasimir.Network) -> None:
        self._native = native

    @classmethod
    def load(cls, path_or_name: str | pathlib.Path) -> Network:
        """Reads a file that ends in ``.onnx``, or takes a network of the zoo by its name.

        Raises:
            InputError: for unknown names, and files that are damaged or hold unknown operators.
        """
        expect("path_or_name", path_or_name, (str, pathlib.Path), "a network of the zoo or a file that ends in .onnx")
        text = str(path_or_name)
        return cls(_kasimir.Network.onnx(text) if text.endswith(".onnx") else _kasimir.Network.zoo(text))

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def input(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        return self._native.input

    @property
    def classes(self) -> int:
        return self._native.classes

    @property
    def macs(self) -> int:
        return self._native.macs()

    @property
    def params(self) -> int:
        return self._native.params()

    @property
    def layers(self) -> list[Layer]:
        return [Layer(*layer) for layer in self._native.layers()]

    def sites(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> dict[str, Site]:
        """The convolutions that kernels may replace, by name."""
        return {name: Site(*site) for name, site, _, _ in self._native.sites(list(include), list(exclude))}

    def loads(self) -> list[Load]:
        """Distinct sites with their counts and costs, for sampling."""
        return as_loads([Load(Site(*s), 1, float(m), float(p)) for _, s, m, p in self._native.sites([], [])])

    def coverage(self) -> str:
        """A table of what is replaced and what stays."""
        return self._native.coverage()

    def _repr_html_(self) -> str:
        rows = [tuple(layer) for layer in self.layers]
        return html_table(
            ["layer", "what", "output"], rows, f"{self.name}: {self.macs:,} MACs, {self.params:,} parameters"
        )

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self._native.text()


def zoo() -> list[str]:
    """Names of the built-in networks."""
    return _kasimir.zoo()
