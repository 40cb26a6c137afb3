# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="npuc"): each captured graph is exported, read by npuc and run by its executor, in float. Inference only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._export import save_program
from ._network import Model
from .errors import Kind, failure


def _example(x: Any) -> torch.Tensor:
    """A tensor of the traced one's type and layout: tracing needs no more."""
    if not isinstance(x, torch.Tensor) or any(not isinstance(n, int) for n in x.shape):
        raise failure(
            Kind.UNSUPPORTED, "NPUC-E0335", "the captured graph has a size that is not a number", ('torch.compile(model, backend="npuc", dynamic=False)',)
        )
    return torch.empty_strided(tuple(x.shape), x.stride(), dtype=x.dtype).zero_()


def _check_program(program: torch.export.ExportedProgram) -> None:
    signature = program.graph_signature
    written = [*signature.buffers_to_mutate.values(), *getattr(signature, "user_inputs_to_mutate", {}).values()]
    if written:
        raise failure(Kind.UNSUPPORTED, "NPUC-E0335", f"the graph writes its inputs in place ({', '.join(written)})", ("model.eval()",))


def backend(module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """Entry point `torch_dynamo_backends`: npuc. Raises NpucError naming the operators that npuc does not have."""
    if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in example_inputs):
        raise failure(Kind.UNSUPPORTED, "NPUC-E0335", "the graph is captured with gradients, and npuc runs inference only", ("with torch.no_grad(): model(x)", "model.requires_grad_(False)"))
    examples = tuple(_example(x) for x in example_inputs)
    with torch._guards.tracing(None), torch.no_grad():
        program = torch.export.export(module, examples)
    _check_program(program)
    keep = tempfile.TemporaryDirectory(prefix="npuc-")
    path = os.path.join(keep.name, "graph.pt2")
    save_program(program, path)
    model = Model(path, keep=keep)

    def call(*arguments: Any) -> tuple[Any, ...]:
        results = tuple(model.run(*arguments).values())
        return results

    return call
