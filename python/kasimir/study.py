# SPDX-License-Identifier: Apache-2.0
"""Studies: ask for kernels, tell how good they are. Nothing here needs torch unless models are given."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import sqlite3
import time
import typing
from collections.abc import Callable, Mapping, Sequence

from .errors import InputError, KasimirError, UnsolvedError, absent, expect
from .kernel import Draw, Kernel, Sampler, SitesLike, as_loads, nothing_found
from .tables import html_table

if typing.TYPE_CHECKING:
    import pandas
    import torch

    from .sites import Sites

_FIRST_GENERATION = 8  # kernels that are drawn before any is bred
_TOURNAMENT = 3  # parents win against so many of the better half (Real et al., arXiv 1802.01548)
_SHARE_RANDOM, _SHARE_CROSSED = 0.25, 0.25
_VERSION = 1

STRATEGIES = {
    "random": "every kernel is drawn anew",
    "evolution": "mutates and crosses the better half of what was evaluated",
}

# What a study and a trial have under the names that users of Optuna look for.
_STUDY_HINTS = {
    "best_trial": "`study.best` is the best trial",
    "best_value": "`study.best.value`",
    "best_params": "`study.best.kernel` is the best kernel",
    "best_trials": "`study.pareto()` lists the trials that nothing beats",
    "trials_dataframe": "`study.to_frame()` gives a pandas frame",
    "get_trials": "`study.trials` lists them",
    "direction": "`study.objectives` has the direction of each",
    "directions": "`study.objectives` has the direction of each",
    "stop": "`optimize(.., trials=N)` ends at N trials; an exception like KeyboardInterrupt ends it early",
}
_TRIAL_HINTS = {
    "suggest_float": "the study proposes kernels; `trial.kernel` is this trial's",
    "suggest_int": "the study proposes kernels; `trial.kernel` is this trial's",
    "suggest_categorical": "the study proposes kernels; `trial.kernel` is this trial's",
    "report": "one result is told for each trial, by `study.tell(trial, value)`",
    "should_prune": "an exception that `evaluate` raises ends its trial, with its text as the reason",
    "model": "`trial.apply(model)` gives the model with this kernel",
}

_SCHEMA = """
create table study(id integer primary key check (id = 1), version integer not null, spec text not null);
create table trials(
  number integer primary key, state text not null, kernel text not null, how text not null, parents text not null,
  macs real not null, params real not null, "values" text, reason text not null default '', started real not null,
  finished real);
"""


@dataclasses.dataclass
class Trial:
    """A kernel that was proposed, and what became of it."""

    number: int
    kernel: Kernel
    state: str  # "running", "complete", "failed"
    how: str  # "drawn", a mutation's name, "crossing"
    parents: tuple[int, ...]
    macs: float  # over all sites, one image
    params: float
    values: dict[str, float]  # by objective; of "complete" ones
    reason: str = ""  # of "failed" ones
    started: float = 0.0
    finished: float | None = None
    study: Study | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def value(self) -> float:
        """The value of the first objective; not-a-number without one."""
        return self.values.get(next(iter(self._study().objectives)), math.nan)

    if not typing.TYPE_CHECKING:  # checkers shall still find what is misspelt

        def __getattr__(self, name):
            raise absent("a trial", name, _TRIAL_HINTS)

    def _study(self) -> Study:
        if self.study is None:
            raise InputError(f"trial {self.number} belongs to no study")
        return self.study

    def apply(self, model: torch.nn.Module) -> torch.nn.Module:
        """A deep copy of the model with this kernel at the study's sites. Needs torch."""
        from . import sites

        places = self._study().places
        if places is None:
            raise InputError("the study was made from plain sites: call kasimir.replace(model, trial.kernel, sites)")
        return sites.replace(model, self.kernel, places)

    def save(self, folder: str | pathlib.Path, model: torch.nn.Module | None = None) -> pathlib.Path:
        """Writes ``kernels.py`` and ``weights.pt``, which load without Kasimir.

        ``model`` is the trained one with the kernels in it; by default the best that ``search`` kept of this trial.
        """
        from . import modules

        model = model if model is not None else self._study().models.get(self.number)
        if model is None:
            raise InputError(
                f"there is no model of trial {self.number} to save", ["give it: trial.save(folder, model=trained)"]
            )
        return modules.save(model, folder)


