#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From an exported program to an ONNX graph: `npuc import` (with its gates, from the .pt2 file to 1-import.onnx) against torch.onnx.export of the same program, in turns.

usage: import_speed.py NPUC --work DIR [--repeat 3]
"""
import argparse, os, subprocess, sys, time, warnings

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/peers"))
import aten_models
from aten_case import real, whole

warnings.filterwarnings("ignore")


def models():
    yield "ResNet-18", aten_models.resnet18(), (real(1, 3, 32, 32),)
    yield "MobileNetV2", aten_models.mobilenet_v2(), (real(1, 3, 32, 32),)
    yield "ViT", aten_models.ViT(), (real(1, 3, 32, 32),)
    try:
        import transformers as t
        config = t.BertConfig(hidden_size=128, intermediate_size=512, num_hidden_layers=6, num_attention_heads=4, vocab_size=1000)
        yield "BERT, 6 layers", aten_models.Logits(t.BertModel(config)), (whole(1, 32, low=0, high=999),)
    except ImportError:
        print("left out: BERT, since transformers is not there")


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("npuc")
    parser.add_argument("--work", required=True)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    print("| network | npuc import s | torch.onnx.export s | ratio |\n| --- | --- | --- | --- |")
    for name, model, inputs in models():
        program = torch.export.export(model.eval(), inputs)
        archive, out, onnx = (os.path.join(args.work, f) for f in ("m.pt2", "out", "m.onnx"))
        torch.export.save(program, archive)
        ours, theirs = [], []
        for _ in range(args.repeat):
            ours.append(seconds(lambda: subprocess.run([args.npuc, "import", archive, "-o", out, "--force", "-q"], check=True, capture_output=True)))
            theirs.append(seconds(lambda: torch.onnx.export(program, (), onnx, dynamo=True, verbose=False)))
        print(f"| {name} | {min(ours):.3f} | {min(theirs):.2f} | {min(theirs) / min(ours):.0f} |", flush=True)


if __name__ == "__main__":
    main()
