# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence


class KasimirError(Exception):
    """Something could not be done. ``message`` says what was found and needed, ``notes`` what may help."""

    def __init__(self, message: str, notes: Sequence[str] = ()) -> None:
        self.message = message
        self.notes = list(notes)
        super().__init__("\n".join([message, *self.notes]))

    def __reduce__(self) -> tuple[type[KasimirError], tuple[str, list[str]]]:
        return type(self), (self.message, self.notes)


class InputError(KasimirError, ValueError):
    """What was given is wrong."""


class UnsolvedError(KasimirError):
    """The question was understood and has no answer within its limits."""


class SystemFault(KasimirError, OSError):
    """The machine refused: disk, memory, a program that is missing."""

    __init__ = KasimirError.__init__


class InternalError(KasimirError):
    """An invariant of Kasimir does not hold: please report it."""


def expect(name: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    """Refuses an argument of another type, by its name.

    Raises:
        InputError: says what was given and what is wanted.
    """
    abstract = {int: numbers.Integral, float: numbers.Real}  # NumPy's numbers too, but not True
    wide = abstract[kind] if isinstance(kind, type) and kind in abstract else kind
    if not isinstance(value, wide) or (wide is not kind and isinstance(value, bool)):
        shown = repr(value) if isinstance(value, (int, float, str, bool, tuple, list, type(None))) else ""
        text = f"a {type(value).__name__}" if not shown or len(shown) > 60 else shown
        raise InputError(f"`{name}` is {text}, {wanted} is needed")


def absent(what: str, name: str, hints: Mapping[str, str]) -> AttributeError:
    """The error for an attribute that is not there, with what it is called here if other libraries have it."""
    hint = f": {hints[name]}" if name in hints else ""
    return AttributeError(f"{what} has no attribute `{name}`{hint}")


_BY_FAULT: dict[int, type[KasimirError]] = {2: InputError, 3: UnsolvedError, 4: SystemFault, 70: InternalError}


def from_native(fault: int, message: str, notes: Sequence[str]) -> KasimirError:
    """The exception for an error of the library; for the extension."""
    return _BY_FAULT.get(fault, InternalError)(message, notes)
