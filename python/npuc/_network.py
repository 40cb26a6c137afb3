# SPDX-License-Identifier: Apache-2.0
"""A model that was read, and the executor that runs it."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._arrays import Port, View, copy_out, like, numpy_type, place_of, port_of, record_list, sample, samples_of, views
from ._context import Context
from ._export import source_file
from ._library import Array, Handle, library, text


class Model:
    """A model as npuc read it. Call it with one array for each input, by place or by name; arrays are not copied on the way in. One output comes as an array, several as a
    tuple; torch tensors come back where torch tensors were given. Integer inputs and outputs of a quantized model are floats here, unless `raw=True`. Where the
    model has a batch of 1 built in, more samples run one after the other."""

    def __init__(
        self, path: str, dims: Mapping[str, int] | None = None, threads: int = 0, keep: object = None, state_dict: str | os.PathLike[str] | None = None
    ) -> None:
        self._context = Context(threads)
        self._handle = Handle()
        self._lock = threading.Lock()
        self._keep = keep  # a temporary file that the model maps
        self._context.call(library.npuc_network_open, self._context.handle, os.fsencode(path), ctypes.byref(self._handle))
        if state_dict is not None:
            self._context.check(library.npuc_network_load(self._handle, os.fsencode(state_dict), None, False))
        for symbol, size in (dims or {}).items():
            self._context.check(library.npuc_network_bind(self._handle, symbol.encode(), size))
        handle = self._handle
        self.inputs: tuple[Port, ...] = tuple(port_of(library.npuc_network_input(handle, i).contents) for i in range(library.npuc_network_inputs(handle)))
        self.outputs: tuple[Port, ...] = tuple(port_of(library.npuc_network_output(handle, i).contents) for i in range(library.npuc_network_outputs(handle)))
        self.diagnostics = self._context.diagnostics()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            library.npuc_network_destroy(self._handle)

    def __repr__(self) -> str:
        ports = ", ".join(f"{p.name}: {p.dtype}{list(p.shape) if p.shape is not None else ''}" for p in self.inputs)
        return f"<npuc.Model ({ports})>"

    def describe(self) -> dict[str, Any]:
        """What `npuc inspect --json` says: parts with inputs, outputs, ops, parameters, macs."""
        with self._lock:
            return dict(json.loads(text(library.npuc_network_describe(self._handle))))

    def save(self, path: str | os.PathLike[str]) -> None:
        """As ONNX, weights inside."""
        with self._lock:
            self._context.check(library.npuc_network_save(self._handle, os.fsencode(path)))

    def run(self, *arguments: Any, raw: bool = False, **named: Any) -> dict[str, Any]:
        """All outputs by name."""
        given = views(arguments, named)
        ordered = [(self.inputs[place], v) for i, (name, v) in enumerate(given) if (place := i if name is None else place_of(self.inputs, name)) is not None and place < len(self.inputs)]
        count = samples_of([p for p, _ in ordered], [v for _, v in ordered])
        if count is None:
            results = self._run_once(given)
        else:
            rows = [self._run_once([(name, sample(v, i, count)) for name, v in given]) for i in range(count)]
            results = [np.concatenate(column) for column in zip(*rows)] if rows else [np.empty((0, *(p.shape or ())[1:]), numpy_type(p)) for p in self.outputs]
        originals = [*arguments, *named.values()]
        return {p.name: like(r if raw else _real(p, r), originals) for p, r in zip(self.outputs, results)}

    def _run_once(self, given: list[tuple[str | None, View]]) -> list[Any]:
        outputs = (Array * max(len(self.outputs), 1))()
        with self._lock:
            self._context.check(library.npuc_network_run(self._handle, record_list(given), len(given), outputs))
            return [copy_out(outputs[i]) for i in range(len(self.outputs))]

    def __call__(self, *arguments: Any, raw: bool = False, **named: Any) -> Any:
        results = tuple(self.run(*arguments, raw=raw, **named).values())
        return results[0] if len(results) == 1 else results


def _real(port: Port, q: Any) -> Any:
    if port.scale is None or q.dtype.kind not in "iu":
        return q
    return (q.astype(np.int32) - np.int32(port.zero_point or 0)).astype(np.float32) * np.float32(port.scale)


def import_model(
    model: Any,
    args: tuple[Any, ...] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    dims: Mapping[str, int] | None = None,
    state_dict: str | os.PathLike[str] | None = None,
    threads: int = 0,
) -> Model:
    """Reads a model: the path of an ONNX file, a .pt2 archive, a build's folder or OUT@STAGE; a torch module, which torch.export exports with `args`; or an ExportedProgram.
    `state_dict` is a file with other weights for it, by name: torch.save, safetensors, an index of shards or its folder."""
    path, keep = source_file(model, args, kwargs, dynamic_shapes)
    return Model(path, dims, threads, keep, state_dict)


def run(model: Any, *arguments: Any, dims: Mapping[str, int] | None = None, threads: int = 0, **named: Any) -> Any:
    """Reads a model and runs it once. For more runs keep what `import_model` returns, or give it here."""
    if isinstance(model, Model):
        return model(*arguments, **named)
    path, keep = source_file(model, arguments, named)
    return Model(path, dims, threads, keep)(*arguments, **named)
