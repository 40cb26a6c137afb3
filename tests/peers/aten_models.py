#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole networks with random weights, as torch exports them, run by npuc, against torch: aten_ops.py's comparison on models.

    aten_models.py --npuc build/npuc --work DIR [--only WORD]

Those of transformers are left out, by name, where that package is not there.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import aten_ops
from aten_case import real, whole


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.a, self.b = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.na, self.nb = nn.BatchNorm2d(o), nn.BatchNorm2d(o)
        self.skip = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if stride > 1 or i != o else nn.Identity()

    def forward(self, x):
        y = F.relu(self.na(self.a(x)), inplace=True)
        y = self.nb(self.b(y))
        y += self.skip(x)
        return F.relu(y, inplace=True)


def resnet18():
    widths, layers, i = (16, 32, 64, 128), [nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 16
    for k, w in enumerate(widths):
        layers += [Residual(i, w, 2 if k else 1), Residual(w, w, 1)]
        i = w
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, 10))


class Inverted(nn.Module):
    def __init__(self, i, o, stride, expand):
        super().__init__()
        h = i * expand
        self.same = stride == 1 and i == o
        self.body = nn.Sequential(nn.Conv2d(i, h, 1, bias=False), nn.BatchNorm2d(h), nn.ReLU6(inplace=True),
                                  nn.Conv2d(h, h, 3, stride, 1, groups=h, bias=False), nn.BatchNorm2d(h), nn.ReLU6(inplace=True),
                                  nn.Conv2d(h, o, 1, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


def mobilenet_v2():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(), Inverted(8, 12, 2, 6), Inverted(12, 12, 1, 6), Inverted(12, 20, 2, 6),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(20, 10))


class SqueezeExcite(nn.Module):
    """MobileNetV3's and EfficientNet's."""

    def __init__(self, c):
        super().__init__()
        self.down, self.up, self.conv = nn.Conv2d(c, 4, 1), nn.Conv2d(4, c, 1), nn.Conv2d(c, c, 5, padding=2, groups=c)

    def forward(self, x):
        y = F.hardswish(self.conv(x))
        s = y.mean((2, 3), keepdim=True)
        return y * F.hardsigmoid(self.up(F.silu(self.down(s)))) + x


class MBConv(nn.Module):
    """MobileNetV3's and EfficientNet's block: expand, depthwise, squeeze and excite, project."""

    def __init__(self, i, o, kernel, stride, act, gate):
        super().__init__()
        h = 4 * i
        self.same = stride == 1 and i == o
        self.expand = nn.Sequential(nn.Conv2d(i, h, 1, bias=False), nn.BatchNorm2d(h), act(), nn.Conv2d(h, h, kernel, stride, kernel // 2, groups=h, bias=False), nn.BatchNorm2d(h), act())
        self.excite = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(h, i, 1), act(), nn.Conv2d(i, h, 1), gate())
        self.project = nn.Sequential(nn.Conv2d(h, o, 1, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = self.expand(x)
        y = self.project(y * self.excite(y))
        return x + y if self.same else y


def mbconv_net(act, gate):
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), act(), MBConv(16, 16, 3, 1, act, gate), MBConv(16, 24, 5, 2, act, gate), MBConv(24, 24, 5, 1, act, gate),
                         nn.Conv2d(24, 48, 1, bias=False), nn.BatchNorm2d(48), act(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10))


class YoloHead(nn.Module):
    """Two scales of features, a neck that joins them, and for each the boxes' distributions and the classes, as YOLOv8 ends."""

    def __init__(self, c=16, classes=4, bins=8):
        super().__init__()
        conv = lambda i, o, k=3, s=1: nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU(inplace=True))
        self.a, self.b, self.join = conv(3, c, 3, 2), conv(c, c, 3, 2), conv(2 * c, c)
        self.box = nn.ModuleList(nn.Sequential(conv(c, c), nn.Conv2d(c, 4 * bins, 1)) for _ in range(2))
        self.classes = nn.ModuleList(nn.Sequential(conv(c, c), nn.Conv2d(c, classes, 1)) for _ in range(2))
        self.bins = bins
        self.register_buffer("steps", torch.arange(bins, dtype=torch.float32))

    def forward(self, x):
        a = self.a(x)
        b = self.b(a)
        a = self.join(torch.cat((F.interpolate(b, scale_factor=2.0, mode="nearest"), a), 1))
        out = []
        for f, box, cls in zip((a, b), self.box, self.classes):
            d = box(f).flatten(2).unflatten(1, (4, self.bins)).softmax(2)
            out.append(torch.cat(((d * self.steps.view(1, 1, -1, 1)).sum(2), cls(f).flatten(2).sigmoid()), 1))
        return torch.cat(out, 2)


class Conformer(nn.Module):
    """One block: half a feed-forward, attention, convolution, half a feed-forward."""

    def __init__(self, d=32):
        super().__init__()
        forward = lambda: nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d))
        self.first, self.last, self.norm, self.out = forward(), forward(), nn.LayerNorm(d), nn.LayerNorm(d)
        self.attention = nn.MultiheadAttention(d, 4, batch_first=True)
        self.point, self.depth, self.bn, self.project = nn.Conv1d(d, 2 * d, 1), nn.Conv1d(d, d, 5, padding=2, groups=d), nn.BatchNorm1d(d), nn.Conv1d(d, d, 1)

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        y = F.glu(self.point(x.transpose(1, 2)), 1)
        x = x + self.project(F.silu(self.bn(self.depth(y)))).transpose(1, 2)
        return self.out(x + 0.5 * self.last(x))


