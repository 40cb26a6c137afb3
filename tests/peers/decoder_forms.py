#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoders with a growing cache, made static by npuc, beside the growing model in ONNX Runtime, token by token.

    decoder_forms.py --npuc build/npuc --work DIR [--tinystories FOLDER] [--only NAME]

Models: the trained `decoder_with_past.onnx` (64 tokens: greedy ids and logits as recorded), and random-weight decoders that transformers builds and torch.onnx exports here: grouped
heads and rotary positions, learned positions, learned positions with an offset, a sliding window. Each is made static with one and with 16 tokens a call and in the three spellings of
the write. `where` and `matmul` run in ONNX Runtime, `scatter` in npuc. Right: logits of every token within 1e-4, and the same greedy ids. Controls: a position one too
high, and a mask that shows a key less, must part. A call past the last slot must be refused. Exit status 1 if not.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort

TOLERANCE = 1e-4


def session(model):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


# -- the growing model ------------------------------------------------------------------------------


def grow(path, ids):
    """Logits [tokens, vocabulary], one token a call from an empty cache."""
    s = session(path)
    past = {}
    for i in s.get_inputs():
        if i.name.startswith("past"):
            shape = [d if isinstance(d, int) else 0 if "past" in d else 1 for d in i.shape]
            past[i.name] = np.zeros(shape, np.float32)
    rows = []
    for at, token in enumerate(ids):
        feed = dict(past)
        for i in s.get_inputs():
            if i.name == "input_ids":
                feed[i.name] = np.array([[token]], np.int64)
            elif i.name == "position_ids":
                feed[i.name] = np.array([[at]], np.int64)
            elif i.name == "attention_mask":
                feed[i.name] = np.ones((1, at + 1), np.int64)
        out = dict(zip([o.name for o in s.get_outputs()], s.run(None, feed)))
        rows.append(out["logits"][0, -1])
        past = {name: out[name.replace("past_key_values", "present")] for name in past}
    return np.stack(rows)


# -- the static one ---------------------------------------------------------------------------------


class Static:
    def __init__(self, npuc, path, work, runner):
        self.npuc, self.path, self.work, self.runner = npuc, path, work, runner
        proto = onnx.load(path, load_external_data=False)
        meta = {p.key: p.value for p in proto.metadata_props}
        self.length, self.chunk = int(meta["npuc.decoder.max_length"]), int(meta["npuc.decoder.chunk"])
        self.states = [v.split(" > ") for k, v in meta.items() if k.startswith("npuc.state.")]
        self.dims = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in proto.graph.input}
        self.outputs = [v.name for v in proto.graph.output]
        self.ort = session(path) if runner == "ort" else None
        self.cache = {port: np.full(self.dims[port], 7.0, np.float32) for _, port in self.states}  # what no token wrote must not be seen

    def call(self, tokens, position):
        ids = np.zeros((1, self.chunk), np.int64)
        ids[0, : len(tokens)] = tokens
        feed = {"input_ids": ids, "position": np.array([position], np.int64), "valid": np.array([len(tokens)], np.int64), **self.cache}
        if self.ort:
            wanted = {i.name for i in self.ort.get_inputs()}
            out = dict(zip(self.outputs, self.ort.run(self.outputs, {k: v for k, v in feed.items() if k in wanted})))
        else:
            command = [self.npuc, "run", self.path, "-q", "-o", self.work]
            for name, value in feed.items():
                np.save(os.path.join(self.work, name + ".npy"), value)
                command += ["-i", f"{name}={os.path.join(self.work, name + '.npy')}"]
            subprocess.run(command, check=True, capture_output=True)
            out = {name: np.load(os.path.join(self.work, name + ".npy")) for name in self.outputs}
        self.cache = {port: out[output] for output, port in self.states}
        return out["logits"].reshape(-1)

    def decode(self, ids, sizes, shift=0):
        """{index of a chunk's last token: logits}"""
        rows, at = {}, 0
        for n in sizes:
            n = min(n, len(ids) - at)
            if n < 1 or at + n + shift > self.length:
                break
            rows[at + n - 1] = self.call(ids[at : at + n], at + shift)
            at += n
        return rows


