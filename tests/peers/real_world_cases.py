# SPDX-License-Identifier: Apache-2.0
"""Public bug reports against other toolchains as small fixtures for npuc's own tests, in tests/data/cases/.

    python real_world_cases.py [--out DIR]          write them
    python real_world_cases.py --check              are the committed ones what this script makes, and do the judges agree?

A case folder holds model.onnx.txt (ONNX text), the same as model.onnx, input_NAME.npy and output_NAME.npy (the right values), and where a known wrong
answer exists wrong_NAME.npy, which a test must refuse. Right values are computed here in float64 from the operator's formula or by
PyTorch; ONNX Runtime and ONNX's reference evaluator must agree before anything is written.
"""

import argparse
import filecmp
import pathlib
import tempfile
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx.parser
import torch
from onnx.reference import ReferenceEvaluator
from torch.nn import functional

import common

HOME = pathlib.Path(__file__).resolve().parent.parent / "data" / "cases"


@dataclass
class Case:
    text: str
    inputs: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)
    wrong: dict = field(default_factory=dict)
    tolerance: float = 1e-6  # of the largest right value, for the judges
    judges: tuple = ("ort", "reference")


def rng(seed):
    return np.random.Generator(np.random.PCG64(seed))


def literal(name, array):
    """A tensor in ONNX text, every value as the shortest decimal that reads back to the same float32."""
    kind = {"float32": "float", "int64": "int64"}[array.dtype.name]
    dims = ",".join(map(str, array.shape))
    return f"{kind}[{dims}] {name} = {{{', '.join(str(v) for v in array.ravel())}}}"


def document(signature, weights, body, opset=18):
    """ONNX text of a model: `signature` is `name (inputs) => (outputs)`, `weights` name -> array, `body` lines of nodes."""
    initializers = ",\n   ".join(literal(name, array) for name, array in weights.items())
    held = f"\n<\n   {initializers}\n>" if weights else ""
    lines = "\n".join(f"   {line}" for line in body)
    return f'<ir_version: 8, opset_import: ["" : {opset}]>\n{signature}{held}\n{{\n{lines}\n}}\n'


def f32(values):
    return np.asarray(values, np.float32)


def p10():
    x = f32(np.arange(1, 17)).reshape(1, 1, 4, 4)
    text = document("pool (float[1,1,4,4] x) => (float[1,1,3,3] y)", {}, [
        "y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1, count_include_pad = 1> (x)"])
    right = functional.avg_pool2d(torch.from_numpy(x), 3, 2, 1, ceil_mode=True, count_include_pad=True).numpy()
    told = f32([1.5556, 3.3333, 2.0, 6.3333, 11.0, 6.0, 4.5, 7.5, 4.0]).reshape(1, 1, 3, 3)
    assert np.abs(right - told).max() < 1e-4
    wrong = right.copy()  # as ONNX Runtime before 1.32: the last row and column divided by 9
    wrong[0, 0, :2, 2] *= f32(6 / 9)
    wrong[0, 0, 2, :2] *= f32(6 / 9)
    wrong[0, 0, 2, 2] *= f32(4 / 9)
    return {"P10": Case(text, {"x": x}, {"y": right}, {"y": wrong})}


def p12():
    """Length 9 padded to 15; windows of 7 start at 0, 3, 6, 9: the last holds 6 elements of the padded extent, 3 of them data."""
    x = rng(12).normal(size=(1, 2, 9)).astype(np.float32)
    text = document("pool (float[1,2,9] x) => (float[1,2,4] y)", {}, [
        "y = AveragePool <kernel_shape = [7], strides = [3], pads = [3, 3], ceil_mode = 1, count_include_pad = 1> (x)"])
    right = functional.avg_pool1d(torch.from_numpy(x), 7, 3, 3, ceil_mode=True, count_include_pad=True).numpy()
    wrong = right.copy()
    wrong[:, :, -1] *= f32(6 / 7)
    return {"P12": Case(text, {"x": x}, {"y": right}, {"y": wrong})}


def p43():
    g = rng(43)
    x = g.normal(1, 2, (2, 3, 4, 4)).astype(np.float32)
    scale, bias, mean = (g.normal(size=3).astype(np.float32) for _ in range(3))
    var = g.uniform(0.5, 2, 3).astype(np.float32)
    parameters = {"scale": scale, "bias": bias, "mean": mean, "var": var}

    def normal(m, v):
        spread = lambda a: a.astype(np.float64).reshape(1, 3, 1, 1)
        return f32((x - spread(m)) / np.sqrt(spread(v) + 1e-5) * spread(scale) + spread(bias))

    signature = "norm (float[2,3,4,4] x) => (float[2,3,4,4] y)"
    line = "y{} = BatchNormalization <epsilon = 0.00001, training_mode = {}> (x, scale, bias, mean, var)"
    right = normal(mean, var)
    batch = normal(x.mean((0, 2, 3)), x.var((0, 2, 3)))
    training = document(signature, parameters, [line.format(", new_mean, new_var", 1)])
    return {
        "P43": Case(document(signature, parameters, [line.format("", 0)]), {"x": x}, {"y": right}, {"y": batch}, 1e-5),
        "P43-training": Case(training, judges=()),
    }


