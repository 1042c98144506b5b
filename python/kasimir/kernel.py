# SPDX-License-Identifier: Apache-2.0
"""Kernels and the sites where they go. Nothing here needs torch."""

from __future__ import annotations

import functools
import numbers
import pathlib
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence

from . import _kasimir
from .errors import InputError, UnsolvedError, expect

if typing.TYPE_CHECKING:
    import torch


class Site(typing.NamedTuple):
    """A place where a kernel goes: input ``[ci, stride*h, stride*w]``, output ``[co, h, w]`` for one image."""

    ci: int
    co: int
    h: int
    w: int
    stride: int = 1

    @classmethod
    def parse(cls, text: str) -> Site:
        """Reads ``"64->128x16x16/2"``: channels in -> channels out x height x width / stride."""
        return cls(*_kasimir.parse_site(text))

    def __str__(self) -> str:
        text = f"{self.ci}->{self.co}x{self.h}x{self.w}"
        return text if self.stride == 1 else f"{text}/{self.stride}"


class Load(typing.NamedTuple):
    """A site, how many convolutions stand at such sites, and what one of them costs for one image."""

    site: Site
    count: int  # type: ignore[assignment] # a tuple's own method is of no use here
    macs: float
    params: float


class HasLoads(typing.Protocol):
    """What ``find_sites`` gives, and networks."""

    def loads(self) -> list[Load]: ...


SiteLike: typing.TypeAlias = Site | Load | str | tuple[int, ...]
SitesLike: typing.TypeAlias = SiteLike | HasLoads | Iterable[SiteLike]


def conv_load(site: Site, count: int = 1, window: tuple[int, int] = (3, 3)) -> Load:
    """The load of an ungrouped convolution with that window."""
    params = site.ci * site.co * window[0] * window[1]
    return Load(site, count, float(params * site.h * site.w), float(params))


def as_site(site: Site | str | tuple[int, ...], name: str = "site") -> Site:
    """A site, from its text or its numbers too.

    Raises:
        InputError: for anything else; ``name`` is what the message calls it.
    """
    if isinstance(site, str):
        return Site.parse(site)
    whole = isinstance(site, tuple) and len(site) in (4, 5) and all(isinstance(n, numbers.Integral) for n in site)
    if not whole or min(site) < 1:
        expect(name, site, (), "a Site(ci, co, h, w, stride) of whole numbers from 1, or a text like 64->128x16x16/2,")
    return Site(*map(int, site))


def as_loads(sites: SitesLike) -> list[Load]:
    """Sites, loads, or what has ``loads()``, as loads; equal sites together."""
    if hasattr(sites, "loads") and not isinstance(sites, tuple):
        sites = sites.loads()
    if isinstance(sites, (Site, Load, str)):
        sites = [sites]
    expect("sites", sites, Iterable, "a Site, a list of them, a Network or what find_sites gives,")
    merged: dict[Site, Load] = {}
    for one in typing.cast(Iterable[SiteLike], sites):
        load = one if isinstance(one, Load) else conv_load(as_site(one, "sites"))
        before = merged.get(load.site)
        if before:
            count = before.count + load.count
            macs, params = (
                (a * before.count + b * load.count) / count
                for a, b in ((before.macs, load.macs), (before.params, load.params))
            )
            load = Load(load.site, count, macs, params)
        merged[load.site] = load
    if not merged:
        raise InputError("there are no sites, at least one is needed")
    return list(merged.values())


class Kernel:
    """An operator as a graph of primitives over symbolic sizes. One kernel fits every site.

    Kernels are immutable, compare and hash by their text, and pickle.
    """

    def __init__(self, native: _kasimir.Kernel) -> None:
        self._native = native

    @classmethod
    def parse(cls, text: str, where: str = "kernel") -> Kernel:
        """Reads a kernel's text; ``where`` names it in messages.

        Raises:
            InputError: with line and column, what was found and what was needed.
        """
        expect("text", text, str, "a kernel's text")
        return cls(_kasimir.Kernel.parse(text, where))

    @classmethod
    def load(cls, path: str | pathlib.Path) -> Kernel:
        """Reads a file."""
        return cls.parse(pathlib.Path(path).read_text(encoding="utf-8"), str(path))

    @functools.cached_property
    def text(self) -> str:
        """The kernel as text, which ``parse`` reads."""
        return self._native.text()

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def primitives(self) -> list[str]:
        """The primitive of each step."""
        return self._native.primitives()

    def costs(self, site: Site) -> dict[str, float]:
        """For one image: ``macs``, ``params``, ``ops`` (scalar operations), ``elements`` (written before fusion)."""
        return self._native.costs(as_site(site))

    def fit(self, sites: SitesLike, budget: str = "none") -> Kernel:
        """The kernel with values for its free sizes at all the sites within the budget.

        Raises:
            UnsolvedError: if there are none.
        """
        return Kernel(self._native.fit(as_loads(sites), budget))

    def source(self, site: Site, class_name: str = "Kernel", rows: int = 0, columns: int = 0) -> str:
        """The source of a ``torch.nn.Module`` class that is the kernel at the site, and needs torch only.

        ``rows`` and ``columns`` are zeros that are put below and on the right of the input first.
        """
        return self._native.pytorch(as_site(site), rows, columns, class_name)[0]

    def module(self, site: Site) -> torch.nn.Module:
        """The kernel at the site as a plain ``torch.nn.Module``; pickles by its source, so also without Kasimir."""
        from . import modules

        return modules.module(self, as_site(site))

    def svg(self, site: Site = Site(64, 64, 32, 32)) -> str:
        """A drawing as one ``<svg>`` element. Needs the program ``dot`` of Graphviz."""
        return self._native.svg(as_site(site))

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg()
        except Exception:  # no Graphviz, or no shapes at that site: Jupyter shows the text instead
            return None

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[Callable[[str], Kernel], tuple[str]]:
        return Kernel.parse, (self.text,)


