# SPDX-License-Identifier: Apache-2.0
"""Seeds of the fuzz target pt2_json: the JSON of the archives in tests/data/torch and of some cases of the operator suite, without what readers skip.

    python tests/fuzz/make_pt2_json.py      # torch 2.13; writes tests/fuzz/corpus/pt2_json/*.json
"""
import io
import json
import pathlib
import sys
import zipfile

import torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "peers"))
import aten_cases  # noqa: E402
import aten_cases_layers  # noqa: E402
from aten_case import CASES, Module  # noqa: E402

SKIPPED = {"metadata", "device", "requires_grad", "verifiers", "guards_code", "module_call_graph", "torch_version", "is_hop_single_tensor_return", "hint", "custom_obj_values",
           "sym_float_values", "treespec_namedtuple_fields", "kind"}
WANTED = ["cat", "index 2", "index_put", "setitem", "writes through views", "pad", "conv2d", "max_pool2d indices", "batch_norm 2d", "layer_norm", "attention causal, scale",
          "interpolate bilinear False", "where types", "clamp tensors", "sum several", "topk", "split", "flatten", "einsum ij,jk->ik", "quantize_per_channel torch.int8, axis 1",
          "quantize_affine per group", "cond true", "while_loop 4", "scan", "map of several", "dynamic: sizes in shapes", "dynamic: cond on a size, 3", "masked_scatter",
          "diagonal, written", "as_strided", "grid_sample bicubic border False", "fold", "arange", "pow numbers, int64", "division by numbers, float", "histc int32"]


def plain(j):
    if isinstance(j, dict):
        return {k: plain(v) for k, v in j.items() if k not in SKIPPED}
    return [plain(v) for v in j] if isinstance(j, list) else j


def seed(data):
    """{"model", "weights", "constants"} of an archive's bytes."""
    with zipfile.ZipFile(data) as z:
        def part(end):
            return plain(json.loads(z.read(next(n for n in z.namelist() if n.endswith(end)))))
        return {"model": part("models/model.json"), "weights": part("weights_config.json"), "constants": part("constants_config.json")}


def main():
    out = HERE / "corpus" / "pt2_json"
    out.mkdir(exist_ok=True)
    for name in ("tiny", "net", "net_core", "recurrent", "control"):
        try:
            (out / f"{name}.json").write_text(json.dumps(seed(HERE.parent / "data" / "torch" / f"{name}.pt2"), separators=(",", ":")))
        except StopIteration:
            pass  # an archive without constants
    for family in (aten_cases.elementwise, aten_cases.arithmetic, aten_cases.reductions, aten_cases.views, aten_cases.copies, aten_cases.indexing, aten_cases.in_place,
                   aten_cases_layers.layers, aten_cases_layers.dynamic, aten_cases_layers.control, aten_cases_layers.quantized, aten_cases_layers.experts):
        family()
    for case_name, function, inputs, _, is_dynamic, *_ in CASES:
        if case_name not in WANTED:
            continue
        model = function if isinstance(function, torch.nn.Module) else Module(function)
        dims = tuple({0: torch.export.Dim("batch", min=2, max=64)} for _ in inputs) if is_dynamic else None
        data = io.BytesIO()
        torch.export.save(torch.export.export(model.eval(), tuple(inputs), dynamic_shapes=(dims,) if dims and isinstance(model, Module) else dims, strict=False), data)
        name = "".join(c if c.isalnum() else "-" for c in case_name).strip("-")
        (out / f"{name}.json").write_text(json.dumps(seed(data), separators=(",", ":")))


if __name__ == "__main__":
    main()