def p44():
    g = rng(44)
    x = g.normal(size=(1, 2, 6, 6)).astype(np.float32)
    w3, w5 = g.normal(size=(2, 2, 3, 3)).astype(np.float32), g.normal(size=(2, 2, 5, 5)).astype(np.float32)

    def convolved(pads, w):
        widths = [(pads[i], pads[i + 4]) for i in range(4)]
        padded = np.pad(x.astype(np.float64), widths)
        return f32(functional.conv2d(torch.from_numpy(padded), torch.from_numpy(w.astype(np.float64))).numpy())

    def shape(a):
        return ",".join(map(str, a.shape))

    def two(pads):
        a, b = convolved(pads, w3), convolved(pads, w5)
        text = document(
            f"pads (float[1,2,6,6] x) => (float[{shape(a)}] a, float[{shape(b)}] b)",
            {"pads": np.array(pads, np.int64), "w3": w3, "w5": w5},
            ["padded = Pad (x, pads)", "a = Conv <kernel_shape = [3, 3]> (padded, w3)", "b = Conv <kernel_shape = [5, 5]> (padded, w5)"])
        return Case(text, {"x": x}, {"a": a, "b": b}, tolerance=1e-5)

    sole = [0, 0, 1, 2, 0, 0, 1, 2]
    y = convolved(sole, w3)
    fused = document(f"pads (float[1,2,6,6] x) => (float[{shape(y)}] y)", {"pads": np.array(sole, np.int64), "w3": w3},
                     ["padded = Pad (x, pads)", "y = Conv <kernel_shape = [3, 3]> (padded, w3)"])
    return {
        "P44": two([2, 0, 2, 0, 2, 0, 2, 0]),  # of the batch and the rows: never into a convolution
        "P44-spatial": two([0, 0, 2, 2, 0, 0, 2, 2]),  # two consumers
        "P44-sole": Case(fused, {"x": x}, {"y": y}, tolerance=1e-5),  # this one may
    }


def p46():
    """The variances are as small as epsilon, so that a fold that forgets epsilon is wrong by far more than rounding."""
    g = rng(46)
    x = g.normal(size=(2, 3, 7, 7)).astype(np.float32)
    w = g.normal(0, 0.2, (4, 3, 3, 3)).astype(np.float32)
    parameters = {name: g.normal(size=4).astype(np.float32) for name in ("bias", "scale", "shift", "mean")}
    var = g.uniform(5e-4, 2e-3, 4).astype(np.float32)

    def folded(epsilon):
        wide = {name: torch.from_numpy(a.astype(np.float64)) for name, a in {**parameters, "w": w, "x": x, "var": var}.items()}
        y = functional.conv2d(wide["x"], wide["w"], wide["bias"], padding=1)
        y = functional.batch_norm(y, wide["mean"], wide["var"], wide["scale"], wide["shift"], eps=epsilon)
        return f32(y.numpy())

    text = document("fold (float[2,3,7,7] x) => (float[2,4,7,7] y)", {"w": w, **parameters, "var": var}, [
        "c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, bias)",
        "y = BatchNormalization <epsilon = 0.001> (c, scale, shift, mean, var)"])
    return {"P46": Case(text, {"x": x}, {"y": folded(1e-3)}, {"y": folded(1e-9)}, 1e-5)}


def p60():
    """A depthwise convolution whose channels range 100:1. With one scale for all, the small channels have few levels left. In P60-balanced
    a multiplication brings the channels to one range again, as batch norm does."""
    g = rng(60)
    x = g.uniform(-1, 1, (4, 8, 8, 8)).astype(np.float32)
    ranges = np.logspace(0, -2, 8)
    w = (g.uniform(-1, 1, (8, 1, 3, 3)) * ranges.reshape(8, 1, 1, 1)).astype(np.float32)
    scale = (1 / ranges).astype(np.float32).reshape(1, 8, 1, 1)
    step = np.abs(w).max() / 127

    def run(weights, factor=1):
        y = functional.conv2d(torch.from_numpy(x.astype(np.float64)), torch.from_numpy(weights.astype(np.float64)), padding=1, groups=8)
        return f32(y.numpy() * factor)

    coarse = np.round(w / step) * step  # per tensor: what per-channel scales must beat
    signature = "depthwise (float[N,8,8,8] x) => (float[N,8,8,8] y)"
    line = "{} = Conv <group = 8, kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)"
    plain = document(signature, {"w": w}, [line.format("y")])
    balanced = document(signature, {"w": w, "scale": scale}, [line.format("c"), "y = Mul (c, scale)"])
    return {
        "P60": Case(plain, {"x": x}, {"y": run(w)}, {"y": run(coarse)}, 1e-5),
        "P60-balanced": Case(balanced, {"x": x}, {"y": run(w, scale)}, {"y": run(coarse, scale)}, 1e-5),
    }


