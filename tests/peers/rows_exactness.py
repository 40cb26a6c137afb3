# SPDX-License-Identifier: Apache-2.0
"""Rows that compare bytes: integer module, simulator, ONNX Runtime through the function bodies; the same artifact from different
threads, instruction sets and compilers; and every ONNX file of OUT through ONNX's checker."""

import shutil

import numpy as np
import onnx

import check_onnx
import common
import int_module_ort
from npuc import module_input, sha256
from row import Row
from rows_resnet import MAIN, PREPROCESS, build, calibration, module_outputs, test_images

DEMO_PREPROCESS = "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25"


def module(folder):
    return folder / f"5-quantize.{MAIN}.onnx"


def artifact(folder):
    return folder / f"6-build.{MAIN}" / "model.npu"


def simulator_bytes(context):
    folder = build(context, 20)
    count, partial = context.limited(1000)
    name, inputs, graph = module_outputs(context, count)
    machine = context.npuc.run_each(artifact(folder), name, inputs, context.work / "simulator", "--engine", "simulator")["logits"]
    if graph.dtype != machine.dtype or graph.shape != machine.shape:
        return f"{graph.dtype} {graph.shape} and {machine.dtype} {machine.shape}", False
    different = int((graph != machine).sum())
    varied = len(np.unique(graph)) > 10  # constant outputs would be equal too
    return f"{graph.nbytes} bytes, {different} differ", None if partial else different == 0 and varied and len(graph) == count


def observed_model(folder):
    """The float model before quantization with every value that the integer module has made an output: the machine must write each of them
    out. (What the quantizer fuses stays fused: only values between integer operators are taken.)"""
    integer = onnx.load(str(module(folder)), load_external_data=False)
    model = onnx.load(str(folder / f"4-adapt.{MAIN}.onnx"), load_external_data=False)
    shapes = {info.name: info for info in model.graph.value_info}
    outputs = {output.name for output in model.graph.output}
    computed = {name for node in model.graph.node for name in node.output}
    hidden = [name for node in integer.graph.node for name in node.output if name in computed - outputs]
    model.graph.output.extend(shapes[name] for name in hidden)
    path = folder / "observed.onnx"  # beside the weights that it refers to
    path.write_bytes(model.SerializeToString())
    return path, len(hidden) + 1


def intermediate_bytes(context):
    copied = context.work / "observed" / "source"
    shutil.rmtree(copied.parent, ignore_errors=True)
    shutil.copytree(build(context, 20), copied)
    path, count = observed_model(copied)
    folder = context.compile("resnet20-observed", path, [MAIN], *calibration(context), "--max-drop", "100")
    name, inputs = module_input(module(folder), common.preprocess(test_images(context, 10)[0], PREPROCESS))
    graph = context.npuc.run_each(f"{folder}@quantize", name, inputs, context.work / "observed")
    machine = context.npuc.run_each(artifact(folder), name, inputs, context.work / "observed", "--engine", "simulator")
    different = [key for key in machine if key not in graph or machine[key].dtype != graph[key].dtype or not np.array_equal(machine[key], graph[key])]
    size = sum(array.nbytes for array in machine.values())
    return f"{len(machine)} tensors, {size} bytes, different: {', '.join(different) or 'none'}", not different and len(machine) == count and count > 20


def bodies(context):
    count, partial = context.limited(100)
    _, inputs, ours = module_outputs(context, count)
    size, different, _ = int_module_ort.compare(module(build(context, 20)), inputs, ours)
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
    """The real network. Calibrated on 64 images, for the scalar level is slow."""
    place = context.work / "same"
    place.mkdir(exist_ok=True)
    calib = place / "calib64.bin"
    calib.write_bytes((context.shared / "cifar10/calib_train_1000.bin").read_bytes()[: 64 * 3073])
    hashes = {}
    for name, npuc, threads, environment in (
        ("best", context.npuc, None, None), ("1 thread", context.npuc, 1, None), ("2 threads", context.npuc, 2, None),
        ("scalar", context.npuc, None, {"NPUC_CPU": "scalar"}), ("other compiler", context.other, None, None),
    ):
        if npuc is None:
            continue
        folder = place / f"resnet20-{name.replace(' ', '-')}"
        npuc("compile", context.shared / "resnet-cifar10/resnet20.onnx", "-t", MAIN, "-o", folder, "--force", "--calib",
             f"cifar10:{calib}", "--preprocess", PREPROCESS, threads=threads, environment=environment)
        hashes[name] = sha256(artifact(folder))
    odd = [name for name, value in hashes.items() if value != hashes["best"]]
    return f"{len(hashes)} builds ({', '.join(hashes)}), different: {', '.join(odd) or 'none'}", not odd


def checker(context):
    """Every stage's model of every network built so far in this work folder."""
    quiet = common.Quiet()
    folders = sorted(p for p in (context.work / "out").iterdir() if p.is_dir()) if (context.work / "out").exists() else []
    for folder in folders or [build(context, 20)]:
        check_onnx.check(quiet, folder)
    return f"{quiet.passed} accepted, {quiet.failed} refused", quiet.failed == 0


def rows():
    yield Row("simulator-resnet20", "1,000 images, every byte equal", simulator_bytes)
    yield Row("intermediate-resnet20", "10 images, every tensor equal", intermediate_bytes)
    yield Row("bodies-resnet20", "100 images in ONNX Runtime, every byte equal", bodies)
    yield Row("same-bytes-demo", "two runs, threads, ISA, compilers: one .npu", same_bytes)
    yield Row("same-bytes-resnet20", "threads, ISA, compilers: one .npu", same_bytes_resnet)
    yield Row("onnx-checker", "every .onnx of every OUT accepted", checker)
