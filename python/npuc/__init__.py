# SPDX-License-Identifier: Apache-2.0
"""npuc: a compiler from trained networks to NPUs.

    built = npuc.compile(model, (example,), target="refnpu-n16", calibration=loader)
    built(x)                                # the artifact, on this machine
    npuc.load("out/6-build.refnpu-n16/model.npu")(x)
    npuc.import_model("model.onnx")(x)      # the reference executor
    torch.compile(model, backend="npuc")    # the same, behind torch

Arrays are NumPy's, torch's or anything with DLPack. Failures are `NpucError`s."""

from ._arrays import Port
from ._compile import Built, Stage, TargetResult, compile, quantize
from ._context import Progress
from ._library import library as _library
from ._network import Model, import_model, run
from ._program import Program, load
from .errors import Diagnostic, Kind, NpucError, Place, explain

__version__: str = _library.npuc_version().decode()
__all__ = [
    "Built",
    "Diagnostic",
    "Kind",
    "Model",
    "NpucError",
    "Place",
    "Port",
    "Program",
    "Progress",
    "Stage",
    "TargetResult",
    "compile",
    "explain",
    "import_model",
    "load",
    "quantize",
    "run",
]
