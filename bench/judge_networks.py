#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes minilm.onnx (6 layers of 384, dims batch and length) and smollm2-step.onnx (SmolLM2-135M with its cache, dim past: one token behind `past` others)
into a folder: transformers' own models in the published configurations with random weights, exported by torch.onnx.export. Nothing is downloaded.
usage: FOLDER"""
import os
import pathlib
import sys
import warnings

import torch
import transformers as t

warnings.filterwarnings("ignore")
t.logging.set_verbosity_error()

MINILM = dict(hidden_size=384, intermediate_size=1536, num_hidden_layers=6, num_attention_heads=12, vocab_size=30522, max_position_embeddings=512)
SMOLLM2 = dict(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
               max_position_embeddings=8192, rms_norm_eps=1e-5, rope_theta=100000.0, tie_word_embeddings=True)


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = t.BertModel(t.BertConfig(**MINILM), add_pooling_layer=False)

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids, attention_mask).last_hidden_state


class Step(torch.nn.Module):
    """One token and the keys and values of those before it, to logits and the longer cache."""

    def __init__(self):
        super().__init__()
        self.model = t.LlamaForCausalLM(t.LlamaConfig(**SMOLLM2))

    def forward(self, input_ids, attention_mask, position_ids, *past):
        cache = t.DynamicCache(list(zip(past[0::2], past[1::2])))
        out = self.model(input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=cache, use_cache=True)
        present = [tensor for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return (out.logits, *present)


def minilm(path):
    length = torch.export.Dim("length", min=2, max=512)
    batch = torch.export.Dim("batch", min=1, max=256)
    words = torch.randint(1, 30000, (2, 16))
    names = ["input_ids", "attention_mask"]
    torch.onnx.export(Encoder().eval(), (words, torch.ones_like(words)), path, input_names=names, output_names=["hidden"],
                      dynamic_shapes={n: {0: batch, 1: length} for n in names}, dynamo=True, external_data=False)


def smollm2(path):
    layers, heads, size = SMOLLM2["num_hidden_layers"], SMOLLM2["num_key_value_heads"], SMOLLM2["hidden_size"] // SMOLLM2["num_attention_heads"]
    past = torch.export.Dim("past", min=2, max=4096)
    cache = [torch.randn(1, heads, 16, size) for _ in range(2 * layers)]
    inputs = (torch.tensor([[5]]), torch.ones(1, 17, dtype=torch.int64), torch.tensor([[16]]), *cache)
    kinds = [f"{i}.{k}" for i in range(layers) for k in ("key", "value")]
    torch.onnx.export(Step().eval(), inputs, path, input_names=["input_ids", "attention_mask", "position_ids"] + [f"past_key_values.{k}" for k in kinds],
                      output_names=["logits"] + [f"present.{k}" for k in kinds],
                      dynamic_shapes=(None, {1: past + 1}, None, tuple({2: past} for _ in cache)), dynamo=True, external_data=False)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in (("minilm", minilm), ("smollm2-step", smollm2)):
        torch.manual_seed(0)
        with torch.no_grad():
            write(folder / f"{name}.part.onnx")
        os.replace(folder / f"{name}.part.onnx", folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
