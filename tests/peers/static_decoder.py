#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A decoder with a static cache (`.pt2`, one token a step), run by npuc step by step: its states are carried by their names in the metadata of the imported model.

    static_decoder.py --npuc build/npuc --model decoder_static.pt2 --ids greedy_token_ids.json --logits logits_first32.f32 --work DIR [--steps 63]

Right: every greedy id is the recorded one, and the logits of the first steps are within 1e-4 of the recorded ones (float64, teacher forced). A control that
forgets its cache must part from them. Exit status 1 if not.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np
import onnx


def imported(npuc, model, work):
    out = os.path.join(work, "out")
    subprocess.run([npuc, "import", model, "-o", out, "-q", "--force"], check=True)
    path = os.path.join(out, "1-import.onnx")
    proto = onnx.load(path, load_external_data=False)
    states = [p.value.split(" > ") for p in proto.metadata_props if p.key.startswith("npuc.state.")]
    dims = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in proto.graph.input}
    names = [v.name for v in proto.graph.output]
    renamed = {s[0] for s in states}
    logits = next(n for n in names if n not in renamed)
    return path, states, dims, logits


class Decoder:
    def __init__(self, npuc, model, work):
        self.npuc, self.work = npuc, work
        self.path, self.states, self.dims, self.logits = imported(npuc, model, work)
        self.clear()

    def clear(self):
        for _, port in self.states:
            np.save(self.file(port), np.zeros(self.dims[port], np.float32))

    def file(self, name):
        return os.path.join(self.work, name + ".npy")

    def step(self, token, position):
        np.save(self.file("input_ids"), np.array([[token]], np.int64))
        np.save(self.file("cache_position"), np.array([position], np.int64))
        command = [self.npuc, "run", self.path, "-q", "-o", self.work]
        for port in self.dims:
            command += ["-i", f"{port}={self.file(port)}"]
        subprocess.run(command, check=True)
        for output, port in self.states:
            os.replace(self.file(output), self.file(port))
        return np.load(self.file(self.logits)).reshape(-1)


def decode(decoder, ids, steps):
    return np.stack([decoder.step(ids[i], i) for i in range(steps)])


def main():
    parser = argparse.ArgumentParser()
    for name in ("npuc", "model", "ids", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--logits", help="float32 rows, compared to 1e-4")
    parser.add_argument("--steps", type=int, default=63)
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    ids = json.load(open(args.ids))
    steps = min(args.steps, len(ids) - 1)
    got = decode(Decoder(args.npuc, args.model, args.work), ids, steps)
    greedy = got.argmax(1)
    wrong = [i for i in range(steps) if greedy[i] != ids[i + 1]]
    apart = 0.0
    print(f"{steps - len(wrong)} of {steps} greedy ids equal")
    if args.logits:
        want = np.fromfile(args.logits, np.float32).reshape(-1, got.shape[1])[:steps]
        apart = float(np.abs(got[: len(want)] - want).max())
        print(f"the first {len(want)} logits are up to {apart:.2g} apart")
    forgetful = Decoder(args.npuc, args.model, args.work)
    forgetful.step(ids[0], 0)
    forgetful.clear()
    if np.abs(forgetful.step(ids[1], 1) - got[1]).max() < 1e-3:
        print("the control that forgets its cache must differ: this test sees nothing")
        return 1
    return 1 if wrong or apart > 1e-4 else 0


if __name__ == "__main__":
    sys.exit(main())
