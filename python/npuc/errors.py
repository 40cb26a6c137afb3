# SPDX-License-Identifier: Apache-2.0
"""What went wrong, as data: a code with a story (`npuc.explain`), a place, a reason, fixes."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ._library import library, text


class Kind(enum.IntEnum):
    """The kinds of failure; the numbers are the exit statuses of the `npuc` program."""

    INTERNAL = 1
    USAGE = 2
    UNSUPPORTED = 3
    GATE_FAILED = 4
    ENVIRONMENT = 5
    BAD_INPUT = 6


@dataclass(frozen=True)
class Place:
    """Where; what does not apply is empty."""

    file: str = ""
    part: str = ""
    node: str = ""
    op: str = ""
    attribute: str = ""

    def __str__(self) -> str:
        node = f"{self.node} ({self.op})" if self.node and self.op else self.node or self.op
        return ": ".join(t for t in (self.file, node, self.attribute) if t)


@dataclass(frozen=True)
class Diagnostic:
    severity: str  # "error", "warning", "note"
    kind: Kind | None
    code: str  # "NPUC-E0312"
    place: Place
    message: str
    fixes: tuple[str, ...] = ()  # commands or actions, best first
    count: int = 1

    def __str__(self) -> str:
        where = f"{self.place}: " if str(self.place) else ""
        lines = [f"{self.severity}[{self.code}]: {where}{self.message}"] + [f"help: {fix}" for fix in self.fixes]
        return "\n".join(lines)


class NpucError(Exception):
    """A call of npuc that failed. `code`, `message`, `place` and `fixes` are those of the first error, `kind` is the call's own; `diagnostics` has everything that was said."""

    def __init__(self, kind: Kind, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.kind = kind
        self.diagnostics = diagnostics
        first = next((d for d in diagnostics if d.severity == "error"), None)
        self.code = first.code if first else ""
        self.message = first.message if first else f"npuc failed ({kind.name.lower()})"
        self.place = first.place if first else Place()
        self.fixes = first.fixes if first else ()
        errors = [str(d) for d in diagnostics if d.severity == "error"]
        super().__init__("\n".join(errors) or self.message)

    def __reduce__(self) -> tuple[object, ...]:
        return (NpucError, (self.kind, self.diagnostics))


def failure(kind: Kind, code: str, message: str, fixes: tuple[str, ...] = (), place: Place = Place()) -> NpucError:
    return NpucError(kind, (Diagnostic("error", kind, code, place, message, fixes),))


def explain(code: str) -> str:
    """The story of a diagnostic's code, for somebody at 2 a.m. KeyError: there is none."""
    story = library.npuc_explain(code.encode())
    if not story:
        raise KeyError(code)
    return text(story)
