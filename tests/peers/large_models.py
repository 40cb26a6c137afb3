#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SmolLM2-135M at its real size with random weights: the .pt2 of its static cache, imported in place, token by token against transformers; and the same stages on ONNX.

    large_models.py --npuc build/npuc --work DIR [--steps 8] [--model FILE.pt2 --ids FILE.json] [--onnx FILE.onnx]

The model is made here (nothing is downloaded); --model and --ids take one that an earlier run left in DIR. --onnx names a decoder with KV cache of more than 256 MiB, all
of whose symbols become numbers.

Right: OUT holds no copy of the weights, npuc's private memory stays below 100 MB (--onnx: 80 MB), the greedy ids are transformers', or its two best logits at the first
difference are less than 1e-3 apart; with one weight changed in the file the stage model is refused, and a decoder that forgets its cache gives other logits. Private
memory is "Anonymous" of /proc/PID/smaps_rollup, looked at every 5 ms: pages of mapped files can be dropped and are not counted. Times are printed and not judged.
"""
import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import onnx

from static_decoder import Decoder

CACHE = 128


def build(path, ids_path, steps):
    real = importlib.util.find_spec  # a torchvision that does not import is worse than none
    importlib.util.find_spec = lambda name, *rest: None if name.split(".")[0] == "torchvision" else real(name, *rest)
    import torch
    import transformers as t
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache as Static

    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = t.LlamaConfig(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
                           max_position_embeddings=8192, rms_norm_eps=1e-5, tie_word_embeddings=True, bos_token_id=0, eos_token_id=0)
    model = t.LlamaForCausalLM(config).eval()
    model.generation_config = t.GenerationConfig(use_cache=True, cache_implementation="static", max_length=CACHE,
                                                 cache_config={"batch_size": 1, "max_cache_len": CACHE})
    ids, gaps = [17], []
    with torch.no_grad():
        for _ in range(steps):  # without a cache: the plain forward of all tokens so far
            best = model(torch.tensor([ids]), use_cache=False).logits[0, -1].topk(2)
            ids.append(int(best.indices[0]))
            gaps.append(float(best.values[0] - best.values[1]))
        example = {"input_ids": torch.tensor([[5]]), "cache_position": torch.tensor([3])}
        program = torch.export.export(Static(model, 1, CACHE), (), example, strict=False)
    torch.export.save(program, path)
    with open(ids_path, "w") as f:
        json.dump({"ids": ids, "gaps": gaps}, f)


def measured(command):
    """(seconds, peak of private bytes); the command must succeed."""
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/smaps_rollup") as f:
                peak = max(peak, int(re.search(r"Anonymous:\s+(\d+)", f.read())[1]) << 10)
        except (OSError, TypeError):  # it has just ended
            pass
        time.sleep(0.005)
    if process.returncode != 0:
        raise SystemExit(f"status {process.returncode}: {' '.join(command)}")
    return time.perf_counter() - start, peak


def pool_bytes(out):
    folder = os.path.join(out, "weights")
    return sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))


def stages(npuc, model, out, names, most, dims=()):
    """Runs them, prints what they took; what is wrong."""
    wrong = []
    for i, name in enumerate(names):
        seconds, private = measured([npuc, name, model if i == 0 else out, *(["-o", out, *dims] if i == 0 else []), "-q"])
        print(f"{os.path.basename(model)}: {name} {seconds:.2f} s, {private / 1e6:.0f} MB private", flush=True)
        if private > most:
            wrong.append(f"{name} took {private} bytes of private memory")
    if pool_bytes(out) > os.path.getsize(model) / 10 and os.path.getsize(model) > 256 << 20:
        wrong.append("the weights were copied")
    return wrong


def numbers(path):
    """--dim for each symbol: one new token behind 16."""
    found = {}
    for port in onnx.load(path, load_external_data=False).graph.input:
        for dim in port.type.tensor_type.shape.dim:
            if dim.dim_param:
                found.setdefault(dim.dim_param, 17 if "mask" in port.name else 1 if port.name.endswith("ids") else 16)
    return [word for symbol, n in found.items() for word in ("--dim", f"{symbol}={n}")]


def greedy(npuc, model, work, want, gaps):
    wrong = []
    decoder = Decoder(npuc, model, work)
    got = [decoder.step(want[i], i) for i in range(len(gaps))]
    part = next((i for i, row in enumerate(got) if row.argmax() != want[i + 1]), None)
    print(f"{len(gaps) if part is None else part} of {len(gaps)} greedy ids equal before the first difference")
    if part is not None and gaps[part] >= 1e-3:
        wrong.append(f"greedy id {part} is {got[part].argmax()} in place of {want[part + 1]}")
    decoder.clear()  # the control
    if np.abs(decoder.step(want[len(gaps) - 1], len(gaps) - 1) - got[-1]).max() < 1e-4:
        wrong.append("a decoder that forgot its cache gives the same logits")
    return wrong


def refuses_a_change(npuc, model, out):
    with open(model, "r+b") as f:
        f.seek(-1, os.SEEK_END)
        last = f.read(1)
        f.seek(-1, os.SEEK_END)
        f.write(last)  # the same byte at another time
    done = subprocess.run([npuc, "inspect", os.path.join(out, "1-import.onnx")], capture_output=True, text=True)
    return [] if done.returncode == 6 and "E0343" in done.stderr else ["a source that was written since is read"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npuc", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--model")
    parser.add_argument("--ids")
    parser.add_argument("--onnx")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    model, ids = args.model or os.path.join(args.work, "smollm2.pt2"), args.ids or os.path.join(args.work, "smollm2.json")
    if not args.model:
        build(model, ids, args.steps)
    with open(ids) as f:
        recorded = json.load(f)
    out = os.path.join(args.work, "out")
    subprocess.run(["rm", "-rf", out], check=True)
    wrong = stages(args.npuc, model, out, ["import"], 100e6)
    wrong += greedy(args.npuc, model, args.work, recorded["ids"], recorded["gaps"][: args.steps])
    wrong += refuses_a_change(args.npuc, model, out)
    if args.onnx:
        out = os.path.join(args.work, "out.onnx")
        subprocess.run(["rm", "-rf", out], check=True)
        wrong += stages(args.npuc, args.onnx, out, ["import", "normalize", "static"], 80e6, numbers(args.onnx))
    for line in wrong:
        print(f"wrong: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
