# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions."""

from __future__ import annotations

from collections.abc import Sequence


class KasimirError(Exception):
    """Something could not be done. ``message`` says what was found and needed, ``notes`` what may help."""

    def __init__(self, message: str, notes: Sequence[str] = ()) -> None:
        self.message = message
        self.notes = list(notes)
        super().__init__("\n".join([message, *self.notes]))

    def __reduce__(self):
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


_BY_FAULT = {2: InputError, 3: UnsolvedError, 4: SystemFault, 70: InternalError}


def from_native(fault: int, message: str, notes: Sequence[str]) -> KasimirError:
    """The exception for an error of the library; for the extension."""
    return _BY_FAULT.get(fault, InternalError)(message, notes)