class ConvNeXt(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.depth, self.norm, self.up, self.down = nn.Conv2d(c, c, 7, padding=3, groups=c), nn.LayerNorm(c, 1e-6), nn.Linear(c, 4 * c), nn.Linear(4 * c, c)
        self.gamma = nn.Parameter(torch.rand(c))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + (self.gamma * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.SiLU())
        self.a, self.b, self.c = block(3, 8), block(8, 16), block(16, 32)
        self.up, self.d, self.e, self.head = nn.ConvTranspose2d(32, 16, 2, 2), block(32, 16), block(24, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.avg_pool2d(b, 2))
        d = self.d(torch.cat((self.up(c), b), 1))
        e = self.e(torch.cat((F.interpolate(d, scale_factor=2, mode="bilinear", align_corners=False), a), 1))
        return self.head(e)


class ViT(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.patch, self.token, self.place = nn.Conv2d(3, d, 8, 8), nn.Parameter(torch.randn(1, 1, d)), nn.Parameter(torch.randn(1, 17, d))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(d, 4, 64, activation="gelu", batch_first=True, norm_first=True) for _ in range(2))
        self.head = nn.Linear(d, 10)

    def forward(self, x):
        y = self.patch(x).flatten(2).transpose(1, 2)
        y = torch.cat((self.token.expand(y.shape[0], -1, -1), y), 1) + self.place
        for layer in self.layers:
            y = layer(y)
        return self.head(y[:, 0])


class Attention(nn.Module):
    """Written out, as in a first tutorial."""

    def __init__(self, d=32, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64, dtype=torch.bool)))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.heads, d // self.heads).transpose(1, 2) for y in self.qkv(x).split(d, 2))
        w = (q @ k.transpose(-2, -1)) * (d // self.heads) ** -0.5
        w = F.softmax(w.masked_fill(~self.mask[:t, :t], float("-inf")), -1)
        return self.out((w @ v).transpose(1, 2).contiguous().view(b, t, d))


class WaveNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv1d(c, 2 * c, 2, dilation=2**k) for k in range(3))

    def forward(self, x):
        for k, conv in enumerate(self.convs):
            a, b = conv(F.pad(x, (2**k, 0))).chunk(2, 1)
            x = x + torch.tanh(a) * torch.sigmoid(b)
        return x


class Recurrent(nn.Module):
    """A stack, with its states as outputs, and what a user does with its last step."""

    def __init__(self, kind, **options):
        super().__init__()
        self.body = kind(6, 8, 2, **options)
        self.head = nn.Linear(16 if options.get("bidirectional") else 8, 3)

    def forward(self, x, *state):
        y, last = self.body(x, *state)
        last = last if isinstance(last, tuple) else (last,)
        return self.head(y[:, -1] if self.body.batch_first else y[-1]), y, *last


