# SPDX-License-Identifier: Apache-2.0
"""Artifacts (`.npu`) in the runtime: the integers that the NPU computes, on this machine's processor."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import Port, View, like, numpy_type, place_of, port_of, samples_of, view
from ._library import Error, Handle, library, text
from .errors import Diagnostic, Kind, NpucError, Place, failure


def _check(status: int, error: Error, path: str) -> None:
    if status:
        kind = Kind(status)
        raise NpucError(kind, (Diagnostic("error", kind, text(error.code), Place(file=path), text(error.message)),))


class Program:
    """A loaded `.npu`. Call it with one array for each input, by place or by name. Floats are quantized as the input says and integers of the input's own type are taken as they
    are, without a copy; outputs are floats, with `raw=True` the integers. Arrays of more samples than the program's one run one after the other."""

    def __init__(self, path: str | os.PathLike[str], keep: object = None) -> None:
        self.path = os.fspath(path)
        self._keep = keep
        self._handle, self._session, error = Handle(), Handle(), Error()
        self._lock = threading.Lock()
        _check(library.npuc_program_load(os.fsencode(path), ctypes.byref(self._handle), ctypes.byref(error)), error, self.path)
        _check(library.npuc_session_create(self._handle, None, ctypes.byref(self._session), ctypes.byref(error)), error, self.path)
        p = self._handle
        self._in = [library.npuc_program_input(p, i).contents for i in range(library.npuc_program_inputs(p))]
        self._out = [library.npuc_program_output(p, i).contents for i in range(library.npuc_program_outputs(p))]
        self.inputs: tuple[Port, ...] = tuple(port_of(r) for r in self._in)
        self.outputs: tuple[Port, ...] = tuple(port_of(r) for r in self._out)
        self.activation_bytes = int(library.npuc_session_memory(self._session))

    def __del__(self) -> None:
        if getattr(self, "_session", None):
            library.npuc_session_destroy(self._session)
        if getattr(self, "_handle", None):
            library.npuc_program_destroy(self._handle)

    def __repr__(self) -> str:
        return f"<npuc.Program {self.path}: {', '.join(f'{p.name}: {p.dtype}{list(p.shape or ())}' for p in self.inputs)}>"

    def _order(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[View]:
        found: list[Any] = list(arguments) + [None] * (len(self.inputs) - len(arguments))
        for name, x in named.items():
            place = place_of(self.inputs, name)
            if place is None or place >= len(found) or found[place] is not None:
                raise failure(Kind.USAGE, "NPUC-E0921", f"'{name}' is no input that is still free; the inputs are {[p.name for p in self.inputs]}")
            found[place] = x
        if len(found) != len(self.inputs) or any(x is None for x in found):
            raise failure(Kind.USAGE, "NPUC-E0921", f"the program has the inputs {[p.name for p in self.inputs]}, and {len(arguments) + len(named)} are given")
        return [view(x) for x in found]

    def _batch(self, given: Sequence[View]) -> int | None:
        """Samples to run one by one; None: the arrays are one run as they are."""
        count = samples_of(self.inputs, given)
        for port, v in zip(self.inputs, given):
            shape = tuple(port.shape or ())
            if v.shape != shape and count is None:
                raise failure(Kind.USAGE, "NPUC-E0921", f"the input wants {list(shape)}, and {list(v.shape)} is given", place=Place(file=self.path, node=port.name))
        return count

    def _integers(self, i: int, v: View) -> Any:
        """The input's integers: the caller's memory when it has the type already."""
        port = self.inputs[i]
        if v.dtype == self._in[i].dtype:
            return v
        a = v.numpy()
        if port.scale is None or a.dtype.kind != "f":
            raise failure(Kind.USAGE, "NPUC-E0921", f"the input wants {port.dtype}{' or floats' if port.scale is not None else ''}, and {a.dtype} is given", place=Place(file=self.path, node=port.name))
        real = np.ascontiguousarray(a, np.float32)
        q = np.empty(real.shape, numpy_type(port))
        library.npuc_port_quantize(ctypes.byref(self._in[i]), real.ctypes.data, q.ctypes.data, real.size)
        return view(q)

    def _real(self, i: int, q: Any) -> Any:
        if self.outputs[i].scale is None:
            return q
        real = np.empty(q.shape, np.float32)
        library.npuc_port_dequantize(ctypes.byref(self._out[i]), q.ctypes.data, real.ctypes.data, q.size)
        return real

    def run(self, *arguments: Any, raw: bool = False, **named: Any) -> dict[str, Any]:
        """All outputs by name."""
        given = self._order(arguments, named)
        batch = self._batch(given)
        rows = 1 if batch is None else batch
        integers = [self._integers(i, v) for i, v in enumerate(given)]
        results = []
        for port in self.outputs:
            shape = tuple(d or 0 for d in port.shape or ())
            results.append(np.empty((rows * shape[0], *shape[1:]) if batch is not None and shape else shape, numpy_type(port)))
        error = Error()
        pointers_in, pointers_out = (ctypes.c_void_p * max(len(integers), 1))(), (ctypes.c_void_p * max(len(results), 1))()
        with self._lock:
            for row in range(rows):
                for i, v in enumerate(integers):
                    pointers_in[i] = v.address + row * (v.bytes // rows)
                for i, r in enumerate(results):
                    pointers_out[i] = r.ctypes.data + row * (r.nbytes // rows)
                _check(library.npuc_session_run(self._session, pointers_in, pointers_out, ctypes.byref(error)), error, self.path)
        originals = [*arguments, *named.values()]
        return {p.name: like(r if raw else self._real(i, r), originals) for i, (p, r) in enumerate(zip(self.outputs, results))}

    def __call__(self, *arguments: Any, raw: bool = False, **named: Any) -> Any:
        results = tuple(self.run(*arguments, raw=raw, **named).values())
        return results[0] if len(results) == 1 else results


def load(path: str | os.PathLike[str]) -> Program:
    """Loads a `.npu` file."""
    return Program(path)
