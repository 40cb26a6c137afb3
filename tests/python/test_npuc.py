# SPDX-License-Identifier: Apache-2.0
"""The package without torch: NumPy in, NumPy out. Right values are PyTorch's own (examples/demo)."""

import _thread
import pickle
import subprocess
import sys
import threading
import time
from dataclasses import FrozenInstanceError

import npuc
import numpy as np
import pytest


def top1(logits, labels):
    return int((np.asarray(logits).argmax(1) == labels).sum())


@pytest.fixture(scope="module")
def built(demo, tmp_path_factory):
    batches = [(demo.calibration[i : i + 32], "a label") for i in range(0, len(demo.calibration), 32)]
    return npuc.compile(demo.onnx, target=["refnpu-n16", "refnpu-n8"], calibration=batches, output=tmp_path_factory.mktemp("built") / "out")


def test_import_needs_no_torch():
    assert subprocess.run([sys.executable, "-c", "import sys, npuc; sys.exit('torch' in sys.modules)"]).returncode == 0


@pytest.mark.parametrize("source", ["onnx", "pt2"])
def test_model(demo, source):
    model = npuc.import_model(getattr(demo, source))
    (port,) = model.inputs
    assert port.dtype == "float32" and port.shape == (None, 3, 16, 16) and port.scale is None
    assert model.describe()["parts"][0]["parameters"] > 0
    assert np.abs(model(demo.images[:16]) - demo.logits).max() < 1e-4
    assert np.abs(model(demo.images[:16] * 1.01) - demo.logits).max() > 1e-4  # control
    assert top1(model(demo.images), demo.labels) == demo.right
    by_name = model.run(**{port.name: demo.images[:2]})
    assert list(by_name) == [p.name for p in model.outputs]
    assert np.array_equal(npuc.run(model, demo.images[:2]), next(iter(by_name.values())))


def test_arrays_are_taken_as_they_lie(demo):
    """Strides, byte order, float16's neighbours and DLPack: what is dense and on the CPU is not copied, and nothing is misread."""
    from npuc._arrays import view

    model = npuc.import_model(demo.onnx)
    x = demo.images[:4]
    wanted = model(x)
    assert view(x).address == x.ctypes.data
    channels_last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for other in (channels_last, x[::-1][::-1], x.astype(">f4"), np.asfortranarray(x)):
        assert np.array_equal(model(other), wanted)

    class Foreign:
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **k):
            return self.a.__dlpack__(**k)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    assert view(Foreign(x)).address == x.ctypes.data
    assert np.array_equal(model(Foreign(x)), wanted)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
    assert unaligned.ctypes.data % 4 != 0
    assert np.array_equal(model(unaligned), wanted)


def test_results_outlive_the_next_run_and_the_model(demo):
    model = npuc.import_model(demo.onnx)
    first = model(demo.images[:1])
    copy = first.copy()
    model(demo.images[1:2])
    del model
    assert np.array_equal(first, copy)
    first += 1  # and are the caller's to write


def test_compile(demo, built):
    assert [t.target for t in built.targets] == ["refnpu-n16", "refnpu-n8"]
    assert built.artifact == built.targets[0].artifact and built.artifact.exists()
    assert built.targets[0].cycles < built.targets[1].cycles  # more multipliers
    assert built.targets[0].sqnr_db > 20
    assert {s.name for s in built.stages} == {"baseline", "import", "normalize", "static", "adapt", "quantize", "build", "verify"}
    assert top1(built(demo.images), demo.labels) >= demo.right - 4
    assert top1(built(demo.images * 0.1), demo.labels) < demo.right - 40  # control
    with pytest.raises(FrozenInstanceError):
        built.folder = "elsewhere"


def test_program_is_the_integer_module(demo, built):
    program, module = npuc.load(built.artifact), built.model("quantize.refnpu-n16")
    integers = program(demo.images[:8], raw=True)
    assert integers.dtype == np.uint8
    assert np.array_equal(integers, module(demo.images[:8], raw=True))
    assert np.array_equal(program(demo.images[:8]), module(demo.images[:8]))
    port = program.inputs[0]
    q = np.clip(np.rint(demo.images[:8] / np.float32(port.scale)) + port.zero_point, 0, 255).astype(np.uint8)
    assert np.array_equal(program(q, raw=True), integers)  # docs/numerics.md section 4
    assert np.array_equal(built.program("refnpu-n8")(q, raw=True), integers)
    assert program(demo.images[:0]).shape == (0, 10)


def test_a_build_goes_on(demo, built):
    seen = []
    again = npuc.compile(demo.onnx, target="refnpu-n16", calibration=f"dir:{built.folder}/samples", output=built.folder, progress=seen.append)
    assert {p.what for p in seen if p.stage} == {"kept"}
    assert again.artifact == built.artifact