class Projected(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.LSTM(6, 8, proj_size=4)

    def forward(self, x):
        return self.body(x)[0]


class Generator(nn.Module):
    """DCGAN's."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.ConvTranspose2d(10, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
                                  nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.LeakyReLU(0.2), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.body(x.view(-1, 10, 1, 1))


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *args):
        out = self.model(*args)
        return out.logits if hasattr(out, "logits") else out.last_hidden_state


def own():
    image = real(2, 3, 32, 32)
    return [("resnet-18", resnet18(), (image,), {"int8": True}), ("mobilenet-v3", mbconv_net(nn.Hardswish, nn.Hardsigmoid), (image,), {"int8": True}),
            ("efficientnet", mbconv_net(nn.SiLU, nn.Sigmoid), (image,), {"int8": True}), ("yolo head", YoloHead(), (image,), {"int8": True}), ("conformer block", Conformer(), (real(2, 9, 32),), {}),
            ("resnet-18, dynamic batch", resnet18(), (image,), {"dynamic": True, "sizes": 3}),
            ("mobilenet-v2", mobilenet_v2(), (image,), {"int8": True}), ("squeeze and excite", SqueezeExcite(8), (real(1, 8, 9, 9),), {"int8": True}),
            ("convnext block", ConvNeXt(), (real(1, 16, 8, 8),), {"int8": True}), ("u-net", UNet(), (real(1, 3, 16, 24),), {"int8": True}), ("vit", ViT(), (image,), {}),
            ("vit, dynamic batch", ViT(), (image,), {"dynamic": True, "sizes": 4}), ("attention written out", Attention(), (real(2, 7, 32),), {}),
            ("wavenet", WaveNet(), (real(1, 8, 20),), {"int8": True}), ("dcgan generator", Generator(), (real(2, 10),), {"int8": True}),
            ("lstm", Recurrent(nn.LSTM, batch_first=True), (real(2, 5, 6),), {}),
            ("lstm, dynamic batch", Recurrent(nn.LSTM, batch_first=True), (real(2, 5, 6),), {"dynamic": True, "sizes": 3}),
            ("lstm, both directions, without biases", Recurrent(nn.LSTM, bidirectional=True, bias=False), (real(5, 2, 6),), {}),
            ("lstm, projected", Projected(), (real(5, 2, 6),), {"refused": "E0336"}),
            ("gru", Recurrent(nn.GRU), (real(5, 2, 6),), {}),
            ("gru, both directions, its state given", Recurrent(nn.GRU, bidirectional=True, batch_first=True), (real(2, 5, 6), real(4, 2, 8, seed=1)), {}),
            ("rnn", Recurrent(nn.RNN, bidirectional=True), (real(5, 2, 6),), {}),
            ("rnn, relu", Recurrent(nn.RNN, nonlinearity="relu"), (real(5, 2, 6),), {})]


def of_transformers():
    try:
        import transformers as t
    except ImportError:
        print("left out: the models of transformers, which is not there")
        return []
    small = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=50, max_position_embeddings=64)
    ids = whole(1, 7, low=0, high=50)
    causal = dict(small, num_key_value_heads=2, use_cache=False)
    return [("bert", Logits(t.BertModel(t.BertConfig(**small))), (ids,), {}),
            ("llama", Logits(t.LlamaForCausalLM(t.LlamaConfig(**causal))), (ids,), {}),
            ("gpt2", Logits(t.GPT2LMHeadModel(t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=50, n_positions=64, use_cache=False))), (ids,), {})]


def int8(npuc, work, model, inputs):
    """Exported for one sample, compiled for refnpu-n16: cosine of the integer module with the float network at least 0.99, and the simulator's bytes are the module's."""
    shape = inputs[0].shape[1:]
    model.train()
    with torch.no_grad():
        for k in range(20):  # statistics that fit the activations
            model(real(16, *shape, seed=k))
    archive, data, out = (os.path.join(work, name) for name in ("int8.pt2", "calib.npy", "out"))
    torch.export.save(torch.export.export(model.eval(), (real(1, *shape),)), archive)
    np.save(data, real(64, *shape, seed=99).numpy())
    r = subprocess.run([npuc, "compile", archive, "-t", "refnpu-n16", "--calib", data, "-o", out, "--force", "-q"], capture_output=True, text=True)
    if r.returncode:
        return f"status {r.returncode}: {r.stderr.strip()[:300]}"
    stages = json.load(open(os.path.join(out, "manifest.json")))["stages"]
    gate = {name.split(".")[0]: stage["gate"] for name, stage in stages.items()}
    cosine = min(o["cosine"] for o in gate["quantize"]["outputs"])
    simulated = gate["verify"]["simulator"]
    if cosine < 0.99:
        return f"cosine {cosine}"
    return None if simulated["tensors"] > 0 and simulated["different"] == 0 else f"the simulator differs in {simulated['different']} tensors"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npuc", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    counts = {"ok": 0, "FAIL": 0}
    for name, model, inputs, options in own() + of_transformers():
        if args.only not in name:
            continue
        for decompose in (False,) if options.get("refused") else (False, True):
            c = (name, model, inputs, options.get("refused"), options.get("dynamic"), options.get("sizes"), False, None)
            try:
                wrong = aten_ops.check(args.npuc, args.work, c, decompose, aten_ops.Seen())
            except Exception as e:  # torch could not export it
                wrong = f"{type(e).__name__}: {str(e)[:200]}"
            counts["FAIL" if wrong else "ok"] += 1
            print(f"{'FAIL' if wrong else 'ok':5}{name}{' (decomposed)' if decompose else ''}{': ' + wrong if wrong else ''}", flush=True)
        if options.get("int8"):
            wrong = int8(args.npuc, args.work, model, inputs)
            counts["FAIL" if wrong else "ok"] += 1
            print(f"{'FAIL' if wrong else 'ok':5}{name}, int8 on refnpu-n16{': ' + wrong if wrong else ''}", flush=True)
    print(f"{counts['ok']} right, {counts['FAIL']} wrong")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
