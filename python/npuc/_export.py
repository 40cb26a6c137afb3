# SPDX-License-Identifier: Apache-2.0
"""Whatever the caller calls a model, as a file that npuc reads. torch is imported by the caller, never by us."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import Kind, failure


def save_program(program: Any, path: str) -> None:
    """torch.export.save, without the example inputs: they are the caller's data, and no part of the model."""
    torch: Any = sys.modules["torch"]
    examples = program._example_inputs
    try:
        program._example_inputs = None
        torch.export.save(program, path)
    finally:
        program._example_inputs = examples


def source_file(
    model: Any, args: tuple[Any, ...] | None = None, kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None, path: str | None = None
) -> tuple[str, object]:
    """The file, and what must live as long as it is read: a temporary folder, unless `path` says where an exported program is to be kept."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), None
    torch: Any = sys.modules.get("torch")
    program = None
    if torch is not None and isinstance(model, torch.export.ExportedProgram):
        program = model
    elif torch is not None and isinstance(model, torch.nn.Module):
        if args is None and not kwargs:
            raise failure(Kind.USAGE, "NPUC-E0104", "a torch module is exported with example inputs, and none are given", ("npuc.compile(model, (example,), ...)",))
        if model.training:
            raise failure(Kind.USAGE, "NPUC-E0104", "the module is in training mode: dropout and batch norm would be exported as they train", ("model.eval()",))
        program = torch.export.export(model, tuple(args or ()), dict(kwargs or {}), dynamic_shapes=dynamic_shapes)
    if program is None:
        raise failure(Kind.USAGE, "NPUC-E0906", f"a model is a path, a torch.nn.Module or a torch.export.ExportedProgram, not {type(model).__name__}")
    keep = None
    if path is None:
        keep = tempfile.TemporaryDirectory(prefix="npuc-")
        path = str(Path(keep.name) / "model.pt2")
    save_program(program, path)
    return path, keep