def make_static(npuc, model, out, length, chunk, form):
    shutil.rmtree(out, ignore_errors=True)
    command = [npuc, "static", model, "--max-length", str(length), "--chunk", str(chunk), "--kv-form", form, "-o", out, "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return os.path.join(out, "3-static.onnx")


def worst(rows, right):
    apart = max(float(np.abs(row - right[at]).max()) for at, row in rows.items())
    same = all(int(row.argmax()) == int(right[at].argmax()) for at, row in rows.items())
    return apart, same


def refuses_past_the_end(npuc, static, work):
    command = [npuc, "run", static.path, "-q"]
    for name, value in (("position", static.length), ("valid", 1)):
        np.save(os.path.join(work, name + ".npy"), np.array([value], np.int64))
        command += ["-i", f"{name}={os.path.join(work, name + '.npy')}"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 2 and "E0630" in done.stderr


def hides_one_more(path, work):
    """The static model whose masks show a token everything but itself: keys count one higher."""
    proto = onnx.load(path)
    found = 0
    for t in proto.graph.initializer:
        if t.name.startswith("decoder_keys"):
            t.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(t) + 1, t.name))
            found += 1
    target = os.path.join(work, "hides_one_more.onnx")
    onnx.save(proto, target)
    return target if found else None


def check(npuc, name, model, work, length, ids, right):
    bad = 0
    for chunk in (1, 16):
        for form in ("where", "matmul", "scatter"):
            runner = "npuc" if form == "scatter" else "ort"
            folder = os.path.join(work, f"{name}_{chunk}_{form}")
            path = make_static(npuc, model, folder, length, chunk, form)
            cuts = [[1] * length] if chunk == 1 else [[16] * length, [5, 16, 1, 16, 3, 7, 16, 2]]
            for sizes in cuts:
                apart, same = worst(Static(npuc, path, folder, runner).decode(ids, sizes), right)
                good = apart <= TOLERANCE and same
                bad += not good
                print(f"{name} chunk {chunk} {form} ({runner}): {apart:.2g} apart, greedy ids {'equal' if same else 'DIFFER'}{'' if good else '  WRONG'}")
            if form == "where" and chunk == 1:
                shifted, _ = worst(Static(npuc, path, folder, runner).decode(ids, cuts[0], shift=1), right)
                off = hides_one_more(path, folder)
                hidden = worst(Static(npuc, off, folder, runner).decode(ids, cuts[0]), right)[0] if off else 1.0
                if shifted < 1e-3 or hidden < 1e-3:
                    print(f"{name}: a position one too high ({shifted:.2g}) or a mask off by one ({hidden:.2g}) is not seen")
                    bad += 1
            if form == "scatter" and not refuses_past_the_end(npuc, Static(npuc, path, folder, runner), folder):
                print(f"{name}: a token past the last slot is not refused")
                bad += 1
    return bad


# -- models that are made here ----------------------------------------------------------------------


def hide_broken_torchvision():
    """transformers imports torchvision where it is installed, also where it does not fit the torch beside it."""
    import importlib.util

    try:
        import torchvision  # noqa: F401
    except Exception:
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, package=None: None if name.split(".")[0] == "torchvision" else find(name, package)


def families():
    hide_broken_torchvision()
    import transformers as t

    small = dict(vocab_size=96, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, attn_implementation="eager")
    yield "llama_gqa", t.LlamaForCausalLM(t.LlamaConfig(**small, num_key_value_heads=2, intermediate_size=96, max_position_embeddings=128))
    yield "gpt2", t.GPT2LMHeadModel(t.GPT2Config(vocab_size=96, n_embd=64, n_layer=2, n_head=4, n_positions=64, attn_implementation="eager"))
    yield "opt", t.OPTForCausalLM(t.OPTConfig(**small, ffn_dim=96, max_position_embeddings=64, word_embed_proj_dim=64))
    yield "mistral_window", t.MistralForCausalLM(
        t.MistralConfig(**small, num_key_value_heads=2, intermediate_size=96, max_position_embeddings=128, sliding_window=7)
    )