@functools.cache
def examples() -> dict[str, Kernel]:
    """Kernels of the literature by name: convolution, depthwise separable, involution, ..."""
    folder = pathlib.Path(__file__).parent / "kernels"
    return {path.stem: Kernel.load(path) for path in sorted(folder.glob("*.txt"))}


def primitives() -> dict[str, str]:
    """Every primitive that a kernel may be made of, with one line on what it does."""
    return dict(_kasimir.primitives())


class Draw(typing.NamedTuple):
    """A kernel and how it came about."""

    kernel: Kernel
    macs: float
    params: float
    how: str


class Sampler:
    """Draws kernels that are legal at all sites and keep a budget. Number i gives the same for a seed, always.

    Args:
        sites: sites, loads, or what ``find_sites`` gives.
        primitives: how many a kernel has, from .. to.
        budget: ``"macs=0.1..0.5,params=..0.5"`` of what is replaced at each site; with k, M or G absolute.
    """

    def __init__(
        self,
        sites: SitesLike,
        primitives: tuple[int, int] = (5, 25),
        budget: str = "macs=0.1..0.5",
        seed: int = 0,
        allow: Sequence[str] = (),
        forbid: Sequence[str] = (),
        require: Sequence[str] = (),
        allow_global: bool = True,
    ) -> None:
        self.loads = as_loads(sites)
        few, many = primitives if isinstance(primitives, (tuple, list)) and len(primitives) == 2 else (None, None)
        if not isinstance(few, numbers.Integral) or not isinstance(many, numbers.Integral):
            expect("primitives", primitives, (), "a pair of whole numbers, from .. to,")
        expect("budget", budget, str, "a text like macs=0.1..0.5")
        if not isinstance(seed, numbers.Integral) or seed < 0:
            expect("seed", seed, (), "a whole number from 0")
        for name, words in (("allow", allow), ("forbid", forbid), ("require", require)):
            expect(name, words, (list, tuple, set, frozenset), "a list of primitives' names")
        self._native = _kasimir.Sampler(
            self.loads, budget, (int(primitives[0]), int(primitives[1])), int(seed), list(allow), list(forbid),
            list(require), allow_global,
        )  # fmt: skip

    @staticmethod
    def _draw(drawn: _kasimir.Drawn) -> Draw | str:
        if drawn.kernel is None:
            return drawn.rule
        return Draw(Kernel(drawn.kernel), drawn.macs, drawn.params, drawn.rule)

    def attempt(self, number: int) -> Draw | str:
        """A kernel, or the rule that ended this attempt."""
        return self._draw(self._native.attempt(number))

    def mutate(self, parent: Kernel, number: int) -> Draw | str:
        """A neighbour of the parent that keeps the budget, or the rule that stands against it."""
        return self._draw(self._native.mutate(parent._native, number))

    def cross(self, first: Kernel, second: Kernel, number: int) -> Draw | str:
        """A kernel that begins as one parent and goes on as the other, or the rule that stands against it."""
        return self._draw(self._native.cross(first._native, second._native, number))


def sample(
    sites: SitesLike,
    n: int,
    primitives: tuple[int, int] = (5, 25),
    budget: str = "macs=0.1..0.5",
    seed: int = 0,
    attempts: int | None = None,
    **limits: typing.Any,
) -> Iterator[Kernel]:
    """``n`` kernels with different texts; see ``Sampler`` for the arguments.

    Raises:
        UnsolvedError: after ``attempts`` (by default 2000 for each kernel and 20000 more), with what ended them.
    """
    expect("n", n, int, "a number of kernels")
    sampler = Sampler(sites, primitives, budget, seed, **limits)
    most = 2000 * n + 20000 if attempts is None else attempts
    return _sample(sampler, n, most, budget)


def _sample(sampler: Sampler, n: int, most: int, budget: str) -> Iterator[Kernel]:
    seen: set[str] = set()
    rules: dict[str, int] = {}
    for number in range(most):
        if len(seen) == n:
            return
        drawn = sampler.attempt(number)
        if isinstance(drawn, str):
            rules[drawn] = rules.get(drawn, 0) + 1
        elif drawn.kernel.text not in seen:
            seen.add(drawn.kernel.text)
            yield drawn.kernel
    if len(seen) < n:
        raise nothing_found(f"{len(seen)} of {n} kernels found in {most} attempts", rules, budget)


def nothing_found(message: str, rules: dict[str, int], budget: str) -> UnsolvedError:
    """The error of a search for kernels that came to nothing, with what ended the attempts."""
    frequent = sorted(rules.items(), key=lambda item: -item[1])[:5]
    notes = [f"asked: budget {budget}"] + [f"{count:>9}  {rule}" for rule, count in frequent]
    return UnsolvedError(message, [*notes, "try a wider budget, or more primitives"])