class Study:
    """A search for kernels. Made by ``create_study``."""

    def __init__(
        self, sampler: Sampler, spec: dict[str, typing.Any], database: sqlite3.Connection, places: Sites | None = None
    ) -> None:
        self._sampler, self._spec, self._database = sampler, spec, database
        self.objectives: dict[str, str] = spec["objectives"]
        self.places = places
        self.models: dict[int, torch.nn.Module] = {}  # of the trials of this process that search() kept
        self.original: dict[str, float] = {}
        row = database.execute("select max(number) from trials").fetchone()
        self._next: int = 0 if row[0] is None else row[0] + 1

    if not typing.TYPE_CHECKING:

        def __getattr__(self, name):
            raise absent("a study", name, _STUDY_HINTS)

    def __repr__(self) -> str:
        states = [trial.state for trial in self.trials]
        told = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        return f"<Study of {len(states)} trials: {told}>" if states else "<Study without trials>"

    def _repr_html_(self) -> str:
        rows = [[value for key, value in row.items() if key != "kernel"] for row in self.records()]
        return html_table(
            ["number", "state", *self.objectives, "macs", "params", "how", "reason"], rows, repr(self)[1:-1]
        )

    # -- ask and tell ------------------------------------------------------------------------------------------------

    def ask(self) -> Trial:
        """A new trial with a kernel that no other trial has.

        Raises:
            UnsolvedError: if none is found, with what ended the attempts.
        """
        known = {row[0] for row in self._database.execute("select kernel from trials")}
        rules: dict[str, int] = {}
        for attempt in range(20000):
            drawn, parents = self._propose(attempt)
            if isinstance(drawn, str):
                rules[drawn] = rules.get(drawn, 0) + 1
            elif drawn.kernel.text in known:
                rules["the kernel was proposed before"] = rules.get("the kernel was proposed before", 0) + 1
            else:
                return self._add(drawn, parents)
        raise nothing_found("no new kernel found in 20000 attempts", rules, self._spec["budget"])

    def _propose(self, attempt: int) -> tuple[Draw | str, tuple[int, ...]]:
        from . import _kasimir

        number = self._next * 20000 + attempt
        uniform = _kasimir.uniform(self._spec["seed"], number, 4)
        good = self._better_half()
        if self._spec["strategy"] == "random" or len(good) < _FIRST_GENERATION // 2 or uniform[0] < _SHARE_RANDOM:
            return self._sampler.attempt(number), ()
        first = self._parent(good, uniform[1])
        if uniform[0] < _SHARE_RANDOM + _SHARE_CROSSED:
            second = self._parent([trial for trial in good if trial is not first], uniform[2])
            return self._sampler.cross(first.kernel, second.kernel, number), (first.number, second.number)
        return self._sampler.mutate(first.kernel, number), (first.number,)

    def _better_half(self) -> list[Trial]:
        done = [trial for trial in self.trials if trial.state == "complete"]
        ranked = _by_preference(done, self.objectives)
        return ranked[: (len(ranked) + 1) // 2]

    @staticmethod
    def _parent(good: list[Trial], uniform: float) -> Trial:
        """The best of a few: the smallest of so many uniform numbers, drawn by inversion."""
        return good[min(len(good) - 1, int(len(good) * (1 - (1 - uniform) ** (1 / _TOURNAMENT))))]

    def _add(self, drawn: Draw, parents: tuple[int, ...]) -> Trial:
        trial = Trial(
            self._next, drawn.kernel, "running", drawn.how, parents, drawn.macs, drawn.params, {}, "", time.time(),
            None, self,
        )  # fmt: skip
        with self._database:
            self._database.execute(
                "insert into trials(number, state, kernel, how, parents, macs, params, started) values(?,?,?,?,?,?,?,?)",
                (trial.number, "running", drawn.kernel.text, drawn.how, json.dumps(parents), drawn.macs, drawn.params,
                 trial.started),
            )  # fmt: skip
        self._next += 1
        return trial

    def tell(self, trial: Trial | int, value: float | Mapping[str, float] | None = None, reason: str = "") -> Trial:
        """Stores a trial's result: the first objective's value, or a value for each; or why there is none.

        Raises:
            InputError: for an unknown trial, one that was told before, and missing or unknown objectives.
        """
        number = trial.number if isinstance(trial, Trial) else trial
        expect("trial", number, int, "a trial of `ask` or its number")
        rows = self._database.execute("select state from trials where number = ?", (number,)).fetchone()
        if rows is None:
            raise InputError(f"there is no trial {number} in this study")
        if rows[0] != "running":
            raise InputError(f"trial {number} is {rows[0]} already")
        values = {} if value is None else self._values(value)
        if value is not None and not all(math.isfinite(v) for v in values.values()):
            reason = reason or "the evaluation gave " + ", ".join(f"{k} = {v}" for k, v in values.items())
            values = {}
        if not values and not reason:
            raise InputError(f"trial {number} is told neither a value nor a reason")
        state = "complete" if values else "failed"
        finished = time.time()
        with self._database:
            self._database.execute(
                'update trials set state = ?, "values" = ?, reason = ?, finished = ? where number = ?',
                (state, json.dumps(values), reason, finished, number),
            )
        told = self._trial(number)
        if isinstance(trial, Trial):
            trial.state, trial.values, trial.reason, trial.finished = told.state, told.values, told.reason, finished
        return told

    def _values(self, value: float | Mapping[str, float]) -> dict[str, float]:
        if not isinstance(value, Mapping):
            value = {next(iter(self.objectives)): value}
        wrong = set(value) ^ set(self.objectives)
        if wrong:
            raise InputError(
                f"the values are of {', '.join(map(str, value)) or 'nothing'}",
                [f"the study's objectives are {', '.join(self.objectives)}"],
            )
        for name, one in value.items():
            if not hasattr(one, "__float__"):
                expect(name, one, float, "a number")
        return {name: float(value[name]) for name in self.objectives}

    def optimize(
        self,
        evaluate: Callable[[Trial], float | Mapping[str, float]],
        trials: int,
        after: Callable[[Trial], None] | None = None,
    ) -> Study:
        """Evaluates until the study has so many trials; a resumed study counts those that it has.

        ``evaluate`` is given a trial. An exception that it raises is stored as the trial's reason; only
        KeyboardInterrupt and the like end the study. ``after`` is called with each finished trial.
        """
        if not callable(evaluate):
            expect("evaluate", evaluate, (), "a function that is given a trial")
        expect("trials", trials, int, "a number of trials")
        for number in [trial.number for trial in self.trials if trial.state == "running"]:
            self.tell(number, reason="its process ended before its result was told")
        while self._next < trials:
            trial = self.ask()
            try:
                value = evaluate(trial)
            except Exception as error:  # whatever the user's code raises is this trial's result
                self.tell(trial, reason=f"{type(error).__name__}: {error}")
            else:
                self.tell(trial, value)
            if after:
                after(trial)
        return self

    # -- what was found ----------------------------------------------------------------------------------------------

    @property
    def trials(self) -> list[Trial]:
        """All trials by number."""
        return [self._made(row) for row in self._database.execute(_SELECT + " order by number")]

    @property
    def best(self) -> Trial:
        """The complete trial with the best first objective; of equals by the others, then the earlier.

        Raises:
            UnsolvedError: if no trial is complete, with the reasons of those that failed.
        """
        done = [trial for trial in self.trials if trial.state == "complete"]
        if not done:
            raise UnsolvedError(
                "no trial of the study is complete",
                [f"trial {trial.number}: {trial.reason}" for trial in self.trials if trial.reason][:5],
            )
        # Of equals not just any: what another one beats is not on the front, and its model is not kept.
        goals = self.objectives.items()
        return max(done, key=lambda trial: tuple(_sign(direction) * trial.values[name] for name, direction in goals))

    def pareto(self) -> list[Trial]:
        """The complete trials that no other one beats in all objectives, by the first objective, best first."""
        done = [trial for trial in self.trials if trial.state == "complete"]
        front = [t for t in done if not any(_dominates(o, t, self.objectives) for o in done)]
        name, direction = next(iter(self.objectives.items()))
        return sorted(front, key=lambda trial: -_sign(direction) * trial.values[name])

    def to_frame(self) -> pandas.DataFrame:
        """The trials as a ``pandas.DataFrame``, one row each. Needs pandas."""
        try:
            import pandas
        except ImportError as error:
            raise InputError("pandas is not installed, a frame needs it", ["pip install pandas"]) from error
        return pandas.DataFrame(self.records()).set_index("number")

    def records(self) -> list[dict[str, typing.Any]]:
        """The trials as plain dictionaries, one each."""
        return [
            {
                "number": trial.number,
                "state": trial.state,
                **{name: trial.values.get(name) for name in self.objectives},
                "macs": trial.macs,
                "params": trial.params,
                "how": trial.how,
                "kernel": trial.kernel.text,
                "reason": trial.reason,
            }
            for trial in self.trials
        ]

    def _trial(self, number: int) -> Trial:
        return self._made(self._database.execute(_SELECT + " where number = ?", (number,)).fetchone())

    def _made(self, row: tuple[typing.Any, ...]) -> Trial:
        number, state, kernel, how, parents, macs, params, values, reason, started, finished = row
        return Trial(
            number, Kernel.parse(kernel, f"trial {number}"), state, how, tuple(json.loads(parents)), macs, params,
            json.loads(values) if values else {}, reason, started, finished, self,
        )  # fmt: skip

    def close(self) -> None:
        """Closes the storage."""
        self._database.close()


_SELECT = 'select number, state, kernel, how, parents, macs, params, "values", reason, started, finished from trials'


def _sign(direction: str) -> float:
    return 1.0 if direction == "maximize" else -1.0


def _dominates(a: Trial, b: Trial, objectives: dict[str, str]) -> bool:
    gains = [_sign(direction) * (a.values[name] - b.values[name]) for name, direction in objectives.items()]
    return all(gain >= 0 for gain in gains) and any(gain > 0 for gain in gains)


def _by_preference(done: list[Trial], objectives: dict[str, str]) -> list[Trial]:
    """By how many others beat them, then by the first objective."""
    name, direction = next(iter(objectives.items()))
    beaten = {trial.number: sum(_dominates(other, trial, objectives) for other in done) for trial in done}
    return sorted(done, key=lambda trial: (beaten[trial.number], -_sign(direction) * trial.values[name]))


def create_study(
    sites: SitesLike,
    budget: str = "macs=0.1..0.5",
    *,
    primitives: tuple[int, int] = (2, 8),
    seed: int = 0,
    strategy: str = "random",
    direction: str = "maximize",
    objectives: Mapping[str, str] | Sequence[str] | None = None,
    storage: str | pathlib.Path | None = None,
    **limits: typing.Any,
) -> Study:
    """A new study, or the one in ``storage`` if it was asked the same.

    Args:
        sites: sites, loads, or what ``find_sites`` gives.
        strategy: ``random`` or ``evolution``.
        direction: of the only objective, called ``value``.
        objectives: instead, names with ``"maximize"`` or ``"minimize"``; names alone are maximised, but ``latency``,
            ``macs``, ``params`` and ``energy`` are minimised.
        storage: an SQLite file; by default memory.
        limits: ``allow``, ``forbid``, ``require``, ``allow_global`` of ``Sampler``.

    Raises:
        InputError: for unknown words, and where the storage holds another study.
    """
    if strategy not in STRATEGIES:
        raise InputError(f"unknown strategy `{strategy}`", [f"there are {', '.join(STRATEGIES)}"])
    loads = as_loads(sites)
    sampler = Sampler(loads, primitives, budget, seed, **limits)
    spec = {
        "sites": [[list(load.site), load.count, load.macs, load.params] for load in loads],
        "budget": budget,
        "primitives": [int(number) for number in primitives],
        "seed": int(seed),
        "strategy": strategy,
        "objectives": _objectives(objectives, direction),
        "limits": limits,
    }
    places = sites if hasattr(sites, "places") else None
    return Study(sampler, spec, _open(storage, spec), typing.cast("Sites | None", places))


def _objectives(given: Mapping[str, str] | Sequence[str] | None, direction: str) -> dict[str, str]:
    if given is None:
        given = {"value": direction}
    elif not isinstance(given, Mapping):
        expect("objectives", given, (list, tuple), "a mapping of names to directions, or a list of names,")
        small = {"latency", "macs", "params", "energy"}
        given = {name: "minimize" if name in small else "maximize" for name in given}
    if not given:
        raise InputError("there are no objectives, at least one is needed")
    for name, which in given.items():
        if which not in ("maximize", "minimize"):
            raise InputError(f"the direction of {name} is `{which}`, there are maximize and minimize")
    return dict(given)


def _open(storage: str | pathlib.Path | None, spec: dict[str, typing.Any]) -> sqlite3.Connection:
    where = ":memory:" if storage is None else str(storage)
    database = None
    try:
        database = sqlite3.connect(where)
        if not database.execute("select name from sqlite_master where name = 'study'").fetchone():
            if database.execute("select name from sqlite_master").fetchone():
                raise InputError(f"{where} is a database, but no study of kasimir.create_study")
            with database:
                database.executescript(_SCHEMA)
                database.execute("insert into study values(1, ?, ?)", (_VERSION, json.dumps(spec)))
            return database
        version, stored = database.execute("select version, spec from study").fetchone()
        _compare(where, version, json.loads(stored), spec)
        return database
    except sqlite3.Error as error:
        raise InputError(f"{where} cannot be opened as a study: {error}") from error
    except KasimirError:
        if database is not None:
            database.close()
        raise


def _compare(where: str, version: int, stored: dict[str, typing.Any], asked: dict[str, typing.Any]) -> None:
    if version != _VERSION:
        raise InputError(f"{where} has version {version} of a study, {_VERSION} is needed")
    asked = json.loads(json.dumps(asked))
    different = [f"{key}: {stored[key]} in the study, {asked[key]} asked" for key in asked if stored[key] != asked[key]]
    if different:
        raise InputError(f"{where} holds a study that was asked for something else", different)
