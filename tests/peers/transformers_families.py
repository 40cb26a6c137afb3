#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Model families of transformers, each in a tiny configuration with random weights, exported by torch, run by npuc, against torch.

    transformers_families.py --npuc build/npuc --work DIR [--only NAME,...] [--page docs/transformers-families.md]

No weights are downloaded. A family is right when every value of its answer is within rtol 1e-4 and atol 1e-5 of torch's. "not exported" is torch's own
refusal; it counts as a failure. Exit status 1 when fewer than nine in ten are right, or when a family of the list KNOWN is wrong in another way than it says.
"""
import argparse
import os
import sys
import warnings

import torch
import transformers as t

import aten_ops
from aten_case import real, whole

warnings.filterwarnings("ignore")
t.logging.set_verbosity_error()

SIZES = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=64, max_position_embeddings=64)
TOKENS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)
DECODER = dict(SIZES, **TOKENS, num_key_value_heads=2, use_cache=False)
EXPERTS = dict(DECODER, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
GPT = dict(n_embd=32, n_layer=2, n_head=4, n_positions=64, n_ctx=64, vocab_size=64, use_cache=False, bos_token_id=1, eos_token_id=2)
BART = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
            vocab_size=64, max_position_embeddings=64, use_cache=False, decoder_start_token_id=2, forced_eos_token_id=None, **TOKENS)
T5 = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=64, decoder_start_token_id=0, use_cache=False, pad_token_id=0, eos_token_id=1)
PATCHES = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)
STAGES = dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])
SPEECH = dict(SIZES, conv_dim=[16, 16], conv_stride=[5, 2], conv_kernel=[10, 3], num_feat_extract_layers=2, num_conv_pos_embeddings=16,
              num_conv_pos_embedding_groups=4, mask_time_prob=0.0, apply_spec_augment=False)


def words(length=7, seed=0):
    return whole(1, length, low=3, high=60, seed=seed)


TEXT, PAIR = lambda: (words(),), lambda: dict(input_ids=words(), decoder_input_ids=words(5, 1))
IMAGE, WAVE = lambda: (real(1, 3, 32, 32),), lambda: (real(1, 400, low=-1, high=1),)


def families():
    """(family, class, configuration, its settings, inputs)"""
    for name in """Bert Albert Roberta Electra XLMRoberta Camembert MPNet Ernie RoFormer RemBert MegatronBert Splinter Nystromformer LayoutLM ConvBert Esm
                   Data2VecText RobertaPreLayerNorm SqueezeBert MobileBert ModernBert DebertaV2 Deberta FNet""".split():
        extra = {"Albert": dict(embedding_size=16), "Electra": dict(embedding_size=32), "RemBert": dict(input_embedding_size=32, output_embedding_size=32),
                 "MobileBert": dict(embedding_size=32, intra_bottleneck_size=32, true_hidden_size=32), "SqueezeBert": dict(embedding_size=32), "Esm": dict(pad_token_id=1),
                 "ModernBert": dict(pad_token_id=0, global_attn_every_n_layers=2, local_attention=8),
                 "DebertaV2": dict(relative_attention=True, pos_att_type=["p2c", "c2p"], max_relative_positions=16, position_buckets=8)}.get(name, {})
        yield name, name + "Model", name + "Config", dict(SIZES, **extra), TEXT
    yield "DistilBert", "DistilBertModel", "DistilBertConfig", dict(dim=32, hidden_dim=64, n_layers=2, n_heads=4, vocab_size=64, max_position_embeddings=64), TEXT
    for name in """Llama Mistral Qwen2 Qwen3 Gemma Gemma2 Phi Phi3 StableLm Starcoder2 Olmo Olmo2 Cohere Granite SmolLM3 Helium Glm Nemotron Persimmon Arcee Ministral
                   Exaone4 SeedOss HunYuanDenseV1 Falcon GPTNeoX Gemma3:Gemma3Text Lfm2 Cohere2 Olmo3 Ernie4_5 BitNet DiffLlama""".split():
        model, config = name.split(":") if ":" in name else (name, name)
        extra = dict(head_dim=8) if model in ("Gemma", "Gemma2", "Gemma3", "Qwen3", "Glm", "Mistral", "Helium", "Ministral", "Exaone4", "SeedOss", "HunYuanDenseV1", "Ernie4_5") else {}
        if model in ("Gemma2", "Gemma3", "Exaone4", "Cohere2", "Olmo3", "Ministral"):
            extra["sliding_window"] = 4
        if model == "Lfm2":
            extra.update(layer_types=["conv", "full_attention"])
        yield model, model + "ForCausalLM", config + "Config", dict(DECODER, **extra), TEXT
    for name in ("Mixtral", "Qwen3Moe", "Qwen2Moe", "Olmoe", "GraniteMoe", "Phimoe"):
        yield name, name + "ForCausalLM", name + "Config", dict(EXPERTS, num_local_experts=4), TEXT
    yield "GPT2", "GPT2LMHeadModel", "GPT2Config", GPT, TEXT
    yield "GPTJ", "GPTJForCausalLM", "GPTJConfig", dict(GPT, rotary_dim=4), TEXT
    yield "CodeGen", "CodeGenForCausalLM", "CodeGenConfig", dict(GPT, rotary_dim=4), TEXT
    yield "GPTBigCode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig", GPT, TEXT
    yield "OpenAIGPT", "OpenAIGPTLMHeadModel", "OpenAIGPTConfig", {k: v for k, v in GPT.items() if k != "use_cache"}, TEXT
    yield "GPTNeo", "GPTNeoForCausalLM", "GPTNeoConfig", dict(hidden_size=32, num_layers=2, attention_types=[[["global", "local"], 1]], num_heads=4, window_size=4,
                                                             vocab_size=64, max_position_embeddings=64, use_cache=False, bos_token_id=1, eos_token_id=2), TEXT
    yield "OPT", "OPTForCausalLM", "OPTConfig", dict(DECODER, ffn_dim=64, word_embed_proj_dim=32), TEXT
    yield "Bloom", "BloomForCausalLM", "BloomConfig", dict(hidden_size=32, n_layer=2, n_head=4, vocab_size=64, use_cache=False, **TOKENS), TEXT
    yield "Mpt", "MptForCausalLM", "MptConfig", dict(d_model=32, n_heads=4, n_layers=2, max_seq_len=64, vocab_size=64, use_cache=False), TEXT
    yield "BioGpt", "BioGptForCausalLM", "BioGptConfig", dict(SIZES, **TOKENS, use_cache=False), TEXT
    yield "XGLM", "XGLMForCausalLM", "XGLMConfig", dict(d_model=32, ffn_dim=64, num_layers=2, attention_heads=4, vocab_size=64, max_position_embeddings=64, use_cache=False, **TOKENS), TEXT
    yield "Mamba", "MambaForCausalLM", "MambaConfig", dict(hidden_size=16, state_size=4, num_hidden_layers=2, vocab_size=64, use_cache=False, **TOKENS), TEXT
    for name in ("Bart", "MBart", "Marian", "Pegasus", "M2M100", "Blenderbot", "BlenderbotSmall", "PLBart"):
        model = name + ("MTModel" if name == "Marian" else "ForConditionalGeneration")
        yield name, model, name + "Config", BART, PAIR
    for name in ("T5", "MT5", "UMT5", "LongT5", "SwitchTransformers"):
        yield name, name + "ForConditionalGeneration", name + "Config", dict(T5, **(dict(num_experts=2) if name[0] == "S" else {})), PAIR
    yield "Whisper", "WhisperForConditionalGeneration", "WhisperConfig", dict(BART, max_source_positions=16, max_target_positions=16, num_mel_bins=8), \
        lambda: dict(input_features=real(1, 8, 32), decoder_input_ids=words(5, 1))
    yield "Moonshine", "MoonshineForConditionalGeneration", "MoonshineConfig", dict(hidden_size=32, intermediate_size=64, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1,
                                                                                 encoder_num_attention_heads=4, decoder_num_attention_heads=4, vocab_size=64, use_cache=False, **TOKENS), \
        lambda: dict(input_values=real(1, 2000, low=-1, high=1), decoder_input_ids=words(5, 1))
    yield "Speech2Text", "Speech2TextForConditionalGeneration", "Speech2TextConfig", dict(BART, input_feat_per_channel=8, max_source_positions=64, max_target_positions=64,
                                                                                       conv_channels=16), \
        lambda: dict(input_features=real(1, 32, 8), decoder_input_ids=words(5, 1))
    for name in ("ViT", "DeiT", "Dinov2", "ViTMSN", "IJepa", "Yolos", "Dinov2WithRegisters"):
        yield name, ("YolosForObjectDetection" if name == "Yolos" else name + "Model"), name + "Config", dict(PATCHES, **(dict(image_size=[32, 32], num_detection_tokens=5) if name == "Yolos" else {})), IMAGE
    yield "Beit", "BeitModel", "BeitConfig", dict(PATCHES, use_relative_position_bias=True), IMAGE
    yield "CLIPVision", "CLIPVisionModel", "CLIPVisionConfig", PATCHES, IMAGE
    yield "SiglipVision", "SiglipVisionModel", "SiglipVisionConfig", PATCHES, IMAGE
    yield "CLIPText", "CLIPTextModel", "CLIPTextConfig", dict(SIZES, **TOKENS), TEXT
    yield "CLIP", "CLIPModel", "CLIPConfig", dict(text_config=dict(SIZES, **TOKENS), vision_config=PATCHES, projection_dim=16), \
        lambda: dict(input_ids=words(), pixel_values=real(1, 3, 32, 32))
    yield "Swin", "SwinModel", "SwinConfig", dict(image_size=32, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4), IMAGE
    yield "Swinv2", "Swinv2Model", "Swinv2Config", dict(image_size=32, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4), IMAGE
    yield "ConvNext", "ConvNextModel", "ConvNextConfig", STAGES, IMAGE
    yield "ConvNextV2", "ConvNextV2Model", "ConvNextV2Config", STAGES, IMAGE
    yield "ResNet", "ResNetModel", "ResNetConfig", dict(embedding_size=8, **STAGES), IMAGE
    yield "RegNet", "RegNetModel", "RegNetConfig", dict(embedding_size=8, groups_width=4, **STAGES), IMAGE
    yield "MobileNetV1", "MobileNetV1Model", "MobileNetV1Config", dict(depth_multiplier=0.25, image_size=32), IMAGE
    yield "MobileNetV2", "MobileNetV2Model", "MobileNetV2Config", dict(depth_multiplier=0.25, image_size=32), IMAGE
    yield "MobileViT", "MobileViTModel", "MobileViTConfig", dict(hidden_sizes=[16, 20, 24], neck_hidden_sizes=[8, 8, 12, 16, 16, 20, 24], num_attention_heads=2, image_size=64), lambda: (real(1, 3, 64, 64),)
    yield "Segformer", "SegformerModel", "SegformerConfig", dict(hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16), IMAGE
    yield "PoolFormer", "PoolFormerModel", "PoolFormerConfig", STAGES, IMAGE
    yield "EfficientNet", "EfficientNetModel", "EfficientNetConfig", dict(width_coefficient=0.25, depth_coefficient=0.3, image_size=32, hidden_dim=320), IMAGE
    yield "Pvt", "PvtModel", "PvtConfig", dict(image_size=32, depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2]), IMAGE
    yield "FocalNet", "FocalNetModel", "FocalNetConfig", dict(image_size=32, embed_dim=8, depths=[1, 1], hidden_sizes=[8, 16], focal_levels=[2, 2], focal_windows=[3, 3]), IMAGE
    yield "Levit", "LevitModel", "LevitConfig", dict(image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 2, 2], depths=[1, 1, 1], key_dim=[4, 4, 4]), lambda: (real(1, 3, 64, 64),)
    yield "Detr", "DetrForObjectDetection", "DetrConfig", dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                                                              decoder_ffn_dim=64, num_queries=5, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                                                              backbone_config=t.ResNetConfig(embedding_size=8, out_features=["stage4"], **STAGES)), lambda: (real(1, 3, 64, 64),)
    for name in ("Wav2Vec2", "Hubert", "WavLM", "UniSpeech", "Data2VecAudio"):
        extra = dict(conv_pos_kernel_size=3, num_conv_pos_embeddings=2) if name == "Data2VecAudio" else {}
        yield name, name + "Model", name + "Config", dict(SPEECH, **extra), WAVE
    yield "Wav2Vec2Conformer", "Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", dict(SPEECH, conv_depthwise_kernel_size=3, position_embeddings_type="rotary"), WAVE
    yield "AST", "ASTModel", "ASTConfig", dict(PATCHES, max_length=32, num_mel_bins=16, frequency_stride=8, time_stride=8), lambda: (real(1, 32, 16),)


class Answer(torch.nn.Module):
    """The tensors of an answer that a user reads."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *args):
        out = self.model(**dict(zip(self.names, args))) if self.names else self.model(*args)
        return tuple(out[k] for k in ("logits", "pred_boxes", "logits_per_image", "last_hidden_state") if k in out)


