# SPDX-License-Identifier: Apache-2.0
"""Rows that compare bytes: integer module, simulator, ONNX Runtime through the function bodies; the same artifact from different
threads, instruction sets and compilers; and every ONNX file of OUT through ONNX's checker."""

import numpy as np

import check_onnx
import common
import int_module_ort
from npuc import module_input, sha256
from row import Row
from rows_resnet import MAIN, PREPROCESS, build, test_images

DEMO_PREPROCESS = "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25"


def floats(context, count):
    return common.preprocess(test_images(context, count)[0], PREPROCESS)


def module(folder):
    return folder / f"5-quantize.{MAIN}.onnx"


def artifact(folder):
    return folder / f"6-build.{MAIN}" / "model.npu"


def simulator_bytes(context):
    folder = build(context, 20)
    count, partial = context.limited(1000)
    name, inputs = module_input(module(folder), floats(context, count))
    _, graph = context.npuc.run(f"{folder}@quantize.{MAIN}", {name: inputs}, context.work / "module")
    _, machine = context.npuc.run(artifact(folder), {name: inputs}, context.work / "simulator", "--engine", "simulator")
    (a,), (b,) = graph.values(), machine.values()
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype} {a.shape} and {b.dtype} {b.shape}", False
    different = int((a != b).sum())
    varied = len(np.unique(a)) > 10  # constant outputs would be equal too
    return f"{a.nbytes} bytes, {different} differ", None if partial else different == 0 and varied and len(a) == count


def intermediate_bytes(context):
    folder = build(context, 20)
    name, inputs = module_input(module(folder), floats(context, 10))
    place = context.work / "intermediate"
    place.mkdir(exist_ok=True)
    np.save(place / "inputs.npy", inputs)
    document = context.npuc("diff", f"{folder}@quantize.{MAIN}", artifact(folder), "-i", f"{name}={place / 'inputs.npy'}",
                            "--samples", 10, "--nodes", "--atol", 0)
    nodes = document.get("nodes", [])
    worst = max((entry["max_abs"] for entry in [*nodes, *document["outputs"]]), default=None)
    return f"{len(nodes)} tensors, largest difference {worst}", document["pass"] and worst == 0 and len(nodes) > 20


def bodies(context):
    folder = build(context, 20)
    count, partial = context.limited(100)
    name, inputs = module_input(module(folder), floats(context, count))
    _, outputs = context.npuc.run(f"{folder}@quantize.{MAIN}", {name: inputs}, context.work / "bodies")
    (ours,) = outputs.values()
    size, different, _ = int_module_ort.compare(module(folder), inputs, ours)
    return f"{size} bytes, {different} differ", None if partial else different == 0


def demo_artifact(context, npuc, name, threads=None, environment=None):
    """The demo network compiled into a folder of its own: the hash of its .npu."""
    folder = context.work / "same" / name
    folder.parent.mkdir(exist_ok=True)
    npuc("compile", context.demo / "model.onnx", "-t", MAIN, "-o", folder, "--force", "--calib", context.demo / "calib.npy",
         "--eval", context.demo / "test.npy", "--preprocess", DEMO_PREPROCESS, threads=threads, environment=environment)
    return sha256(artifact(folder))


def same_bytes(context):
    hashes = {
        "first": demo_artifact(context, context.npuc, "first"),
        "second": demo_artifact(context, context.npuc, "second"),
        "1 thread": demo_artifact(context, context.npuc, "threads1", threads=1),
        "2 threads": demo_artifact(context, context.npuc, "threads2", threads=2),
        "scalar": demo_artifact(context, context.npuc, "scalar", environment={"NPUC_CPU": "scalar"}),
    }
    if context.other:
        hashes["other compiler"] = demo_artifact(context, context.other, "compiler")
    odd = [name for name, value in hashes.items() if value != hashes["first"]]
    return f"{len(hashes)} builds ({', '.join(hashes)}), different: {', '.join(odd) or 'none'}", not odd


def same_bytes_resnet(context):
    """The real network: 1 and 2 threads, and the scalar level, where its speed allows it (--limit leaves it out)."""
    first = sha256(artifact(build(context, 20)))
    hashes = {}
    for name, threads, environment in (("threads1", 1, None), ("threads2", 2, None), ("scalar", None, {"NPUC_CPU": "scalar"})):
        folder = context.work / "same" / f"resnet20-{name}"
        folder.parent.mkdir(exist_ok=True)
        context.npuc("compile", context.shared / "resnet-cifar10/resnet20.onnx", "-t", MAIN, "-o", folder, "--force", "--calib",
                     f"cifar10:{context.shared}/cifar10/calib_train_1000.bin", "--preprocess", PREPROCESS, threads=threads, environment=environment)
        hashes[name] = sha256(artifact(folder))
    odd = [name for name, value in hashes.items() if value != first]
    return f"different from the first: {', '.join(odd) or 'none'} of {', '.join(hashes)}", not odd


def checker(context):
    """Every stage's model of every network built so far in this work folder."""
    quiet = common.Tally()
    folders = sorted(p for p in (context.work / "out").iterdir() if p.is_dir()) if (context.work / "out").exists() else []
    for folder in folders or [build(context, 20)]:
        check_onnx.check(quiet, folder)
    return f"{quiet.passed} accepted, {quiet.failed} refused", quiet.failed == 0


def rows():
    yield Row("simulator-resnet20", "1,000 images, every byte equal", simulator_bytes)
    yield Row("intermediate-resnet20", "10 images, every tensor equal", intermediate_bytes)
    yield Row("bodies-resnet20", "100 images in ONNX Runtime, every byte equal", bodies)
    yield Row("same-bytes-demo", "two runs, threads, ISA, compilers: one .npu", same_bytes)
    yield Row("same-bytes-resnet20", "1 and 2 threads, scalar: one .npu", same_bytes_resnet)
    yield Row("onnx-checker", "every .onnx of every OUT accepted", checker)
