# SPDX-License-Identifier: Apache-2.0
"""A context of libnpuc, and how its failures, progress and cancellation meet Python's.

A long call runs in a thread of its own while the calling one waits, so that Ctrl-C arrives: it asks the library to stop, which leaves the
build as a later call can go on with it, and KeyboardInterrupt is raised when the library has stopped."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass

from ._library import CancelledCallback, ContextOptions, Diagnostic as Record, Handle, ProgressCallback, StageCallback, library, text
from .errors import Diagnostic, Kind, NpucError, Place


@dataclass(frozen=True)
class Progress:
    """What is being done: `done` of `total` units (0: not known); or, with `stage`, how a stage has ended ("done", "kept", "failed")."""

    what: str
    done: int = 0
    total: int = 0
    stage: str = ""
    target: str = ""
    seconds: float = 0.0


ProgressFunction = Callable[[Progress], object]


def _diagnostic(r: Record) -> Diagnostic:
    severity = ("error", "warning", "note")[r.severity]
    place = Place(*(text(t) for t in (r.file, r.part, r.node, r.op, r.attribute)))
    kind = Kind(r.status) if r.status and severity == "error" else None
    return Diagnostic(severity, kind, text(r.code), place, text(r.reason), tuple(text(r.fixes[i]) for i in range(r.n_fixes)), r.count)


class Context:
    def __init__(self, threads: int = 0, progress: ProgressFunction | None = None) -> None:
        self.handle = Handle()
        self._progress = progress
        self._stop = threading.Event()
        self._raised: BaseException | None = None
        self._options = ContextOptions()  # keeps the callbacks alive
        library.npuc_context_options_init(ctypes.byref(self._options))
        self._options.threads = threads
        if progress:
            self._options.on_progress = ProgressCallback(lambda _, what, done, total: self._report(Progress(text(what), done, total)))
            self._options.on_stage = StageCallback(self._report_stage)
        self._options.cancelled = CancelledCallback(lambda _: self._stop.is_set())
        status = library.npuc_context_create(ctypes.byref(self._options), ctypes.byref(self.handle))
        if status:
            raise NpucError(Kind(status), ())

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            library.npuc_context_destroy(self.handle)

    def _report(self, progress: Progress) -> None:
        """An exception of the user's function stops the work and comes out of the call."""
        try:
            if self._progress and self._raised is None:
                self._progress(progress)
        except BaseException as e:  # whatever it is, it must not cross the C library
            self._raised = e
            self._stop.set()

    def _report_stage(self, _: object, stage: bytes, target: bytes | None, status: bytes, seconds: float) -> None:
        self._report(Progress(text(status), stage=text(stage), target=text(target), seconds=seconds))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was said since the last time that somebody asked."""
        record = Record()
        found = []
        for i in range(library.npuc_context_diagnostics(self.handle)):
            library.npuc_context_diagnostic(self.handle, i, ctypes.byref(record))
            found.append(_diagnostic(record))
        library.npuc_context_clear(self.handle)
        return tuple(found)

    def check(self, status: int) -> None:
        if status:
            raise NpucError(Kind(status), self.diagnostics())

    def call(self, function: Callable[..., int], *arguments: object) -> tuple[Diagnostic, ...]:
        """A call that may take long. Returns warnings and notes."""
        self._stop.clear()
        self._raised = None
        result: list[int] = []
        done = threading.Event()  # not Thread.join: interrupted, it may take the thread for dead

        def work() -> None:
            try:
                result.append(function(*arguments))
            finally:
                done.set()

        threading.Thread(target=work, name="npuc", daemon=True).start()
        interrupt: BaseException | None = None
        while not done.is_set():
            try:
                done.wait(0.1)
            except BaseException as e:  # KeyboardInterrupt, or what a signal handler raised
                interrupt = e
                self._stop.set()
        said = self.diagnostics()
        if interrupt or self._raised:
            raise interrupt or self._raised  # type: ignore[misc]
        if result[0]:
            raise NpucError(Kind(result[0]), said)
        return said