def wrapper(model):
    """The flat interface that exporters give a decoder: caches as tensors in and out."""
    import torch
    from transformers import DynamicCache

    class Flat(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, position_ids, attention_mask, *past):
            cache = DynamicCache()
            for layer in range(len(past) // 2):
                cache.update(past[2 * layer], past[2 * layer + 1], layer)
            out = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=cache, use_cache=True)
            flat = [t for layer in out.past_key_values.layers for t in (layer.keys, layer.values)]
            return (out.logits, *flat)

    return Flat()


def export(model, path, dynamo):
    import torch

    config = model.config
    layers, heads = config.num_hidden_layers, getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = config.hidden_size // config.num_attention_heads
    torch.manual_seed(3)
    names = [f"{layer}.{kind}" for layer in range(layers) for kind in ("key", "value")]
    past = [torch.randn(1, heads, 5, size) for _ in names]
    args = (torch.randint(1, 96, (1, 3)), torch.arange(5, 8)[None], torch.ones(1, 8, dtype=torch.int64), *past)
    inputs = ["input_ids", "position_ids", "attention_mask"] + [f"past_key_values.{n}" for n in names]
    outputs = ["logits"] + [f"present.{n}" for n in names]
    if dynamo:
        n, p = torch.export.Dim("sequence_length", max=64), torch.export.Dim("past_sequence_length", max=64)
        shapes = ({1: n}, {1: n}, {1: torch.export.Dim.AUTO}, tuple({2: p} for _ in past))
        torch.onnx.export(wrapper(model).eval(), args, path, input_names=inputs, output_names=outputs, dynamic_shapes=shapes, dynamo=True, verbose=False)
        return
    axes = {"input_ids": {1: "sequence_length"}, "position_ids": {1: "sequence_length"}, "attention_mask": {1: "total_sequence_length"}}
    axes |= {f"past_key_values.{x}": {2: "past_sequence_length"} for x in names} | {f"present.{x}": {2: "total_sequence_length"} for x in names}
    axes["logits"] = {1: "sequence_length"}
    torch.onnx.export(wrapper(model).eval(), args, path, input_names=inputs, output_names=outputs, dynamic_axes=axes, opset_version=18, dynamo=False)


def made_here(args, bad):
    import torch

    torch.manual_seed(1)
    seen = 0
    for name, model in families():
        for p in model.parameters():
            if p.dim() > 1:
                p.data *= 4.0  # transformers' random weights are so small that a wrong mask hardly shows
        for dynamo in (False, True):
            label = f"{name}_{'dynamo' if dynamo else 'torchscript'}"
            if args.only and args.only not in label:
                continue
            path = os.path.join(args.work, label + ".onnx")
            try:
                with torch.no_grad():
                    export(model.eval(), path, dynamo)
            except Exception as e:  # the exporter's own limits are not npuc's
                print(f"{label}: torch does not export it ({type(e).__name__}: {str(e).splitlines()[0][:120]})")
                continue
            ids = [int(i) for i in np.random.default_rng(5).integers(1, 96, 32)]
            bad += check(args.npuc, label, path, args.work, 32, ids, grow(path, ids))
            seen += 1
    if not seen and not args.only:
        print("torch exported no model: nothing was checked")
    return bad + (not seen and not args.only)


def tinystories(args):
    folder = args.tinystories
    if not folder or (args.only and args.only not in "tinystories"):
        return 0
    path = os.path.join(folder, "decoder_with_past.onnx")
    ids = json.load(open(os.path.join(folder, "greedy_token_ids.json")))[:64]
    right = grow(path, ids)
    recorded = np.fromfile(os.path.join(folder, "logits_first32.f32"), np.float32).reshape(32, -1)
    apart = float(np.abs(right[:32] - recorded).max())
    greedy = sum(int(right[i].argmax()) == ids[i + 1] for i in range(len(ids) - 1))
    print(f"tinystories: ONNX Runtime is {apart:.2g} from the recorded logits; {greedy} of {len(ids) - 1} greedy ids equal")
    return (apart > TOLERANCE or greedy != len(ids) - 1) + check(args.npuc, "tinystories", path, args.work, 64, ids, right)


def main():
    parser = argparse.ArgumentParser()
    for name in ("npuc", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--tinystories")
    parser.add_argument("--only")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    return 1 if made_here(args, tinystories(args)) else 0


if __name__ == "__main__":
    sys.exit(main())