def test_quantize(demo):
    built = npuc.quantize(demo.onnx, calibration=iter([{"image": x} for x in demo.calibration[:64]]), settings={"quantize.observer": "mse"})
    assert built.artifact is None
    assert top1(built(demo.images), demo.labels) >= demo.right - 6
    assert "quantize" in [s.name for s in built.stages] and "build" not in [s.name for s in built.stages]


def test_errors_are_data(demo, tmp_path):
    with pytest.raises(npuc.NpucError) as caught:
        npuc.import_model(tmp_path / "nowhere.onnx")
    e = caught.value
    assert e.code == "NPUC-E0008" and e.kind is npuc.Kind.BAD_INPUT and e.place.file.endswith("nowhere.onnx") and e.message
    assert e.message in str(e) and npuc.explain(e.code)
    assert pickle.loads(pickle.dumps(e)).diagnostics == e.diagnostics
    with pytest.raises(KeyError):
        npuc.explain("E9999")
    cases = [
        (lambda: npuc.compile(demo.onnx, target="refnpu-n17"), "NPUC-E0907", npuc.Kind.USAGE),
        (lambda: npuc.compile(demo.onnx), "NPUC-E0924", npuc.Kind.USAGE),  # no calibration data
        (lambda: npuc.compile(demo.onnx, calibration=[{"picture": demo.images}]), "NPUC-E0921", npuc.Kind.USAGE),
        (lambda: npuc.compile(demo.onnx, calibration=[]), "NPUC-E0924", npuc.Kind.USAGE),
        (lambda: npuc.compile(demo.onnx, calibration=[demo.images[0, 0]]), "NPUC-E0921", npuc.Kind.USAGE),
        (lambda: npuc.compile(demo.onnx, calibration=demo.calibration, settings={"observer": "mse"}), "NPUC-E0922", npuc.Kind.USAGE),
        (lambda: npuc.import_model(demo.onnx, dims={"M": 4}), None, npuc.Kind.USAGE),
        (lambda: npuc.import_model(demo.onnx)(demo.images[0]), "NPUC-E0601", npuc.Kind.USAGE),
        (lambda: npuc.import_model(demo.onnx)(demo.images.astype(np.float64)), "NPUC-E0601", npuc.Kind.USAGE),
        (lambda: npuc.import_model(demo.onnx)(object()), "NPUC-E0921", npuc.Kind.USAGE),
        (lambda: npuc.import_model(demo.onnx)(np.array(["a"])), "NPUC-E0921", npuc.Kind.UNSUPPORTED),
        (lambda: npuc.load(demo.onnx), None, npuc.Kind.BAD_INPUT),
        (lambda: npuc.import_model(42), "NPUC-E0906", npuc.Kind.USAGE),
    ]
    for call, code, kind in cases:
        with pytest.raises(npuc.NpucError) as caught:
            call()
        assert code in (None, caught.value.code), caught.value
        assert caught.value.kind is kind, caught.value


def test_an_exception_of_the_loader_or_the_progress_comes_out(demo, tmp_path):
    def loader():
        yield demo.calibration[:8]
        raise OSError("disk full")

    out = tmp_path / "out"
    with pytest.raises(OSError, match="disk full"):
        npuc.compile(demo.onnx, calibration=loader(), output=out)
    assert not (out / "samples").exists()

    def refuse(progress):
        if progress.stage == "import":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        npuc.compile(demo.onnx, calibration=demo.calibration, output=out, progress=refuse)
    seen = []
    built = npuc.compile(demo.onnx, calibration=demo.calibration, output=out, progress=seen.append)  # goes on
    assert [p.stage for p in seen if p.what == "kept"][:1] == ["baseline"] and built.artifact


def test_ctrl_c(demo, tmp_path):
    """An interrupt stops the library soon, and what it had done is kept."""
    seen, interrupted = [], []

    def interrupt(progress):
        seen.append(progress)
        if progress.stage == "normalize" and not interrupted:
            interrupted.append(True)
            _thread.interrupt_main()
            time.sleep(0.5)  # the waiting thread looks ten times a second, and the rest of the demo's compile may be shorter than that

    with pytest.raises(KeyboardInterrupt):
        npuc.compile(demo.onnx, calibration=demo.calibration, output=tmp_path / "out", progress=interrupt)
    assert "verify" not in [p.stage for p in seen if p.what == "done"]
    assert npuc.compile(demo.onnx, calibration=demo.calibration, output=tmp_path / "out").artifact  # the lock is free


def test_the_interpreter_is_free_during_a_run(demo):
    """Several threads on one model and on their own: each gets its own results."""
    model = npuc.import_model(demo.onnx, threads=1)
    wanted = [model(x[None]) for x in demo.images[:8]]
    wrong = []

    def work(i):
        own = npuc.import_model(demo.onnx, threads=1) if i % 2 else model
        for _ in range(20):
            if not np.array_equal(own(demo.images[i : i + 1]), wanted[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_save(demo, tmp_path):
    npuc.import_model(demo.pt2).save(tmp_path / "model.onnx")
    assert top1(npuc.run(tmp_path / "model.onnx", demo.images), demo.labels) == demo.right
