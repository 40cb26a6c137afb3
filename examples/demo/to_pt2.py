# SPDX-License-Identifier: Apache-2.0
"""Writes model.pt2, the demo's network as torch.export saves it, from the weights in model.onnx: python to_pt2.py

Needs numpy, torch, onnx. PyTorch must answer the committed logits before anything is written."""

import pathlib
import zipfile

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from train import MEAN, STD, SignNet

HERE = pathlib.Path(__file__).parent


def load_weights(net):
    weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(HERE / "model.onnx").graph.initializer}
    state = net.state_dict()
    net.load_state_dict({name: torch.from_numpy(weights[name].copy()) if name in weights else value for name, value in state.items()})
    missing = [name for name in state if name not in weights and not name.endswith("num_batches_tracked")]
    assert not missing, missing


def without_places(path):
    """Paths of this machine in the stack traces become relative; the sample input is left out."""
    packages = str(pathlib.Path(torch.__file__).parent.parent)
    with zipfile.ZipFile(path) as z:
        members = [(name, z.read(name)) for name in z.namelist() if "sample_inputs" not in name]
    with zipfile.ZipFile(path, "w") as z:
        for name, data in members:
            if name.endswith(".json"):
                data = data.replace(f"{HERE.resolve()}/".encode(), b"").replace(f"{packages}/".encode(), b"")
            z.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)


net = SignNet().eval()
load_weights(net)
pictures = (torch.from_numpy(np.load(HERE / "test.npy")[:16]).float() / 255 - MEAN) / STD
with torch.no_grad():
    assert np.abs(net(pictures).numpy() - np.load(HERE / "logits16.npy")).max() < 1e-5
program = torch.export.export(net, (pictures[:2],), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=1024)},))
torch.export.save(program, HERE / "model.pt2")
without_places(HERE / "model.pt2")
