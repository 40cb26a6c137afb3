# SPDX-License-Identifier: Apache-2.0
"""compile and quantize: `npuc compile` from Python, with models and samples that are in memory."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ._arrays import record_list, view
from ._context import Context, ProgressFunction
from ._export import source_file
from ._library import Handle, library, text
from ._network import Model
from ._program import Program
from .errors import Diagnostic, Kind, failure


@dataclass(frozen=True)
class Stage:
    name: str  # "quantize"
    target: str  # "" for stages that have none
    seconds: float
    gate: Mapping[str, Any]  # what the stage was compared with, and the numbers


@dataclass(frozen=True)
class TargetResult:
    """What was built for one target. None: not done, or not measured."""

    target: str
    artifact: Path | None = None  # the .npu file
    cycles: int | None = None  # by the simulator
    utilization: float | None = None  # of the array, 0 to 1
    sqnr_db: float | None = None  # of the integer module's outputs over the calibration samples; the weakest
    accuracy: Mapping[str, Any] | None = None  # with evaluation data: float_top1, integer_top1, ... in percent


@dataclass(frozen=True)
class Built:
    """A build. Call it to run what was built (the first target's artifact; without one the newest stage's model); it is an ordinary folder of npuc, which the
    command line takes too."""

    folder: Path
    targets: tuple[TargetResult, ...]
    stages: tuple[Stage, ...]
    diagnostics: tuple[Diagnostic, ...]  # warnings and notes
    _keep: object = field(default=None, repr=False, compare=False)

    @property
    def artifact(self) -> Path | None:
        return self.targets[0].artifact if self.targets else None

    def program(self, target: str | None = None) -> Program:
        """The artifact, loaded."""
        for t in self.targets:
            if t.artifact and target in (None, t.target):
                return Program(t.artifact, self._keep)
        raise failure(Kind.USAGE, "NPUC-E0905", f"there is no artifact for {target or 'any target'} in {self.folder}")

    def model(self, stage: str) -> Model:
        """The model that a stage left: "import", "normalize", "static", "adapt", "quantize" (with ".TARGET" where several were built)."""
        return Model(f"{self.folder}@{stage}", keep=self._keep)

    @cached_property
    def _runner(self) -> Program | Model:
        return self.program() if self.artifact else Model(str(self.folder), keep=self._keep)

    def __call__(self, *arguments: Any, raw: bool = False, **named: Any) -> Any:
        return self._runner(*arguments, raw=raw, **named)


Sample = Any  # an array, a sequence of arrays in the inputs' order (what follows them, such as labels, is left out), or a mapping by the inputs' names


class _Compilation:
    """The C library's handle, closed whatever happens: it holds the build's lock."""

    def __init__(self, context: Context, model: str, folder: str) -> None:
        self.context = context
        self.handle = Handle()
        context.call(library.npuc_compilation_create, context.handle, os.fsencode(model), os.fsencode(folder), ctypes.byref(self.handle))

    def __enter__(self) -> _Compilation:
        return self

    def __exit__(self, *_: object) -> None:
        library.npuc_compilation_destroy(self.handle)

    def set(self, option: str, value: object) -> None:
        self.context.check(library.npuc_compilation_set(self.handle, option.encode(), str(value).encode()))

    def add(self, sample: Sample, n_inputs: int) -> None:
        if isinstance(sample, Mapping):
            given = [(str(name), view(x)) for name, x in sample.items()]
        elif isinstance(sample, (tuple, list)) and not (sample and isinstance(sample[0], (int, float))):
            given = [(None, view(x)) for x in sample[:n_inputs]]
        else:
            given = [(None, view(sample))]
        self.context.check(library.npuc_compilation_add(self.handle, record_list(given), len(given)))

    def built(self, diagnostics: tuple[Diagnostic, ...], folder: str, keep: object) -> Built:
        results = json.loads(text(library.npuc_compilation_results(self.handle)))
        stages = []
        for key, record in results["stages"].items():
            name, _, target = key.partition(".")
            stages.append(Stage(name, target, float(record.get("seconds", 0)), record.get("gate") or {}))
        targets = []
        for t in results["targets"]:
            artifact = t.get("artifact")
            db = t.get("sqnr_db")
            targets.append(TargetResult(t["target"], Path(artifact) if artifact else None, t.get("cycles"), t.get("utilization"), None if db is None else float(db), t.get("accuracy")))
        return Built(Path(folder), tuple(targets), tuple(stages), diagnostics, keep)


def _options(compilation: _Compilation, options: Mapping[str, Any]) -> None:
    for option, value in options.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            for key, entry in value.items():
                if isinstance(entry, bool):
                    entry = "true" if entry else "false"
                elif isinstance(entry, (tuple, list)):
                    entry = "x".join(str(n) for n in entry)
                compilation.set(option, f"{key}={entry}")
        elif isinstance(value, (tuple, list)):
            for entry in value:
                compilation.set(option, entry)
        else:
            compilation.set(option, os.fspath(value) if isinstance(value, os.PathLike) else value)


def _folder_and_model(model: Any, args: Any, kwargs: Any, dynamic_shapes: Any, output: Any) -> tuple[str, str, object]:
    """A build without a name lives as long as its result. The exported program stands beside a build that has one: a later command on the folder wants to see that the model is still the same."""
    if output is not None:
        folder = os.fspath(output).rstrip("/") or "/"
        path, _ = source_file(model, args, kwargs, dynamic_shapes, folder + ".pt2")
        return folder, path, None
    keep = tempfile.TemporaryDirectory(prefix="npuc-")
    path, _ = source_file(model, args, kwargs, dynamic_shapes, str(Path(keep.name) / "model.pt2"))
    return str(Path(keep.name) / "build"), path, keep


def _build(
    model: Any,
    args: tuple[Any, ...] | None,
    *,
    to: str | None,
    calibration: str | os.PathLike[str] | Iterable[Sample] | None,
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    output: str | os.PathLike[str] | None,
    progress: ProgressFunction | None,
    threads: int,
    force: bool,
    options: Mapping[str, Any],
) -> Built:
    folder, path, keep = _folder_and_model(model, args, kwargs, dynamic_shapes, output)
    context = Context(threads, progress)
    with _Compilation(context, path, folder) as compilation:
        _options(compilation, options)
        if isinstance(calibration, (str, os.PathLike)):
            compilation.set("calib", os.fspath(calibration))
        elif calibration is not None:
            n_inputs = len(Model(path).inputs)
            for sample in calibration:
                compilation.add(sample, n_inputs)
        said = context.diagnostics()
        said += context.call(library.npuc_compilation_run, compilation.handle, b"baseline" if force else None, to.encode() if to else None)
        return compilation.built(said, folder, keep)


def compile(
    model: Any,
    args: tuple[Any, ...] | None = None,
    *,
    target: str | Sequence[str] = "refnpu-n16",
    calibration: str | os.PathLike[str] | Iterable[Sample] | None = None,
    evaluation: str | os.PathLike[str] | None = None,
    preprocess: str | None = None,
    output: str | os.PathLike[str] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    state_dict: str | os.PathLike[str] | None = None,
    scheme: str | None = None,
    max_drop: float | None = None,
    settings: Mapping[str, Any] | None = None,
    reference: str | os.PathLike[str] | None = None,
    progress: ProgressFunction | None = None,
    seed: int | None = None,
    threads: int = 0,
    force: bool = False,
) -> Built:
    """Takes a model through every stage to a target's artifact.

    model        a path (ONNX, .pt2, a build), a torch module in eval mode (exported by torch.export with `args`, `kwargs`, `dynamic_shapes`), or an ExportedProgram
    target       one or several of `npuc targets`
    calibration  samples that ranges are measured on: any iterable of arrays, sequences of arrays (further elements, such as labels, are left out) or mappings by input
                 name, each one sample or a batch along the first axis; or DATA as the command line writes it
    evaluation   labelled DATA: the build fails when top-1 falls by more than `max_drop` points
    state_dict   a file with other weights for the model, by name: torch.save, safetensors, an index of shards or its folder
    output       the build's folder, which a later call or command goes on with; None: a temporary one that goes with the result
    settings     KEY: VALUE of `--set`, e.g. {"quantize.observer": "mse"}
    progress     called with a `Progress`; what it raises stops the build and comes out here

    NpucError says what failed. Ctrl-C stops the build, which a later call with the same `output` goes on with."""
    options = {"target": [target] if isinstance(target, str) else list(target), "eval": evaluation, "preprocess": preprocess, "dim": dims, "shape": shapes}
    options |= {"state-dict": state_dict, "scheme": scheme, "max-drop": max_drop, "set": settings, "reference": reference, "seed": seed}
    return _build(model, args, to=None, calibration=calibration, kwargs=kwargs, dynamic_shapes=dynamic_shapes, output=output, progress=progress, threads=threads, force=force, options=options)


def quantize(
    model: Any,
    args: tuple[Any, ...] | None = None,
    *,
    calibration: str | os.PathLike[str] | Iterable[Sample],
    target: str | Sequence[str] = "refnpu-n16",
    evaluation: str | os.PathLike[str] | None = None,
    preprocess: str | None = None,
    output: str | os.PathLike[str] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    state_dict: str | os.PathLike[str] | None = None,
    scheme: str | None = None,
    max_drop: float | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: ProgressFunction | None = None,
    seed: int | None = None,
    threads: int = 0,
    force: bool = False,
) -> Built:
    """As `compile`, up to the integer module: no artifact. `built.model("quantize")` is that module, and calling the result runs it."""
    options = {"target": [target] if isinstance(target, str) else list(target), "eval": evaluation, "preprocess": preprocess, "dim": dims, "shape": shapes}
    options |= {"state-dict": state_dict, "scheme": scheme, "max-drop": max_drop, "set": settings, "seed": seed}
    return _build(model, args, to="quantize", calibration=calibration, kwargs=kwargs, dynamic_shapes=dynamic_shapes, output=output, progress=progress, threads=threads, force=force, options=options)
