# SPDX-License-Identifier: Apache-2.0
"""libnpuc as ctypes sees it: the records and functions of include/npuc/compiler.h and runtime.h, nothing else."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path

MAX_RANK = 8
Handle = c_void_p


class Array(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("dims", c_int64 * MAX_RANK), ("data", c_void_p), ("bytes", c_size_t)]


class Port(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("source_name", c_char_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("dims", c_int64 * MAX_RANK),
        ("bytes", c_size_t),
        ("quantized", c_bool),
        ("scale", c_float),
        ("zero_point", c_int32),
    ]


class Diagnostic(Structure):
    _fields_ = [
        ("severity", c_int),
        ("status", c_int),
        ("code", c_char_p),
        ("file", c_char_p),
        ("part", c_char_p),
        ("node", c_char_p),
        ("op", c_char_p),
        ("attribute", c_char_p),
        ("reason", c_char_p),
        ("fixes", POINTER(c_char_p)),
        ("n_fixes", c_size_t),
        ("count", c_size_t),
    ]


class Error(Structure):
    _fields_ = [("status", c_int), ("code", c_char * 16), ("message", c_char * 496)]


ProgressCallback = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_uint64, c_uint64)
StageCallback = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, c_char_p, c_double)
CancelledCallback = ctypes.CFUNCTYPE(c_bool, c_void_p)


class ContextOptions(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("threads", c_size_t),
        ("on_progress", ProgressCallback),
        ("on_stage", StageCallback),
        ("cancelled", CancelledCallback),
        ("user", c_void_p),
    ]


_OUT = POINTER(Handle)
_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "npuc_version": (c_char_p, []),
    "npuc_explain": (c_char_p, [c_char_p]),
    "npuc_context_options_init": (None, [POINTER(ContextOptions)]),
    "npuc_context_create": (c_int, [POINTER(ContextOptions), _OUT]),
    "npuc_context_destroy": (None, [Handle]),
    "npuc_context_diagnostics": (c_size_t, [Handle]),
    "npuc_context_diagnostic": (c_bool, [Handle, c_size_t, POINTER(Diagnostic)]),
    "npuc_context_clear": (None, [Handle]),
    "npuc_network_open": (c_int, [Handle, c_char_p, _OUT]),
    "npuc_network_destroy": (None, [Handle]),
    "npuc_network_bind": (c_int, [Handle, c_char_p, c_int64]),
    "npuc_network_load": (c_int, [Handle, c_char_p, c_char_p, c_bool]),
    "npuc_network_inputs": (c_size_t, [Handle]),
    "npuc_network_outputs": (c_size_t, [Handle]),
    "npuc_network_input": (POINTER(Port), [Handle, c_size_t]),
    "npuc_network_output": (POINTER(Port), [Handle, c_size_t]),
    "npuc_network_describe": (c_char_p, [Handle]),
    "npuc_network_save": (c_int, [Handle, c_char_p]),
    "npuc_network_run": (c_int, [Handle, POINTER(Array), c_size_t, POINTER(Array)]),
    "npuc_compilation_create": (c_int, [Handle, c_char_p, c_char_p, _OUT]),
    "npuc_compilation_destroy": (None, [Handle]),
    "npuc_compilation_set": (c_int, [Handle, c_char_p, c_char_p]),
    "npuc_compilation_add": (c_int, [Handle, POINTER(Array), c_size_t]),
    "npuc_compilation_run": (c_int, [Handle, c_char_p, c_char_p]),
    "npuc_compilation_results": (c_char_p, [Handle]),
    "npuc_program_load": (c_int, [c_char_p, _OUT, POINTER(Error)]),
    "npuc_program_destroy": (None, [Handle]),
    "npuc_program_inputs": (c_size_t, [Handle]),
    "npuc_program_outputs": (c_size_t, [Handle]),
    "npuc_program_input": (POINTER(Port), [Handle, c_size_t]),
    "npuc_program_output": (POINTER(Port), [Handle, c_size_t]),
    "npuc_session_create": (c_int, [Handle, c_void_p, _OUT, POINTER(Error)]),
    "npuc_session_destroy": (None, [Handle]),
    "npuc_session_memory": (c_size_t, [Handle]),
    "npuc_session_run": (c_int, [Handle, POINTER(c_void_p), POINTER(c_void_p), POINTER(Error)]),
    "npuc_port_quantize": (None, [POINTER(Port), c_void_p, c_void_p, c_size_t]),
    "npuc_port_dequantize": (None, [POINTER(Port), c_void_p, c_void_p, c_size_t]),
}


def _candidates() -> list[str]:
    """NPUC_LIBRARY, the wheel's own library, the system's."""
    named = os.environ.get("NPUC_LIBRARY")
    if named:
        return [named]
    own = Path(__file__).parent / "lib" / "libnpuc.so"
    found = ctypes.util.find_library("npuc")
    return ([str(own)] if own.exists() else []) + ([found] if found else []) + ["libnpuc.so.0"]


def _load() -> ctypes.CDLL:
    reasons = []
    for name in _candidates():
        try:
            library = ctypes.CDLL(name)
        except OSError as e:
            reasons.append(str(e))
            continue
        for function, (result, arguments) in _SIGNATURES.items():
            f = getattr(library, function)
            f.restype, f.argtypes = result, arguments
        return library
    raise ImportError("libnpuc cannot be loaded (set NPUC_LIBRARY to its path): " + "; ".join(reasons))


library = _load()


def text(value: bytes | None) -> str:
    return value.decode("utf-8", "replace") if value else ""