def outcome(npuc, work, family, extra=()):
    _, model, config, settings, inputs = family
    torch.manual_seed(0)
    arguments = inputs()
    names = list(arguments) if isinstance(arguments, dict) else None
    values = tuple(arguments.values()) if names else arguments
    try:
        network = getattr(t, model)(getattr(t, config)(**settings)).eval()
        with torch.no_grad():
            Answer(network, names)(*values)
    except Exception as e:  # this release of the package has it otherwise: the list above is wrong, not npuc
        return "not built", f"{type(e).__name__}: {str(e)[:160]}"
    try:
        wrong = aten_ops.check(npuc, work, (family[0], Answer(network, names), values, None, False, None, False, None), False, aten_ops.Seen())
    except Exception as e:
        return "not exported", f"{type(e).__name__}: {str(e).splitlines()[0][:160] if str(e) else ''}"
    return ("wrong" if wrong and wrong.startswith(("linear", "values")) else "refused" if wrong and wrong.startswith("status") else "wrong" if wrong else "right"), wrong or ""


def page(rows):
    lines = ["# Families of transformers", "",
             f"Written by `tests/peers/transformers_families.py` (transformers {t.__version__}, torch {torch.__version__.split('+')[0]}): each family in a tiny configuration with random",
             "weights, `torch.export.export` as it stands, run by `npuc run`, every value within 1e-4 relative of torch's.", "",
             "| family | class | result |", "| --- | --- | --- |"]
    lines += [f"| {name} | `{model}` | {result}{': ' + reason if reason else ''} |" for name, model, result, reason in rows]
    right = sum(r[2] == "right" for r in rows)
    return "\n".join(lines + ["", f"{right} of {len(rows)} right.", ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npuc", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--page")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    torch.set_num_threads(1)
    aten_ops.self_test()
    rows = []
    for family in families():
        if args.only and family[0] not in args.only.split(","):
            continue
        result, reason = outcome(args.npuc, args.work, family)
        reason = " ".join(reason.split())
        print(f"{result:13}{family[0]}{': ' + reason if reason else ''}", flush=True)
        for hidden in (args.work + "/", os.getcwd() + "/", os.path.dirname(os.path.dirname(t.__file__)) + "/"):
            reason = reason.replace(hidden, "")
        rows.append((family[0], family[1], result, reason[:200].replace("|", "/")))
    right = sum(r[2] == "right" for r in rows)
    print(f"{right} of {len(rows)} families right")
    if args.page:
        with open(args.page, "w") as f:
            f.write(page(rows))
    return 0 if right >= 0.9 * len(rows) and rows else 1


if __name__ == "__main__":
    sys.exit(main())
