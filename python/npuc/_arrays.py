# SPDX-License-Identifier: Apache-2.0
"""Arrays of the caller (NumPy, torch, anything with DLPack or the array interface) as the library's, without a copy where they are dense and
on the CPU; and results in the kind of what was given."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._library import MAX_RANK, Array, Port as PortRecord, text
from .errors import Kind, failure

# ONNX TensorProto.DataType: name, NumPy's type (None: it has none).
_TYPES: dict[int, tuple[str, Any]] = {
    1: ("float32", np.float32),
    2: ("uint8", np.uint8),
    3: ("int8", np.int8),
    4: ("uint16", np.uint16),
    5: ("int16", np.int16),
    6: ("int32", np.int32),
    7: ("int64", np.int64),
    9: ("bool", np.bool_),
    10: ("float16", np.float16),
    11: ("float64", np.float64),
    12: ("uint32", np.uint32),
    13: ("uint64", np.uint64),
    14: ("complex64", np.complex64),
    15: ("complex128", np.complex128),
    16: ("bfloat16", None),
}
_NUMBERS = {name: number for number, (name, _) in _TYPES.items()}


@dataclass(frozen=True)
class Port:
    """An input or output. A dim of `shape` is None where any size goes; `shape` is None where not even the rank is known."""

    name: str
    source_name: str  # in the model that it was made from
    dtype: str
    shape: tuple[int | None, ...] | None
    scale: float | None = None  # of a quantized one: real = scale * (q - zero_point)
    zero_point: int | None = None


def port_of(record: PortRecord) -> Port:
    name = text(record.name)
    shape = tuple(int(d) if d >= 0 else None for d in record.dims[: record.rank]) if record.rank >= 0 else None
    quantized = (float(record.scale), int(record.zero_point)) if record.quantized else (None, None)
    return Port(name, text(record.source_name) or name, _TYPES.get(record.dtype, (f"type {record.dtype}", None))[0], shape, *quantized)


def is_torch(x: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


@dataclass(frozen=True)
class View:
    """Somebody's elements: `keep` holds them."""

    dtype: int
    shape: tuple[int, ...]
    address: int
    bytes: int
    keep: object

    def array(self, name: str | None = None) -> Array:
        return Array(name.encode() if name else None, self.dtype, len(self.shape), (ctypes.c_int64 * MAX_RANK)(*self.shape), self.address or None, self.bytes)

    def numpy(self) -> Any:
        return self.keep if isinstance(self.keep, np.ndarray) else self.keep.numpy()  # type: ignore[attr-defined]


def _checked(name: str, shape: tuple[int, ...]) -> int:
    if name not in _NUMBERS:
        raise failure(Kind.UNSUPPORTED, "NPUC-E0921", f"arrays of {name} cannot be given")
    if len(shape) > MAX_RANK:
        raise failure(Kind.UNSUPPORTED, "NPUC-E0921", f"an array has {len(shape)} axes; {MAX_RANK} can be")
    return _NUMBERS[name]


def view(x: Any) -> View:
    if isinstance(x, View):
        return x
    if is_torch(x):
        t = x.detach().cpu().contiguous()
        if t.is_conj() or t.is_neg():
            t = t.resolve_conj().resolve_neg()
        shape = tuple(t.shape)
        return View(_checked(str(t.dtype).removeprefix("torch."), shape), shape, t.data_ptr(), t.numel() * t.element_size(), t)
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        x = np.from_dlpack(x)
    a = np.asarray(x)
    if a.dtype == object:
        raise failure(Kind.USAGE, "NPUC-E0921", f"a {type(x).__name__} is not an array")
    if not a.dtype.isnative:
        a = a.astype(a.dtype.newbyteorder("="))
    shape = a.shape  # ascontiguousarray makes scalars 1-D
    a = np.ascontiguousarray(a).reshape(shape)
    return View(_checked(a.dtype.name, shape), shape, a.ctypes.data if a.size else 0, a.nbytes, a)


def views(arguments: Sequence[Any], named: Mapping[str, Any]) -> list[tuple[str | None, View]]:
    return [(None, view(x)) for x in arguments] + [(name, view(x)) for name, x in named.items()]


def samples_of(ports: Sequence[Port], given: Sequence[View]) -> int | None:
    """Samples that inputs of one sample each ([1, ...]) must be given one by one; None: the arrays are one run as they are."""
    counts: set[int | None] = set()
    for port, v in zip(ports, given):
        shape = port.shape
        more = shape is not None and shape[:1] == (1,) and v.shape[:1] != (1,) and len(v.shape) == len(shape) and v.shape[1:] == shape[1:]
        counts.add(v.shape[0] if more else None)
    if len(counts) > 1:
        raise failure(Kind.USAGE, "NPUC-E0921", f"the inputs have unequal numbers of samples: {sorted(c or 1 for c in counts)}")
    return counts.pop() if counts else None


def sample(v: View, index: int, count: int) -> View:
    bytes_each = v.bytes // count
    return View(v.dtype, (1, *v.shape[1:]), v.address + index * bytes_each, bytes_each, v.keep)


def place_of(ports: Sequence[Port], name: str) -> int | None:
    return next((i for i, p in enumerate(ports) if name in (p.name, p.source_name)), None)


def record_list(given: Sequence[tuple[str | None, View]]) -> Any:
    return (Array * max(len(given), 1))(*(v.array(name) for name, v in given))


def copy_out(a: Array) -> Any:
    """The library's memory as an array of its own. NumPy has no bfloat16: those come as float32, which holds them."""
    name, numpy_type = _TYPES.get(a.dtype, (f"type {a.dtype}", None))
    shape = tuple(a.dims[: a.rank])
    raw = ctypes.string_at(a.data, a.bytes) if a.bytes else b""
    if name == "bfloat16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if numpy_type is None:
        raise failure(Kind.UNSUPPORTED, "NPUC-E0921", f"an output of {name} cannot be given as an array")
    return np.frombuffer(bytearray(raw), numpy_type).reshape(shape)


def like(result: Any, given: Sequence[Any]) -> Any:
    """In the kind of what was given: torch (and its device) when any input is torch's."""
    first = next((x for x in given if is_torch(x)), None)
    if first is None:
        return result
    return sys.modules["torch"].from_numpy(result).to(first.device)


def numpy_type(port: Port) -> Any:
    return _TYPES[_NUMBERS[port.dtype]][1]
