# SPDX-License-Identifier: Apache-2.0
"""Small files as torch.save and torch.export.save write them, for the readers' tests: python make.py (torch 2.13)"""

import collections
import io
import json
import os
import pathlib
import pickle
import zipfile

import torch

HERE = pathlib.Path(__file__).parent
torch.manual_seed(0)
base = torch.arange(24, dtype=torch.float32) / 8

# one storage, several windows on it: whole, offset, transposed, every second column, expanded
views = collections.OrderedDict(
    whole=base.view(2, 3, 4), tail=base[20:], transposed=base.view(4, 6).t(), columns=base.view(4, 6)[:, ::2], expanded=base[3:4].expand(5),
    channels_last=base.view(1, 2, 3, 4).contiguous(memory_format=torch.channels_last), scalar=torch.tensor(2.5), empty=torch.zeros(0, 3))
torch.save(views, HERE / "views.pt")
torch.save(views, HERE / "views_legacy.pt", _use_new_zipfile_serialization=False)

types = [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
         torch.uint16, torch.float8_e4m3fn, torch.float8_e5m2]
torch.save({str(t)[6:]: torch.tensor([0, 1, 2]).to(t) for t in types}, HERE / "types.pt")
torch.save({"model": {"w": torch.nn.Parameter(torch.ones(2)), "list": [torch.zeros(1), {"x": torch.ones(1)}]}, "epoch": 3, "name": "n"},
           HERE / "nested.pt")


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


torch.save({"w": torch.ones(2), "evil": Evil()}, HERE / "hostile.pt")
torch.save({"w": torch.ones(2), "evil": Evil()}, HERE / "hostile_legacy.pt", _use_new_zipfile_serialization=False)
(HERE / "plain_pickle.pt").write_bytes(pickle.dumps({"a": 1}, protocol=2))

# a storage that is shorter than its tensor
source = zipfile.ZipFile(HERE / "nested.pt")
with zipfile.ZipFile(HERE / "short_storage.pt", "w") as z:
    for name in source.namelist():
        data = source.read(name)
        z.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data[:-4] if name.endswith("/data/0") else data)


class Net(torch.nn.Module):
    """Views, writes in place, a buffer that is written, a transposed weight, two weights of one storage."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn = torch.nn.BatchNorm2d(4)
        self.fc = torch.nn.Linear(4, 5)
        self.register_buffer("count", torch.zeros(2))
        self.fc.weight.data = torch.randn(4, 5).t()

    def forward(self, x):
        y = torch.relu(self.bn(self.conv(x)))
        y[:, 1] += 1.0
        y = torch.nn.functional.adaptive_avg_pool2d(y, 1).flatten(1)
        self.count.add_(y[:, :2].sum(0))
        return self.fc(y), y.argmax(1)


def rewrite(source_path, target_path, change):
    """The archive with some members changed; stored, as torch writes them."""
    with zipfile.ZipFile(source_path) as a:
        members = [(name, change(name, a.read(name))) for name in a.namelist()]
    with zipfile.ZipFile(target_path, "w") as b:
        for name, data in members:
            if data is not None:
                b.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)


def relative(name, data):
    packages = str(pathlib.Path(torch.__file__).parent.parent)
    return data.replace(str(HERE).encode() + b"/", b"").replace(packages.encode() + b"/", b"") if name.endswith(".json") else data


net = Net().eval()
x = torch.randn(2, 3, 6, 6)
program = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=64)},))
torch.export.save(program, HERE / "net.pt2")
torch.export.save(program.run_decompositions(), HERE / "net_core.pt2")
for path in (HERE / "net.pt2", HERE / "net_core.pt2"):
    rewrite(path, path, relative)
with torch.no_grad():
    y, index = net(x)
import numpy as np

np.savez(HERE / "net.npz", x=x.numpy(), y=y.numpy(), index=index.numpy(), count=net.count.numpy())


class Recurrent(torch.nn.Module):
    """Two layers and both directions, a given state, and a buffer that is written before it is read."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True)
        self.gru = torch.nn.GRU(8, 5)
        self.rnn = torch.nn.RNN(5, 2, nonlinearity="relu", bias=False)
        self.register_buffer("scratch", torch.ones(1, 2, 2))

    def forward(self, x, h):
        y, (last, cells) = self.lstm(x)
        y, state = self.gru(y.transpose(0, 1), h)
        self.scratch.copy_(y[:1, :, :2])
        y, end = self.rnn(y, self.scratch)
        return y, last, cells, state, end


recurrent = Recurrent().eval()
x, h = torch.randn(2, 4, 3), torch.randn(1, 2, 5)
torch.export.save(torch.export.export(recurrent, (x, h)), HERE / "recurrent.pt2")
rewrite(HERE / "recurrent.pt2", HERE / "recurrent.pt2", relative)
with torch.no_grad():
    np.savez(HERE / "recurrent.npz", x=x.numpy(), h=h.numpy(), **{f"y{i}": y.numpy() for i, y in enumerate(recurrent(x, h))})


def newer(name, data):
    return data.replace(b'"major": 8', b'"major": 9') if name.endswith("model.json") else data


def short(name, data):
    return data[:-4] if name.endswith("weight_0") else data


def missing(name, data):
    return None if name.endswith("weight_0") else data


def unknown(name, data):
    return data.replace(b"torch.ops.aten.relu.default", b"torch.ops.mine.frob.default") if name.endswith("model.json") else data


rewrite(HERE / "net.pt2", HERE / "newer.pt2", newer)
rewrite(HERE / "net.pt2", HERE / "short.pt2", short)
rewrite(HERE / "net.pt2", HERE / "missing.pt2", missing)
rewrite(HERE / "net.pt2", HERE / "unknown.pt2", unknown)

net.count.zero_()  # the program's state is the module's
# the layouts of torch 2.5 to 2.8: weights as one torch.save file, in the archive's folder or flat
with zipfile.ZipFile(HERE / "net.pt2") as a:
    folder = a.namelist()[0].split("/")[0]
    state, constants = io.BytesIO(), io.BytesIO()
    torch.save(dict(program.state_dict), state)
    torch.save(dict(program.constants), constants)
    model = a.read(f"{folder}/models/model.json")
    with zipfile.ZipFile(HERE / "net_pickled.pt2", "w") as b:
        for name, data in ((f"{folder}/models/model.json", model), (f"{folder}/data/weights/model.pt", state.getvalue()),
                           (f"{folder}/data/constants/model.pt", constants.getvalue()), (f"{folder}/archive_format", b"pt2")):
            b.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)
    with zipfile.ZipFile(HERE / "net_flat.pt2", "w") as b:
        for name, data in (("serialized_exported_program.json", model), ("serialized_state_dict.pt", state.getvalue()),
                           ("serialized_constants.pt", constants.getvalue()), ("version", b"8.20")):
            b.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)


class Tiny(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


torch.export.save(torch.export.export(Tiny(), (torch.ones(2),)), HERE / "tiny.pt2")
with zipfile.ZipFile(HERE / "tiny.pt2") as a:
    kept = {n for n in a.namelist() if "sample_inputs" not in n and "/." not in n}
rewrite(HERE / "tiny.pt2", HERE / "tiny.pt2", lambda name, data: relative(name, data) if name in kept else None)

# other weights for net.pt2, as a trainer writes them: safetensors, names wrapped by DataParallel
header, data = {}, b""
for name, t in program.state_dict.items():
    raw = (t.float() * 0.5).contiguous().detach().numpy().tobytes() if t.is_floating_point() else t.numpy().tobytes()
    kind = "F32" if t.is_floating_point() else "I64"
    header["module." + name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
(HERE / "net.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
