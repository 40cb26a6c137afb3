# SPDX-License-Identifier: Apache-2.0
"""Another network's weights in an exported graph, in every form in which they come; right values are torch's."""

import json
import struct

import npuc
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


def make(seed, width=8):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.Flatten(), nn.Linear(width * 36, 5))
    with torch.no_grad():
        for _ in range(3):
            net(torch.randn(16, 3, 8, 8) * (seed + 1) + seed)
    return net.eval()


def save_safetensors(tensors, path):
    header, data = {}, b""
    for name, t in tensors.items():
        raw = t.contiguous().numpy().tobytes()
        kind = {torch.float32: "F32", torch.float16: "F16", torch.int64: "I64"}[t.dtype]
        header[name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def shards(tensors, folder, save, stem, suffix):
    names = list(tensors)
    weight_map = {}
    for i, part in enumerate((names[::2], names[1::2])):
        file = f"{stem}-{i + 1:05}-of-00002{suffix}"
        save({n: tensors[n] for n in part}, folder / file)
        weight_map |= {n: file for n in part}
    (folder / f"{stem}{suffix}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    path = tmp_path_factory.mktemp("first") / "first.pt2"
    torch.export.save(torch.export.export(make(0), (torch.randn(1, 3, 8, 8),)), path)
    return path


FORMS = {
    "torch.save": lambda s, p: torch.save(s, p / "w.pth") or p / "w.pth",
    "legacy": lambda s, p: torch.save(s, p / "w.pth", _use_new_zipfile_serialization=False) or p / "w.pth",
    "checkpoint": lambda s, p: torch.save({"epoch": 3, "state_dict": {"module." + k: v for k, v in s.items()}}, p / "w.ckpt") or p / "w.ckpt",
    "compiled": lambda s, p: torch.save({"model": {"_orig_mod." + k: v for k, v in s.items()}, "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}}}, p / "w.pt") or p / "w.pt",
    "average": lambda s, p: torch.save({"ema": {"module." + k: v for k, v in s.items()}}, p / "w.pt") or p / "w.pt",
    "safetensors": lambda s, p: save_safetensors(s, p / "w.safetensors") or p / "w.safetensors",
    "half": lambda s, p: save_safetensors({k: v.half() if v.is_floating_point() else v for k, v in s.items()}, p / "w.safetensors") or p / "w.safetensors",
    "sharded safetensors": lambda s, p: shards(s, p, save_safetensors, "model", ".safetensors") or p,
    "sharded torch": lambda s, p: shards(s, p, torch.save, "pytorch_model", ".bin") or p / "pytorch_model.bin.index.json",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(first, form, tmp_path):
    second, x = make(1), torch.randn(1, 3, 8, 8)
    path = FORMS[form](second.state_dict(), tmp_path)
    wanted = second(x).detach()
    tolerance = 5e-3 if form == "half" else 1e-5
    assert torch.allclose(npuc.import_model(first, state_dict=path)(x), wanted, atol=tolerance, rtol=tolerance)
    assert not torch.allclose(npuc.import_model(first)(x), wanted, atol=0.05)  # control: the graph's own weights


def test_compile_remembers_the_weights(first, tmp_path):
    second, x = make(1), torch.randn(64, 3, 8, 8) + 1
    torch.save(second.state_dict(), tmp_path / "w.pth")
    arguments = {"calibration": x, "output": tmp_path / "out", "state_dict": tmp_path / "w.pth"}
    built = npuc.compile(first, **arguments)
    wanted = second(x).detach()
    assert ((built(x) - wanted) ** 2).mean() < (wanted**2).mean() / 100
    torch.save(make(0).state_dict(), tmp_path / "w.pth")  # other content: every stage is done again
    seen = []
    npuc.compile(first, **arguments, progress=seen.append)
    assert "kept" not in {p.what for p in seen if p.stage}


def test_what_does_not_fit_is_refused(first, tmp_path):
    path = tmp_path / "w.pth"
    state = make(1).state_dict()
    cases = {
        "missing: 4.bias": {k: v for k, v in state.items() if k != "4.bias"},
        r"4.weight \(graph float32\[5,288\], file float32\[5,144\]\)": make(1, 4).state_dict() | {"0.weight": state["0.weight"]},
        "0 of the graph": {"other." + k: v for k, v in state.items()},
    }
    for reason, tensors in cases.items():
        torch.save(tensors, path)
        with pytest.raises(npuc.NpucError, match=reason) as caught:
            npuc.import_model(first, state_dict=path)
        assert caught.value.code == "NPUC-E0341" and caught.value.kind is npuc.Kind.USAGE
