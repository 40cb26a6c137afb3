# SPDX-License-Identifier: Apache-2.0
"""Graphs inside the graph, and states, as torch.export.save writes them: python make_control.py (torch 2.13)"""

import pathlib
import zipfile

import numpy as np
import torch
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

HERE = pathlib.Path(__file__).parent
torch.manual_seed(0)


class Control(torch.nn.Module):
    """A branch on a value inside a branch on a size, a loop, a map, a scan; all read a weight, a size and an outer value."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)

    def forward(self, x, n):
        rows = x.shape[0]

        def positive(x):
            return torch.cond(x[0, 0] > 0, lambda x: self.fc(x) + rows, lambda x: x - rows, (x,))

        chosen = torch.cond(x.shape[0] > 3, positive, lambda x: x.cos(), (x,))
        turns, grown = while_loop(lambda i, y: i < n, lambda i, y: (i + 1, self.fc(y)), (torch.zeros((), dtype=torch.int64), x))
        mapped = torch_map(lambda row, w: self.fc(row) * w, x, x.sum(0))
        last, running = scan(lambda c, row: (c + row, c * row), x[0] * 0, x)
        return chosen, turns, grown, mapped, last, running


def relative(data):
    packages = str(pathlib.Path(torch.__file__).parent.parent)
    return data.replace(str(HERE).encode() + b"/", b"").replace(packages.encode() + b"/", b"")


def write_small(path):
    """Without what no reader needs, and the same bytes each time."""
    with zipfile.ZipFile(path) as a:
        members = [(name, a.read(name)) for name in a.namelist()]
    with zipfile.ZipFile(path, "w") as b:
        for name, data in members:
            if name.endswith(("model.json", "config.json", ".data/version", "archive_format")) or "/data/weights/weight_" in name:
                b.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), relative(data) if name.endswith(".json") else data)


control = Control().eval()
rows = torch.export.Dim("rows", min=2, max=64)
path = HERE / "control.pt2"
torch.export.save(torch.export.export(control, (torch.randn(5, 3), torch.tensor(3)), dynamic_shapes=({0: rows}, None)), path)
write_small(path)

# three runs: two rows; five with a first value above 0; five with one below
out = {}
for k, (n, sign, turns) in enumerate(((2, 1, 0), (5, 1, 3), (5, -1, 1))):
    x = torch.randn(n, 3)
    x[0, 0] = sign * x[0, 0].abs()
    with torch.no_grad():
        results = control(x, torch.tensor(turns))
    out |= {f"x{k}": x.numpy(), f"n{k}": np.int64(turns), **{f"y{k}_{i}": y.numpy() for i, y in enumerate(results)}}
np.savez(HERE / "control.npz", **out)


class Begins(torch.nn.Module):
    """Buffers that begin as something else than zeros and are written: a counter, a running mean that is read through a view; and one that begins as zeros."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(7))
        self.register_buffer("mean", torch.tensor([[0.5, -1.0, 2.0]]))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        self.count += 1
        self.mean[0] *= 0.75
        self.mean[0] += 0.25 * x
        y = self.mean.sum(0) * self.count + self.last
        self.last.copy_(x)
        return y


begins = Begins().eval()
path = HERE / "begins.pt2"
torch.export.save(torch.export.export(begins, (torch.zeros(3),)), path)
write_small(path)
begins = Begins().eval()
out = {}
for k in range(3):
    x = torch.randn(3)
    out |= {f"x{k}": x.numpy(), f"y{k}": begins(x).numpy()}
np.savez(HERE / "begins.npz", **out)