def p62():
    """Weights of 1e-7 with an input step of 0.5: at the weights' own scale the bias 5 would be 1.275e10 steps."""
    grid = np.arange(-128, 128).reshape(4, 1, 8, 8)
    x = f32(grid * 0.5)
    w = f32([1e-7, -0.6e-7]).reshape(2, 1, 1, 1)
    bias = f32([5, -4.5])
    text = document("tiny (float[N,1,8,8] x) => (float[N,2,8,8] y)", {"w": w, "bias": bias}, ["y = Conv <kernel_shape = [1, 1]> (x, w, bias)"])
    right = f32(x.astype(np.float64) * w.reshape(1, 2, 1, 1).astype(np.float64) + bias.reshape(1, 2, 1, 1))
    steps = 5 / (0.5 * 7.843e-10)
    assert steps > 2**31, steps
    wrapped = np.array([steps, -4.5 / (0.5 * 7.843e-10)]).astype(np.int64).astype(np.int32)  # what narrowing makes of it
    wrong = f32(x.astype(np.float64) * w.reshape(1, 2, 1, 1) + (wrapped * 0.5 * 7.843e-10).reshape(1, 2, 1, 1))
    return {"P62": Case(text, {"x": x}, {"y": right}, {"y": wrong})}


def p66():
    """x [N, length, channels] through a convolution over the length with ReLU, added to x itself; x is mostly negative. An
    observer shared along the addition would give the ReLU's output negative range and cost it a bit."""
    g = rng(66)
    x = g.normal(-1.5, 1, (16, 12, 6)).astype(np.float32)
    w, bias = g.normal(0, 0.3, (6, 6, 3)).astype(np.float32), g.normal(size=6).astype(np.float32)
    text = document("residual (float[N,12,6] x) => (float[N,12,6] y)", {"w": w, "bias": bias}, [
        "t = Transpose <perm = [0, 2, 1]> (x)", "c = Conv <kernel_shape = [3], pads = [1, 1]> (t, w, bias)", "r = Relu (c)",
        "back = Transpose <perm = [0, 2, 1]> (r)", "y = Add (x, back)"])
    wide = torch.from_numpy(x.astype(np.float64)).permute(0, 2, 1)
    y = functional.conv1d(wide, torch.from_numpy(w.astype(np.float64)), torch.from_numpy(bias.astype(np.float64)), padding=1)
    right = f32(x + functional.relu(y).permute(0, 2, 1).numpy())
    return {"P66": Case(text, {"x": x}, {"y": right}, tolerance=1e-5)}


def all_cases():
    cases = {}
    for make in (p10, p12, p43, p44, p46, p60, p62, p66):
        cases.update(make())
    return cases


def judge(name, case, tally):
    """The text parses and checks, and every judge computes the right values from it (and not the wrong ones)."""
    model = onnx.parser.parse_model(case.text)
    onnx.checker.check_model(model, full_check=True)
    runs = {"ort": lambda: common.session(model.SerializeToString()).run(list(case.outputs), case.inputs),
            "reference": lambda: ReferenceEvaluator(model).run(list(case.outputs), case.inputs)}
    for who in case.judges:
        for output, got in zip(case.outputs, runs[who]()):
            apart, most = distance(got, case.outputs[output]), case.tolerance
            tally.check(apart <= most, f"{name} {output}: {who} is {apart:.1e} of the largest value apart (at most {most:.0e})")
    for output, values in case.wrong.items():
        apart = distance(values, case.outputs[output])
        tally.check(apart > 100 * case.tolerance, f"{name} {output}: the wrong answer is told from the right one ({apart:.1e})")
    if not case.judges:
        tally.check(True, f"{name}: parses and checks; no values, npuc must refuse it")


def distance(got, wanted):
    if got.shape != wanted.shape:
        return np.inf
    return float(np.abs(got.astype(np.float64) - wanted).max() / np.abs(wanted).max())


def write(name, case, out):
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx.txt").write_text(case.text)
    (folder / "model.onnx").write_bytes(onnx.parser.parse_model(case.text).SerializeToString(deterministic=True))
    for kind, arrays in (("input", case.inputs), ("output", case.outputs), ("wrong", case.wrong)):
        for value, array in arrays.items():
            np.save(folder / f"{kind}_{value}.npy", array)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=HOME)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    tally = common.Tally()
    with tempfile.TemporaryDirectory() as scratch:
        for name, case in all_cases().items():
            judge(name, case, tally)
            write(name, case, pathlib.Path(scratch) if args.check else args.out)
            if args.check:
                made = sorted(p.name for p in (pathlib.Path(scratch) / name).iterdir())
                _, different, missing = filecmp.cmpfiles(pathlib.Path(scratch) / name, HOME / name, made, shallow=False)
                tally.check(not different and not missing, f"{name}: committed files are as made {different + missing or ''}")
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
