# SPDX-License-Identifier: Apache-2.0
"""Calls the npuc command line as docs and scripts do: `--json`, the result document from stdout, diagnostics from stderr."""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import time

import numpy as np
import onnx
from onnx import numpy_helper


class CommandFailed(Exception):
    pass


class Npuc:
    """One binary with the options of this run; every call is logged to a transcript that can be pasted into a shell."""

    def __init__(self, path, transcript, threads=None):
        self.path, self.transcript, self.threads = str(path), transcript, threads

    def raw(self, *args, environment=None, threads=None, log=True):
        """(exit status, result document or None, stderr)."""
        threads = threads or self.threads
        command = [self.path, "--json", *(["--threads", str(threads)] if threads else []), *map(str, args)]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})}, check=False)
        seconds = time.monotonic() - began
        if log or done.returncode != 0:
            self.note(command, environment or {}, done, seconds)
        try:
            document = json.loads(done.stdout)
        except json.JSONDecodeError:
            document = None
        return done.returncode, document, done.stderr

    def note(self, command, environment, done, seconds):
        with open(self.transcript, "a", encoding="utf-8") as transcript:
            settings = "".join(f"{key}={value} " for key, value in environment.items())
            transcript.write(f"$ {settings}{shlex.join(command)}\n# status {done.returncode}, {seconds:.1f} s\n{done.stdout[-4000:]}{done.stderr[-2000:]}\n")

    def __call__(self, *args, **options):
        status, document, errors = self.raw(*args, **options)
        if status != 0 or document is None:
            raise CommandFailed(f"npuc {' '.join(map(str, args[:2]))}: exit status {status}: {first_diagnostic(errors)}")
        return document

    def run(self, model, inputs, folder, *options, log=True):
        """`run` on {name: array}: the result document and {name: array} of what it wrote (outputs, and with --observe all values)."""
        written = folder / "outputs"
        shutil.rmtree(written, ignore_errors=True)
        written.mkdir(parents=True)
        feeds = []
        for name, array in inputs.items():
            np.save(folder / f"input_{name}.npy", array)
            feeds += ["-i", f"{name}={folder / f'input_{name}.npy'}"]
        document = self("run", model, *feeds, "-o", written, *options, log=log)
        return document, {file.stem: np.load(file) for file in sorted(written.glob("*.npy"))}

    def run_each(self, model, name, samples, folder, *options):
        """A model of batch 1 on each of `samples`: {name: array}, first axis samples. Only the first call goes into the transcript."""
        every = [self.run(model, {name: samples[i : i + 1]}, folder, *options, log=i == 0)[1] for i in range(len(samples))]
        return {key: np.concatenate([one[key] for one in every]) for key in every[0]}


def first_diagnostic(errors):
    """The first error among the JSON lines on stderr, as text; else the last line."""
    for line in errors.splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if event.get("severity") == "error":
            return f"{event.get('code')} {event.get('node') or event.get('file') or ''}: {event.get('reason')}"
    return errors.strip().splitlines()[-1][:300] if errors.strip() else "no message"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def module_input(path, values):
    """`values` (float32) as the integer module at `path` takes them: as they are where its input is float, else
    quantized by the scale and zero point that the file's quantization annotation gives, ties to even."""
    model = onnx.load(str(path))
    feed = model.graph.input[0]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(feed.type.tensor_type.elem_type)
    if dtype == np.float32:
        return feed.name, values
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for annotation in model.graph.quantization_annotation:
        if annotation.tensor_name == feed.name:
            names = {entry.key: entry.value for entry in annotation.quant_parameter_tensor_names}
            scale = np.float32(weights[names["SCALE_TENSOR"]].reshape(-1)[0])
            zero = int(weights[names["ZERO_POINT_TENSOR"]].reshape(-1)[0])
            limits = np.iinfo(dtype)
            return feed.name, np.clip(np.rint(values / scale) + zero, limits.min, limits.max).astype(dtype)
    raise CommandFailed(f"{path}: input {feed.name} is {dtype} and has no quantization annotation")
