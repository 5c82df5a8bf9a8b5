#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/hub: small folders of Hugging Face by family, and what llama.cpp's converter makes of them.

    /usr/bin/python3 tests/tools/hub_folders.py LLAMA_SOURCE [ROW...]   # writes the rows' expected keys and tensors
    /usr/bin/python3 tests/tools/hub_folders.py --folder ROW FOLDER     # writes a row's folder alone

LLAMA_SOURCE holds convert_hf_to_gguf.py. It needs numpy, torch and sentencepiece, as Debian has them; stand-ins for
transformers read the files themselves. A row's values follow from the tensor's name and the value's number, so that
tests make the same folder from the row alone.
"""
import json
import pathlib
import struct
import sys
import tempfile
import types

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "hub"
VOCABULARY = 288

# --- rows ---

WIDTH, HEADS, KV_HEADS, HEAD, INNER, LAYERS = 32, 4, 2, 8, 48, 2


def base(architecture, **more):
    config = {"architectures": [architecture], "hidden_size": WIDTH, "num_attention_heads": HEADS,
              "num_key_value_heads": KV_HEADS, "num_hidden_layers": LAYERS, "intermediate_size": INNER,
              "vocab_size": VOCABULARY, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "bos_token_id": 1, "eos_token_id": 2}
    config.update(more)
    return {k: v for k, v in config.items() if v is not None}


def attention(layer, bias=(), qk_norm=None):
    rows = {"q": HEADS * HEAD, "k": KV_HEADS * HEAD, "v": KV_HEADS * HEAD, "o": WIDTH}
    columns = {"o": HEADS * HEAD}
    for part, count in rows.items():
        yield f"{layer}.self_attn.{part}_proj.weight", [count, columns.get(part, WIDTH)]
        if part in bias:
            yield f"{layer}.self_attn.{part}_proj.bias", [count]
    if qk_norm:
        yield f"{layer}.self_attn.q_norm.weight", [qk_norm[0]]
        yield f"{layer}.self_attn.k_norm.weight", [qk_norm[1]]


def mlp(layer, inner=INNER, name="mlp"):
    for part in ("gate", "up"):
        yield f"{layer}.{name}.{part}_proj.weight", [inner, WIDTH]
    yield f"{layer}.{name}.down_proj.weight", [WIDTH, inner]


def norms(layer, *names, bias=False):
    for name in names:
        yield f"{layer}.{name}.weight", [WIDTH]
        if bias:
            yield f"{layer}.{name}.bias", [WIDTH]


def decoder(blocks, head=True, wrap="", bias=False):
    yield f"{wrap}model.embed_tokens.weight", [VOCABULARY, WIDTH]
    for i in range(LAYERS):
        yield from blocks(f"{wrap}model.layers.{i}")
    yield from norms(f"{wrap}model", "norm", bias=bias)
    if head:
        yield f"{wrap}lm_head.weight", [VOCABULARY, WIDTH]


def chain(*parts):
    for part in parts:
        yield from part


def inside(tensors):
    """Names of a decoder that stands within a model of images."""
    for name, *rest in tensors:
        yield name.replace("model.", "model.language_model.", 1), *rest


TWO = ("input_layernorm", "post_attention_layernorm")
FOUR = TWO + ("pre_feedforward_layernorm", "post_feedforward_layernorm")
POST = ("post_attention_layernorm", "post_feedforward_layernorm")


def dense(layer, **options):
    return chain(attention(layer, **options), mlp(layer), norms(layer, *TWO))


def experts(layer, count=3, inner=24):
    for i in range(count):
        yield from mlp(layer, inner, f"mlp.experts.{i}")
    yield f"{layer}.mlp.gate.weight", [count, WIDTH]


def mixtral(layer):
    for i in range(3):
        for part, shape in (("w1", [INNER, WIDTH]), ("w2", [WIDTH, INNER]), ("w3", [INNER, WIDTH])):
            yield f"{layer}.block_sparse_moe.experts.{i}.{part}.weight", shape
    yield f"{layer}.block_sparse_moe.gate.weight", [3, WIDTH]
    yield from chain(attention(layer), norms(layer, *TWO))


def granite_experts(layer):
    yield f"{layer}.block_sparse_moe.router.layer.weight", [3, WIDTH]
    yield f"{layer}.block_sparse_moe.input_linear.weight", [3, 2 * INNER, WIDTH]
    yield f"{layer}.block_sparse_moe.output_linear.weight", [3, WIDTH, INNER]
    yield f"{layer}.shared_mlp.input_linear.weight", [2 * 40, WIDTH]
    yield f"{layer}.shared_mlp.output_linear.weight", [WIDTH, 40]
    yield from chain(attention(layer), norms(layer, *TWO))


def fused(layer, *names, qkv="qkv_proj", gate_up="gate_up_proj", separate=False):
    if separate:
        yield from attention(layer)
    else:
        yield f"{layer}.self_attn.{qkv}.weight", [(HEADS + 2 * KV_HEADS) * HEAD, WIDTH]
        yield f"{layer}.self_attn.o_proj.weight", [WIDTH, HEADS * HEAD]
    yield f"{layer}.mlp.{gate_up}.weight", [2 * INNER, WIDTH]
    yield f"{layer}.mlp.down_proj.weight", [WIDTH, INNER]
    yield from norms(layer, *(names or TWO))


def gpt2():
    yield "wte.weight", [VOCABULARY, WIDTH]
    yield "wpe.weight", [128, WIDTH]
    for i in range(LAYERS):
        for name, shape in (("attn.c_attn", [WIDTH, 3 * WIDTH]), ("attn.c_proj", [WIDTH, WIDTH]),
                            ("mlp.c_fc", [WIDTH, 4 * WIDTH]), ("mlp.c_proj", [4 * WIDTH, WIDTH])):
            yield f"h.{i}.{name}.weight", shape
            yield f"h.{i}.{name}.bias", [shape[1]]
        yield from norms(f"h.{i}", "ln_1", "ln_2", bias=True)
    for end in ("weight", "bias"):
        yield f"ln_f.{end}", [WIDTH]


def starcoder2(layer):
    yield from attention(layer, bias="qkvo")
    for name, shape in (("c_fc", [INNER, WIDTH]), ("c_proj", [WIDTH, INNER])):
        yield f"{layer}.mlp.{name}.weight", shape
        yield f"{layer}.mlp.{name}.bias", [shape[0]]
    yield from norms(layer, *TWO, bias=True)


def stablelm(layer):
    yield from attention(layer)
    yield from chain(mlp(layer), norms(layer, *TWO, bias=True))


def shared_experts(layer, shared=48):
    yield from chain(attention(layer), norms(layer, *TWO))
    if layer.endswith(".0"):
        yield from mlp(layer)
    else:
        yield from experts(layer)
        yield from mlp(layer, shared, "mlp.shared_experts")


def latent(layer, low=None):
    if low:
        yield f"{layer}.self_attn.q_a_proj.weight", [low, WIDTH]
        yield f"{layer}.self_attn.q_a_layernorm.weight", [low]
    yield f"{layer}.self_attn.q_{'b_' if low else ''}proj.weight", [HEADS * 12, low or WIDTH]
    yield f"{layer}.self_attn.kv_a_proj_with_mqa.weight", [16 + 4, WIDTH]
    yield f"{layer}.self_attn.kv_a_layernorm.weight", [16]
    yield f"{layer}.self_attn.kv_b_proj.weight", [HEADS * (8 + 6), 16]
    yield f"{layer}.self_attn.o_proj.weight", [WIDTH, HEADS * 6]
    for name, shape in shared_experts(layer):
        if "self_attn" not in name:
            yield name, shape
    if low and not layer.endswith(".0"):
        yield f"{layer}.mlp.gate.e_score_correction_bias", [3]


LATENT = {"first_k_dense_replace": 1, "moe_intermediate_size": 24, "n_routed_experts": 3, "n_shared_experts": 2,
          "num_experts_per_tok": 2, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6,
          "num_key_value_heads": HEADS}


DENSE_LATENT = {key: value for key, value in LATENT.items() if "expert" not in key and "dense" not in key and
                key != "moe_intermediate_size"}


def dense_latent(layer):
    for name, shape in latent(layer, 12):
        if ".mlp." not in name:
            yield name, shape
    yield from mlp(layer)


def columns_of_experts(layer):
    yield f"{layer}.mlp.experts.gate_up_proj", [3, WIDTH, 2 * 24]
    yield f"{layer}.mlp.experts.down_proj", [3, 24, WIDTH]
    yield f"{layer}.mlp.gate.weight", [3, WIDTH]
    yield from chain(attention(layer, qk_norm=(HEAD, HEAD)), norms(layer, *TWO))


def glm_of_images(layer):
    for name, shape in fused(layer, *TWO, "post_self_attn_layernorm", "post_mlp_layernorm", separate=True):
        if ".self_attn." not in name:
            yield name, shape
    yield from attention(layer, bias="qkv")


def lfm2(layer):
    if layer.endswith(".0"):
        yield f"{layer}.conv.conv.weight", [WIDTH, 1, 3]
        yield f"{layer}.conv.in_proj.weight", [3 * WIDTH, WIDTH]
        yield f"{layer}.conv.out_proj.weight", [WIDTH, WIDTH]
    else:
        for name, shape in attention(layer):
            yield name.replace("o_proj", "out_proj"), shape
        for part in "qk":
            yield f"{layer}.self_attn.{part}_layernorm.weight", [HEAD]
    for part, shape in (("w1", [INNER, WIDTH]), ("w2", [WIDTH, INNER]), ("w3", [INNER, WIDTH])):
        yield f"{layer}.feed_forward.{part}.weight", shape
    yield from norms(layer, "operator_norm", "ffn_norm")


def lfm2_experts(layer):
    for name, shape in lfm2(layer):
        if layer.endswith(".0") or "feed_forward" not in name:
            yield name, shape
    if not layer.endswith(".0"):
        for i in range(3):
            for part, shape in (("w1", [24, WIDTH]), ("w2", [WIDTH, 24]), ("w3", [24, WIDTH])):
                yield f"{layer}.feed_forward.experts.{i}.{part}.weight", shape
        yield f"{layer}.feed_forward.gate.weight", [3, WIDTH]
        yield f"{layer}.feed_forward.expert_bias", [3]


def ernie_experts(layer):
    # The converter takes the shared expert's width to be intermediate_size over the number of key heads.
    yield from shared_experts(layer, INNER // KV_HEADS)
    if not layer.endswith(".0"):
        yield f"{layer}.mlp.moe_statics.e_score_correction_bias", [1, 3]


def lfm2_model(blocks=lfm2):
    yield "model.embed_tokens.weight", [VOCABULARY, WIDTH]
    for i in range(LAYERS):
        yield from blocks(f"model.layers.{i}")
    yield "model.embedding_norm.weight", [WIDTH]


def mamba1(layer):
    yield f"{layer}.norm.weight", [WIDTH]
    for part, shape in (("in_proj.weight", [128, WIDTH]), ("conv1d.weight", [64, 1, 4]), ("conv1d.bias", [64]),
                        ("x_proj.weight", [2 + 2 * 4, 64]), ("dt_proj.weight", [64, 2]), ("dt_proj.bias", [64]),
                        ("A_log", [64, 4]), ("D", [64]), ("out_proj.weight", [WIDTH, 64])):
        yield f"{layer}.mixer.{part}", shape


SSM = {"heads": 4, "groups": 2, "state": 8, "inner": 64}


def mamba2(layer):
    inner, channels = SSM["inner"], SSM["inner"] + 2 * SSM["groups"] * SSM["state"]
    for part, shape in (("in_proj.weight", [inner + channels + SSM["heads"], WIDTH]),
                        ("conv1d.weight", [channels, 1, 4]), ("conv1d.bias", [channels]), ("dt_bias", [SSM["heads"]]),
                        ("A_log", [SSM["heads"]]), ("D", [SSM["heads"]]), ("norm.weight", [inner]),
                        ("out_proj.weight", [WIDTH, inner])):
        yield f"{layer}.{part}", shape


def backbone(blocks, layers=LAYERS, embeddings="embeddings", head=False):
    yield f"backbone.{embeddings}.weight", [VOCABULARY, WIDTH]
    for i in range(layers):
        yield from blocks(f"backbone.layers.{i}")
    yield "backbone.norm_f.weight", [WIDTH]
    if head:
        yield "lm_head.weight", [VOCABULARY, WIDTH]


def granite_hybrid(layer, has_experts=True):
    yield from granite_mlp(layer, has_experts)
    yield from norms(layer, *TWO)
    yield from mamba2(f"{layer}.mamba") if layer.endswith(".0") else attention(layer)


def granite_mlp(layer, has_experts=True):
    for name, shape in granite_experts(layer):
        if "shared_mlp" in name or ("block_sparse_moe" in name and has_experts):
            # Without experts it is the MLP.
            yield name, [{80: 2 * INNER, 40: INNER}.get(n, n) for n in shape] if not has_experts else shape


GRANITE_HYBRID = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 2, "mamba_d_state": 8, "mamba_d_conv": 4,
                  "mamba_expand": 2, "layer_types": ["mamba", "attention"], "attention_multiplier": 0.125,
                  "embedding_multiplier": 12.0, "residual_multiplier": 0.25, "logits_scaling": 8.0,
                  "shared_intermediate_size": 40}


def nemotron(layer, has_experts=False):
    yield f"{layer}.norm.weight", [WIDTH]
    if layer.endswith(".0"):
        yield from mamba2(f"{layer}.mixer")
    elif layer.endswith(".1"):
        for name, shape in attention(layer):
            yield name.replace("self_attn", "mixer"), shape
    elif has_experts:
        for i in range(3):
            yield f"{layer}.mixer.experts.{i}.up_proj.weight", [24, WIDTH]
            yield f"{layer}.mixer.experts.{i}.down_proj.weight", [WIDTH, 24]
        yield f"{layer}.mixer.gate.weight", [3, WIDTH]
        yield f"{layer}.mixer.gate.e_score_correction_bias", [3]
        yield f"{layer}.mixer.shared_experts.up_proj.weight", [40, WIDTH]
        yield f"{layer}.mixer.shared_experts.down_proj.weight", [WIDTH, 40]
    else:
        yield f"{layer}.mixer.up_proj.weight", [INNER, WIDTH]
        yield f"{layer}.mixer.down_proj.weight", [WIDTH, INNER]


NEMOTRON = {"mamba_num_heads": 4, "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 8, "conv_kernel": 4,
            "expand": 2, "num_hidden_layers": 3, "head_dim": HEAD, "layer_norm_epsilon": 1e-5}


def bamba(layer):
    yield from chain(norms(layer, "input_layernorm", "pre_ff_layernorm"), mlp(layer, name="feed_forward"))
    yield from mamba2(f"{layer}.mamba") if layer.endswith(".0") else attention(layer)


def bamba_model():
    for name, shape in decoder(bamba):
        yield name.replace("model.norm.", "model.final_layernorm."), shape


BAMBA = {key: value for key, value in GRANITE_HYBRID.items() if key.startswith("mamba_")}


def falcon_h1(layer):
    yield from chain(attention(layer), mamba2(f"{layer}.mamba"))
    for name, shape in mlp(layer, name="feed_forward"):
        yield name, shape
    yield from norms(layer, "input_layernorm", "pre_ff_layernorm")


def falcon_h1_model():
    yield "model.embed_tokens.weight", [VOCABULARY, WIDTH]
    for i in range(LAYERS):
        yield from falcon_h1(f"model.layers.{i}")
    yield "model.final_layernorm.weight", [WIDTH]
    yield "lm_head.weight", [VOCABULARY, WIDTH]


DELTA = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 12,
         "linear_conv_kernel_dim": 4}


def delta_net(layer, parts):
    keys, values = 2 * 8, 4 * 12
    shapes = {"in_proj_qkvz.weight": [2 * keys + 2 * values, WIDTH], "in_proj_ba.weight": [8, WIDTH],
              "in_proj_qkv.weight": [2 * keys + values, WIDTH], "in_proj_z.weight": [values, WIDTH],
              "in_proj_b.weight": [4, WIDTH], "in_proj_a.weight": [4, WIDTH],
              "conv1d.weight": [2 * keys + values, 1, 4], "dt_bias": [4], "A_log": [4], "norm.weight": [12],
              "out_proj.weight": [WIDTH, values]}
    for part in parts + ("conv1d.weight", "dt_bias", "A_log", "norm.weight", "out_proj.weight"):
        yield f"{layer}.linear_attn.{part}", shapes[part]


def gated_delta(layer, parts, has_experts):
    if layer.endswith(".0"):
        yield from delta_net(layer, parts)
    else:
        for name, shape in attention(layer, qk_norm=(HEAD, HEAD)):
            yield name, [2 * shape[0], shape[1]] if "q_proj" in name else shape
    yield from norms(layer, *TWO)
    if has_experts:
        yield from chain(experts(layer), mlp(layer, 40, "mlp.shared_expert"))
        yield f"{layer}.mlp.shared_expert_gate.weight", [1, WIDTH]
    else:
        yield from mlp(layer)


FUSED, APART = ("in_proj_qkvz.weight", "in_proj_ba.weight"), tuple(
    f"in_proj_{part}.weight" for part in ("qkv", "z", "b", "a"))
QWEN35 = dict(base("Qwen35Text", head_dim=HEAD, rope_theta=None,
                   rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25,
                                    "mrope_section": [1, 1, 0], "mrope_interleaved": True}),
              layer_types=["linear_attention", "full_attention"], full_attention_interval=2, **DELTA)
QWEN_EXPERTS = {"num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
                "shared_expert_intermediate_size": 40}


def gpt_oss(layer, packed=True):
    yield from attention(layer, bias="qkvo")
    yield f"{layer}.self_attn.sinks", [HEADS]
    yield f"{layer}.mlp.router.weight", [3, WIDTH]
    yield f"{layer}.mlp.router.bias", [3]
    for name, rows, columns in (("gate_up_proj", 2 * 64, WIDTH), ("down_proj", WIDTH, 64)):
        yield f"{layer}.mlp.experts.{name}_bias", [3, rows]
        if packed:
            yield f"{layer}.mlp.experts.{name}_blocks", [3, rows, columns // 32, 16], "U8"
            yield f"{layer}.mlp.experts.{name}_scales", [3, rows, columns // 32], "U8"
        else:
            yield f"{layer}.mlp.experts.{name}", [3, columns, rows]
    yield from norms(layer, *TWO)


GPT_OSS = base("GptOssForCausalLM", head_dim=HEAD, intermediate_size=64, num_local_experts=3, num_experts_per_tok=2,
               sliding_window=16, layer_types=["sliding_attention", "full_attention"],
               rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32,
                             "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False})


def glm_experts(layer):
    for name, shape in shared_experts(layer):
        if "self_attn" not in name:
            yield name, shape
    yield from attention(layer, bias="qkv", qk_norm=(HEAD, HEAD))
    if not layer.endswith(".0"):
        yield f"{layer}.mlp.gate.e_score_correction_bias", [3]


GEMMA4_NORMS = FOUR + ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")


def gemma4(layer, has_experts=False, per_layer=0, shared=0):
    full = layer.endswith(".1")
    head = 2 * HEAD if full else HEAD
    heads = 1 if full and not per_layer else KV_HEADS
    for part, rows in (("q", HEADS * head), ("k", heads * head), ("v", heads * head)):
        yield f"{layer}.self_attn.{part}_proj.weight", [rows, WIDTH]
    yield f"{layer}.self_attn.o_proj.weight", [WIDTH, HEADS * head]
    for part in "qk":
        yield f"{layer}.self_attn.{part}_norm.weight", [head]
    yield from mlp(layer)
    yield f"{layer}.layer_scalar", [1]
    yield from norms(layer, *(GEMMA4_NORMS if has_experts else FOUR))
    if has_experts:
        yield f"{layer}.router.proj.weight", [3, WIDTH]
        yield f"{layer}.router.scale", [WIDTH]
        yield f"{layer}.router.per_expert_scale", [3]
        yield f"{layer}.experts.gate_up_proj", [3, 2 * 24, WIDTH]
        yield f"{layer}.experts.down_proj", [3, WIDTH, 24]
    if per_layer:
        yield f"{layer}.per_layer_input_gate.weight", [per_layer, WIDTH]
        yield f"{layer}.per_layer_projection.weight", [WIDTH, per_layer]
        yield f"{layer}.post_per_layer_input_norm.weight", [WIDTH]


def gemma4_vectors(per_layer):
    yield "model.embed_tokens_per_layer.weight", [VOCABULARY, LAYERS * per_layer]
    yield "model.per_layer_model_projection.weight", [LAYERS * per_layer, WIDTH]
    yield "model.per_layer_projection_norm.weight", [per_layer]


def gemma4_config(**more):
    return base("Gemma4Text", head_dim=HEAD, global_head_dim=2 * HEAD, num_kv_shared_layers=0, sliding_window=16,
                layer_types=["sliding_attention", "full_attention"], rope_theta=None, final_logit_softcapping=30.0,
                rope_parameters={"full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0,
                                                    "partial_rotary_factor": 0.25},
                                 "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}, **more)


def bert(prefix="", layers=LAYERS, types=2, gamma=("weight", "bias")):
    def norm(name):
        yield f"{prefix}{name}.{gamma[0]}", [WIDTH]
        yield f"{prefix}{name}.{gamma[1]}", [WIDTH]

    yield f"{prefix}embeddings.word_embeddings.weight", [VOCABULARY, WIDTH]
    yield f"{prefix}embeddings.position_embeddings.weight", [66, WIDTH]
    yield f"{prefix}embeddings.token_type_embeddings.weight", [types, WIDTH]
    yield from norm("embeddings.LayerNorm")
    for i in range(layers):
        layer = f"encoder.layer.{i}"
        for name, rows, columns in (("attention.self.query", WIDTH, WIDTH), ("attention.self.key", WIDTH, WIDTH),
                                    ("attention.self.value", WIDTH, WIDTH), ("attention.output.dense", WIDTH, WIDTH),
                                    ("intermediate.dense", INNER, WIDTH), ("output.dense", WIDTH, INNER)):
            yield f"{prefix}{layer}.{name}.weight", [rows, columns]
            yield f"{prefix}{layer}.{name}.bias", [rows]
        yield from chain(norm(f"{layer}.attention.output.LayerNorm"), norm(f"{layer}.output.LayerNorm"))
    yield f"{prefix}pooler.dense.weight", [WIDTH, WIDTH]
    yield f"{prefix}pooler.dense.bias", [WIDTH]


def distil_bert(prefix=""):
    yield f"{prefix}embeddings.word_embeddings.weight", [VOCABULARY, WIDTH]
    yield f"{prefix}embeddings.position_embeddings.weight", [66, WIDTH]
    yield from norms(f"{prefix}embeddings", "LayerNorm", bias=True)
    for i in range(LAYERS):
        layer = f"{prefix}transformer.layer.{i}"
        for name, rows, columns in (("attention.q_lin", WIDTH, WIDTH), ("attention.k_lin", WIDTH, WIDTH),
                                    ("attention.v_lin", WIDTH, WIDTH), ("attention.out_lin", WIDTH, WIDTH),
                                    ("ffn.lin1", INNER, WIDTH), ("ffn.lin2", WIDTH, INNER)):
            yield f"{layer}.{name}.weight", [rows, columns]
            yield f"{layer}.{name}.bias", [rows]
        yield from norms(layer, "sa_layer_norm", "output_layer_norm", bias=True)


def classifier(labels, dense=True):
    if dense:
        yield "classifier.dense.weight", [WIDTH, WIDTH]
        yield "classifier.dense.bias", [WIDTH]
    name = "classifier.out_proj" if dense else "classifier"
    yield f"{name}.weight", [labels, WIDTH]
    yield f"{name}.bias", [labels]


def nomic():
    yield "embeddings.word_embeddings.weight", [VOCABULARY, WIDTH]
    yield "embeddings.token_type_embeddings.weight", [2, WIDTH]
    yield "emb_ln.weight", [WIDTH]
    yield "emb_ln.bias", [WIDTH]
    for i in range(LAYERS):
        layer = f"encoder.layers.{i}"
        for name, rows, columns in (("attn.Wqkv", 3 * WIDTH, WIDTH), ("attn.out_proj", WIDTH, WIDTH),
                                    ("mlp.fc11", INNER, WIDTH), ("mlp.fc12", INNER, WIDTH), ("mlp.fc2", WIDTH, INNER)):
            yield f"{layer}.{name}.weight", [rows, columns]
        yield from norms(layer, "norm1", "norm2", bias=True)


def nomic_experts():
    for name, shape in nomic():
        if ".mlp." in name:
            continue
        yield name, [1, WIDTH] if "token_type" in name else shape
        if name.endswith(("Wqkv.weight", "out_proj.weight")):
            yield name.replace("weight", "bias"), shape[:1]
    for part, shape in (("fc1", [INNER, WIDTH]), ("fc2", [WIDTH, INNER])):
        yield f"encoder.layers.0.mlp.{part}.weight", shape
        yield f"encoder.layers.0.mlp.{part}.bias", shape[:1]
    yield "encoder.layers.1.mlp.router.layer.weight", [3, WIDTH]
    yield "encoder.layers.1.mlp.experts.bias", [WIDTH]
    for part in ("w1", "w2"):
        yield f"encoder.layers.1.mlp.experts.mlp.{part}", [3 * INNER, WIDTH]


def modern_bert(prefix=""):
    yield f"{prefix}embeddings.tok_embeddings.weight", [VOCABULARY, WIDTH]
    yield f"{prefix}embeddings.norm.weight", [WIDTH]
    for i in range(LAYERS):
        layer = f"{prefix}layers.{i}"
        for name, rows, columns in (("attn.Wqkv", 3 * WIDTH, WIDTH), ("attn.Wo", WIDTH, WIDTH),
                                    ("mlp.Wi", 2 * INNER, WIDTH), ("mlp.Wo", WIDTH, INNER)):
            yield f"{layer}.{name}.weight", [rows, columns]
        if i != 0:
            yield f"{layer}.attn_norm.weight", [WIDTH]
        yield f"{layer}.mlp_norm.weight", [WIDTH]
    yield f"{prefix}final_norm.weight", [WIDTH]


def t5_encoder():
    yield "shared.weight", [VOCABULARY, WIDTH]
    for i in range(LAYERS):
        block = f"encoder.block.{i}.layer"
        for part in "qkv":
            yield f"{block}.0.SelfAttention.{part}.weight", [HEADS * HEAD, WIDTH]
        yield f"{block}.0.SelfAttention.o.weight", [WIDTH, HEADS * HEAD]
        if i == 0:
            yield f"{block}.0.SelfAttention.relative_attention_bias.weight", [8, HEADS]
        yield f"{block}.0.layer_norm.weight", [WIDTH]
        for part in ("wi_0", "wi_1"):
            yield f"{block}.1.DenseReluDense.{part}.weight", [INNER, WIDTH]
        yield f"{block}.1.DenseReluDense.wo.weight", [WIDTH, INNER]
        yield f"{block}.1.layer_norm.weight", [WIDTH]
    yield "encoder.final_layer_norm.weight", [WIDTH]


def bert_config(architecture, **more):
    config = {"architectures": [architecture], "hidden_size": WIDTH, "num_attention_heads": HEADS,
              "num_hidden_layers": LAYERS, "intermediate_size": INNER, "vocab_size": VOCABULARY,
              "max_position_embeddings": 66, "layer_norm_eps": 1e-12, "type_vocab_size": 2, "pad_token_id": 0}
    config.update(more)
    return config

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}

# row: (config, tensors, element type, files of the vocabulary)
ROWS = {
    "llama": (base("LlamaForCausalLM", rope_scaling=LLAMA3), decoder(dense), "BF16", "bpe"),
    "llama-pieces": (base("LlamaForCausalLM", head_dim=HEAD, rope_scaling={"type": "linear", "factor": 2.0}),
                     decoder(dense), "F16", "pieces"),
    "llama-characters": (base("LlamaForCausalLM"), decoder(dense), "BF16", "characters"),
    "llama-bare": (base("LlamaModel"),
                   ((n.removeprefix("model."), s) for n, s in decoder(dense, head=False)), "BF16", "bpe"),
    "llama-images": (base("VLlama3ForCausalLM"),
                     chain(((n.replace("model.", "model.text_model."), s) for n, s in decoder(dense)),
                           [("model.connector.modality_projection.proj.weight", [8, 8])]), "BF16", "bpe"),
    "sarashina": (base("Sarashina2VisionForCausalLM", text_config=base("SarashinaText")),
                  chain(((f"llm.{n}", s) for n, s in decoder(dense)),
                        [("norm.weight", [WIDTH]), ("visual.merger.norm.weight", [8])]), "BF16", "pieces"),
    "internlm3": (base("InternLM3ForCausalLM", head_dim=HEAD, bias=False, qkv_bias=False,
                       rope_scaling={"rope_type": "dynamic", "factor": 6.0}), decoder(dense), "BF16", "pieces"),
    "qwen2-bare": (base("Qwen2Model"),
                   ((n.removeprefix("model."), s) for n, s in decoder(lambda l: dense(l, bias="qkv"), head=False)),
                   "BF16", "bpe"),
    "mixtral": (base("MixtralForCausalLM", num_local_experts=3, num_experts_per_tok=2), decoder(mixtral), "BF16",
                "pieces"),
    "mistral3": (base("Mistral3ForConditionalGeneration",
                      text_config=dict(base("MistralForCausalLM", head_dim=HEAD), model_type="mistral")),
                 decoder(dense, wrap="language_model."), "BF16", "bpe"),
    "qwen2": (base("Qwen2ForCausalLM", rope_scaling={"type": "yarn", "factor": 4.0,
                                                     "original_max_position_embeddings": 32}),
              decoder(lambda l: dense(l, bias="qkv")), "BF16", "bpe"),
    "qwen3": (base("Qwen3ForCausalLM", head_dim=HEAD), decoder(lambda l: dense(l, qk_norm=(HEAD, HEAD)), head=False),
              "BF16", "bpe"),
    "qwen2moe": (base("Qwen2MoeForCausalLM", num_experts=3, num_experts_per_tok=2, moe_intermediate_size=24,
                      shared_expert_intermediate_size=40),
                 decoder(lambda l: chain(attention(l, bias="qkv"), experts(l), mlp(l, 40, "mlp.shared_expert"),
                                         [(f"{l}.mlp.shared_expert_gate.weight", [1, WIDTH])], norms(l, *TWO))),
                 "BF16", "bpe"),
    "qwen3moe": (base("Qwen3MoeForCausalLM", head_dim=HEAD, num_experts=3, num_experts_per_tok=2,
                      moe_intermediate_size=24),
                 decoder(lambda l: chain(attention(l, qk_norm=(HEAD, HEAD)), experts(l), norms(l, *TWO))), "BF16",
                 "bpe"),
    "gemma2": (base("Gemma2ForCausalLM", head_dim=HEAD, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
                    sliding_window=16),
               decoder(lambda l: chain(attention(l), mlp(l), norms(l, *FOUR)), head=False), "BF16", "pieces"),
    "gemma3": (base("Gemma3ForConditionalGeneration",
                    text_config=dict(base("Gemma3ForCausalLM", head_dim=HEAD, sliding_window=16, rope_theta=1000000.0,
                                          rope_local_base_freq=10000.0, sliding_window_pattern=6))),
               decoder(lambda l: chain(attention(l, qk_norm=(HEAD, HEAD)), mlp(l), norms(l, *FOUR)), head=False,
                       wrap="language_model."), "F16", "pieces"),
    "phi3": (base("Phi3ForCausalLM", original_max_position_embeddings=64,
                  rope_scaling={"type": "longrope", "long_factor": [1.5, 2.0, 2.5, 3.0],
                                "short_factor": [1.0, 1.125, 1.25, 1.5]}), decoder(fused), "BF16", "pieces"),
    "granite": (base("GraniteForCausalLM", attention_multiplier=0.125, embedding_multiplier=12.0,
                     residual_multiplier=0.25, logits_scaling=8.0), decoder(dense, head=False), "BF16", "bpe"),
    "granitemoe": (base("GraniteMoeSharedForCausalLM", attention_multiplier=0.125, embedding_multiplier=12.0,
                        residual_multiplier=0.25, logits_scaling=8.0, num_local_experts=3, num_experts_per_tok=2,
                        shared_intermediate_size=40), decoder(granite_experts, head=False), "BF16", "bpe"),
    "smollm3": (base("SmolLM3ForCausalLM"), decoder(dense, head=False), "BF16", "bpe"),
    "gpt2": ({"architectures": ["GPT2LMHeadModel"], "n_ctx": 128, "n_embd": WIDTH, "n_head": HEADS,
              "n_layer": LAYERS, "n_positions": 128, "layer_norm_epsilon": 1e-5, "vocab_size": VOCABULARY,
              "bos_token_id": 1, "eos_token_id": 1}, gpt2(), "F32", "bpe"),
    "olmo2": (base("Olmo2ForCausalLM"),
              decoder(lambda l: chain(attention(l, qk_norm=(HEADS * HEAD, KV_HEADS * HEAD)), mlp(l),
                                      norms(l, *POST))), "BF16", "bpe"),
    "olmo2-window": (base("Olmo3ForCausalLM", sliding_window=16,
                          layer_types=["sliding_attention", "full_attention"]),
                     decoder(lambda l: chain(attention(l, qk_norm=(HEADS * HEAD, KV_HEADS * HEAD)), mlp(l),
                                             norms(l, *POST))), "BF16", "bpe"),
    "exaone4": (base("Exaone4ForCausalLM", head_dim=HEAD, sliding_window=16, sliding_window_pattern="LG"),
                decoder(lambda l: chain(attention(l, qk_norm=(HEAD, HEAD)), mlp(l), norms(l, *POST))), "BF16", "bpe"),
    "seed_oss": (base("SeedOssForCausalLM", head_dim=HEAD), decoder(lambda l: dense(l, bias="qkv")), "BF16", "bpe"),
    "starcoder2": (base("Starcoder2ForCausalLM", rms_norm_eps=None, norm_epsilon=1e-5),
                   decoder(starcoder2, head=False, bias=True), "F32", "bpe"),
    "stablelm": (base("StableLmForCausalLM", rms_norm_eps=None, layer_norm_eps=1e-5, partial_rotary_factor=0.25,
                      use_parallel_residual=False), decoder(stablelm, bias=True), "F16", "bpe"),
    "command-r": (base("CohereForCausalLM", rms_norm_eps=None, layer_norm_eps=1e-5, logit_scale=0.0625,
                       model_max_length=256),
                  decoder(lambda l: chain(attention(l), mlp(l), norms(l, "input_layernorm")), head=False), "F16",
                  "bpe"),
    "ernie4_5": (base("Ernie4_5ForCausalLM", head_dim=HEAD), decoder(dense, head=False), "BF16", "pieces"),
    "ernie4_5-fused": (base("Ernie4_5_ForCausalLM", head_dim=HEAD),
                       decoder(lambda l: fused(l, gate_up="up_gate_proj"), head=False), "BF16", "pieces"),
    "glm4": (base("Glm4ForCausalLM", head_dim=HEAD, partial_rotary_factor=0.5),
             decoder(lambda l: fused(l, *TWO, "post_self_attn_layernorm", "post_mlp_layernorm", separate=True)),
             "BF16", "glm"),
    "glm4-sections": (base("Glm4vForConditionalGeneration",
                           text_config=base("Glm4vText", head_dim=HEAD, rope_theta=None, rope_parameters={
                               "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5,
                               "mrope_section": [1, 1, 0]})),
                      chain(inside(decoder(glm_of_images)), [("model.visual.merger.norm.weight", [8])]), "BF16", "glm"),
    "deepseek": (base("DeepseekForCausalLM", first_k_dense_replace=1, moe_intermediate_size=24, n_routed_experts=3,
                      n_shared_experts=2, num_experts_per_tok=2), decoder(shared_experts), "BF16", "bpe"),
    "deepseek2": (base("DeepseekV2ForCausalLM", q_lora_rank=None, scoring_func="softmax", routed_scaling_factor=1.0,
                       norm_topk_prob=False, n_group=1, topk_group=1, **LATENT), decoder(latent), "BF16", "bpe"),
    "deepseek2-v3": (base("DeepseekV3ForCausalLM", q_lora_rank=12, scoring_func="sigmoid", routed_scaling_factor=2.5,
                          norm_topk_prob=True, n_group=1, topk_group=1,
                          rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32,
                                        "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1},
                          **LATENT),
                     chain(decoder(lambda l: latent(l, 12)), [(f"model.layers.{LAYERS}.eh_proj.weight", [WIDTH, 8])]),
                     "BF16", "bpe"),
    "glm4-moe-lite": (base("Glm4MoeLiteForCausalLM", q_lora_rank=12, scoring_func="sigmoid", routed_scaling_factor=1.8,
                           norm_topk_prob=True, n_group=1, topk_group=1, **LATENT),
                      chain(decoder(lambda l: latent(l, 12)),
                            [(f"model.layers.{LAYERS}.eh_proj.weight", [WIDTH, 8])]), "BF16", "glm"),
    "qwen3vl": (base("Qwen3VLForConditionalGeneration", vision_config={"deepstack_visual_indexes": [0, 1]},
                     text_config=base("Qwen3VLText", head_dim=HEAD,
                                      rope_scaling={"rope_type": "default", "mrope_section": [2, 1, 1]})),
                chain(decoder(lambda l: dense(l, qk_norm=(HEAD, HEAD)), wrap="language_model."),
                      [("visual.merger.norm.weight", [8])]), "BF16", "bpe"),
    "qwen3vlmoe": (base("Qwen3VLMoeForConditionalGeneration", vision_config={"deepstack_visual_indexes": [0, 1]},
                        text_config=base("Qwen3VLMoeText", head_dim=HEAD, num_experts=3, num_experts_per_tok=2,
                                         moe_intermediate_size=24,
                                         rope_scaling={"rope_type": "default", "mrope_section": [2, 1, 1]})),
                   chain(inside(decoder(columns_of_experts)), [("model.visual.merger.norm.weight", [8])]), "BF16",
                   "bpe"),
    "qwen3-omni": (dict(base("Qwen3OmniMoeForConditionalGeneration"),
                        thinker_config={"text_config": base("Qwen3OmniText", head_dim=HEAD, num_experts=3,
                                                            num_experts_per_tok=2, moe_intermediate_size=24,
                                                            rope_scaling={"rope_type": "default",
                                                                          "mrope_section": [2, 1, 1]})}),
                   chain(((f"thinker.{n}", s) for n, s in decoder(
                       lambda l: chain(attention(l, qk_norm=(HEAD, HEAD)), experts(l), norms(l, *TWO)))),
                         [("thinker.visual.merger.ln_q.weight", [8]), ("talker.codec_head.weight", [8, 8]),
                          ("code2wav.decoder.0.conv.bias", [8])]), "BF16", "bpe"),
    "youtu": (base("YoutuForCausalLM", q_lora_rank=12, tie_word_embeddings=True, **DENSE_LATENT),
              decoder(dense_latent), "BF16", "bpe"),
    "hunyuan-dense": (base("HunYuanDenseV1ForCausalLM", head_dim=HEAD, max_position_embeddings=32768, eod_token_id=2,
                           rope_scaling={"type": "dynamic", "alpha": 1000.0, "factor": 1.0}),
                      decoder(lambda l: (
                          (n.replace("q_norm", "query_layernorm").replace("k_norm", "key_layernorm"), s)
                          for n, s in dense(l, qk_norm=(HEAD, HEAD))), head=False), "BF16", "bpe"),
    "lfm2": (base("Lfm2ForCausalLM", rms_norm_eps=None, norm_eps=1e-5, conv_L_cache=3, block_ff_dim=60,
                  block_auto_adjust_ff_dim=True, block_ffn_dim_multiplier=1.0, block_multiple_of=16,
                  layer_types=["conv", "full_attention"]), lfm2_model(), "BF16", "bpe"),
    "lfm2moe": (base("Lfm2MoeForCausalLM", rms_norm_eps=None, norm_eps=1e-5, conv_L_cache=3, num_dense_layers=1,
                     moe_intermediate_size=24, num_experts=3, num_experts_per_tok=2,
                     layer_types=["conv", "full_attention"]), lfm2_model(lfm2_experts), "BF16", "bpe"),
    "ernie4_5-moe": (base("Ernie4_5_MoeForCausalLM", moe_num_experts=3, moe_k=2, moe_layer_interval=1,
                          moe_layer_start_index=1, moe_intermediate_size=24, moe_num_shared_experts=1),
                     chain(decoder(ernie_experts, head=False),
                           [("model.mtp_linear_proj.0.weight", [WIDTH, 2 * WIDTH])]), "BF16", "pieces"),
    "mamba": ({"architectures": ["MambaForCausalLM"], "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
               "intermediate_size": 64, "state_size": 4, "conv_kernel": 4, "time_step_rank": 2,
               "layer_norm_epsilon": 1e-5, "vocab_size": 282, "bos_token_id": 1, "eos_token_id": 2},
              backbone(mamba1), "F32", "bpe"),
    "falcon-mamba": ({"architectures": ["FalconMambaForCausalLM"], "model_type": "falcon_mamba", "hidden_size": WIDTH,
                      "num_hidden_layers": LAYERS, "intermediate_size": 64, "state_size": 4, "conv_kernel": 4,
                      "time_step_rank": 2, "layer_norm_epsilon": 1e-5, "vocab_size": VOCABULARY, "bos_token_id": 1,
                      "eos_token_id": 2}, backbone(mamba1, head=True), "BF16", "bpe"),
    "mamba2": ({"architectures": ["Mamba2ForCausalLM"], "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
                "state_size": 8, "conv_kernel": 4, "expand": 2, "head_dim": 16, "num_heads": 4, "n_groups": 2,
                "layer_norm_epsilon": 1e-5, "vocab_size": 276, "bos_token_id": 1, "eos_token_id": 2},
               backbone(lambda l: chain(norms(l, "norm"), mamba2(f"{l}.mixer")), head=True), "BF16", "bpe"),
    "granitehybrid": (base("GraniteMoeHybridForCausalLM", num_local_experts=3, num_experts_per_tok=2,
                           position_embedding_type="nope", **GRANITE_HYBRID),
                      decoder(granite_hybrid, head=False), "BF16", "bpe"),
    "granitehybrid-dense": (base("GraniteMoeHybridForCausalLM", num_local_experts=0, num_experts_per_tok=0,
                                 **dict(GRANITE_HYBRID, shared_intermediate_size=INNER)),
                            decoder(lambda l: granite_hybrid(l, False), head=False), "BF16", "bpe"),
    "granite-attention": (base("GraniteMoeHybridForCausalLM", num_local_experts=0,
                               **dict(GRANITE_HYBRID, layer_types=["attention", "attention"],
                                      shared_intermediate_size=INNER)),
                          decoder(lambda l: chain(granite_mlp(l, False), attention(l), norms(l, *TWO)), head=False),
                          "BF16", "bpe"),
    "nemotron_h": (base("NemotronHForCausalLM", hybrid_override_pattern="M*-", **NEMOTRON),
                   backbone(nemotron, 3, head=True), "BF16", "bpe"),
    "nemotron_h_moe": (base("NemotronHForCausalLM", hybrid_override_pattern="M*E", num_experts_per_tok=2,
                            moe_intermediate_size=24, moe_shared_expert_intermediate_size=40, n_routed_experts=3,
                            n_shared_experts=1, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=1,
                            topk_group=1, **NEMOTRON),
                       backbone(lambda l: nemotron(l, True), 3, head=True), "BF16", "bpe"),
    "bamba": (base("BambaForCausalLM", attn_layer_indices=[1], attn_rotary_emb=4, **BAMBA), bamba_model(), "BF16",
              "bpe"),
    "falcon-h1": (base("FalconH1ForCausalLM", head_dim=HEAD, mamba_d_ssm=64, mamba_n_heads=4, mamba_d_head=16,
                       mamba_n_groups=2, mamba_d_state=8, mamba_d_conv=4, mamba_expand=2,
                       attention_in_multiplier=0.75, attention_out_multiplier=0.9375, ssm_in_multiplier=1.25,
                       ssm_out_multiplier=0.2357, mlp_multipliers=[0.8838, 0.2946],
                       ssm_multipliers=[0.3535, 0.25, 0.3535, 0.5, 0.3535], key_multiplier=0.39,
                       embedding_multiplier=5.656, lm_head_multiplier=0.0390625),
                  falcon_h1_model(), "BF16", "bpe"),
    "qwen3next": (base("Qwen3NextForCausalLM", head_dim=HEAD, partial_rotary_factor=0.25, full_attention_interval=2,
                       **QWEN_EXPERTS, **DELTA),
                  decoder(lambda l: gated_delta(l, FUSED, True)), "BF16", "bpe"),
    "qwen35": (base("Qwen3_5ForConditionalGeneration", text_config=QWEN35),
               chain(inside(decoder(lambda l: gated_delta(l, APART, False))),
                     [("model.visual.merger.norm.weight", [8])]), "BF16", "bpe"),
    "qwen35moe": (dict(QWEN35, architectures=["Qwen3_5MoeForCausalLM"], **QWEN_EXPERTS),
                  decoder(lambda l: gated_delta(l, APART, True)), "BF16", "bpe"),
    "gpt-oss": (dict(GPT_OSS, quantization_config={"quant_method": "mxfp4"}), decoder(gpt_oss), "BF16", "bpe"),
    "gpt-oss-whole": (GPT_OSS, decoder(lambda l: gpt_oss(l, False)), "BF16", "bpe"),
    "glm4moe": (base("Glm4MoeForCausalLM", head_dim=HEAD, partial_rotary_factor=0.5, first_k_dense_replace=1,
                     moe_intermediate_size=24, n_routed_experts=3, n_shared_experts=2, num_experts_per_tok=2,
                     routed_scaling_factor=2.5, norm_topk_prob=True, n_group=1, topk_group=1),
                decoder(glm_experts), "BF16", "glm"),
    "solar-open": (base("SolarOpenForCausalLM", head_dim=HEAD, partial_rotary_factor=1.0, first_k_dense_replace=0,
                        moe_intermediate_size=24, n_routed_experts=3, n_shared_experts=1, num_experts_per_tok=2,
                        routed_scaling_factor=1.0, norm_topk_prob=True, n_group=1, topk_group=1),
                   decoder(lambda l: chain(attention(l), norms(l, *TWO), experts(l),
                                           mlp(l, 24, "mlp.shared_experts"),
                                           [(f"{l}.mlp.gate.e_score_correction_bias", [3])])), "BF16", "bpe"),
    "gemma4-unified": (base("Gemma4UnifiedForConditionalGeneration", text_config=dict(gemma4_config(
                           hidden_size_per_layer_input=4), moe_intermediate_size=None)),
                       inside(chain(gemma4_vectors(4), decoder(lambda l: gemma4(l, per_layer=4), head=False))),
                       "BF16", "characters"),
    "gemma4": (base("Gemma4ForConditionalGeneration", text_config=dict(gemma4_config(
                    hidden_size_per_layer_input=4, use_double_wide_mlp=True), moe_intermediate_size=None)),
               chain(inside(chain(gemma4_vectors(4), decoder(lambda l: gemma4(l, per_layer=4), head=False))),
                     [("model.vision_tower.std_scale", [8])]), "BF16", "characters"),
    "gemma4-experts": (base("Gemma4ForCausalLM", text_config=gemma4_config(
                            num_experts=3, top_k_experts=2, moe_intermediate_size=24, num_global_key_value_heads=1)),
                       decoder(lambda l: gemma4(l, True), head=False), "BF16", "characters"),
    "bert": (bert_config("BertModel"), chain(bert(), [("embeddings.position_ids", [1, 66])]), "F32", "words"),
    "bert-scores": (bert_config("BertForSequenceClassification", id2label={"0": "no", "1": "so", "2": "yes"}),
                    chain(bert("bert.", gamma=("gamma", "beta")), classifier(3, False)), "F32", "words"),
    "roberta-scores": (bert_config("XLMRobertaForSequenceClassification", type_vocab_size=1, pad_token_id=1,
                                   bos_token_id=0, eos_token_id=2, id2label={"0": "no", "1": "so", "2": "yes"}),
                       chain(bert("roberta.", types=1), classifier(3)), "F32", "unigram"),
    "roberta": (bert_config("RobertaModel", type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2),
                bert(types=1), "F32", "bpe"),
    "distil-bert": ({"architectures": ["DistilBertModel"], "dim": WIDTH, "n_heads": HEADS, "n_layers": LAYERS,
                     "hidden_dim": INNER, "vocab_size": VOCABULARY, "max_position_embeddings": 66,
                     "pad_token_id": 0}, distil_bert(), "F32", "words"),
    "nomic-bert": ({"architectures": ["NomicBertModel"], "n_embd": WIDTH, "n_head": HEADS, "n_layer": LAYERS,
                    "n_inner": INNER, "n_positions": 8192, "max_trained_positions": 2048, "vocab_size": VOCABULARY,
                    "type_vocab_size": 2, "layer_norm_epsilon": 1e-12, "activation_function": "swiglu",
                    "causal": False, "qkv_proj_bias": False, "mlp_fc1_bias": False, "mlp_fc2_bias": False,
                    "prenorm": False, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
                    "rotary_emb_scale_base": None, "rotary_emb_base": 1000, "num_experts": 0}, nomic(), "F32",
                   "words"),
    "nomic-bert-moe": ({"architectures": ["NomicBertModel"], "n_embd": WIDTH, "n_head": HEADS, "n_layer": LAYERS,
                        "n_inner": INNER, "n_positions": 2048, "max_trained_positions": 2048, "vocab_size": VOCABULARY,
                        "type_vocab_size": 1, "layer_norm_epsilon": 1e-5, "activation_function": "gelu",
                        "causal": False, "qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True,
                        "prenorm": False, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
                        "rotary_emb_scale_base": None, "rotary_emb_base": 10000.0, "num_experts": 3,
                        "moe_every_n_layers": 2, "moe_top_k": 2, "pad_token_id": 1}, nomic_experts(), "F32", "unigram"),
    "modern-bert": ({"architectures": ["ModernBertForMaskedLM"], "hidden_size": WIDTH, "num_attention_heads": HEADS,
                     "num_hidden_layers": LAYERS, "intermediate_size": INNER, "vocab_size": VOCABULARY,
                     "max_position_embeddings": 128, "norm_eps": 1e-5, "layer_norm_eps": 1e-5, "local_attention": 16,
                     "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
                     "hidden_activation": "gelu", "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
                    chain(modern_bert("model."), [("head.dense.weight", [WIDTH, WIDTH]), ("head.norm.weight", [WIDTH])]), "F32", "bpe"),
    "qwen3-embeddings": (base("Qwen3Model", head_dim=HEAD),
                         ((n.removeprefix("model."), s)
                          for n, s in decoder(lambda l: dense(l, qk_norm=(HEAD, HEAD)), head=False)), "BF16", "bpe"),
    "qwen3-answers": (base("Qwen3ForCausalLM", head_dim=HEAD, tie_word_embeddings=False),
                       decoder(lambda l: dense(l, qk_norm=(HEAD, HEAD))), "BF16", "bpe"),
    "qwen3-answers-tied": (base("Qwen3ForCausalLM", head_dim=HEAD, tie_word_embeddings=True,
                                 _name_or_path="Qwen/Qwen3-Reranker-0.6B"),
                            decoder(lambda l: dense(l, qk_norm=(HEAD, HEAD)), head=False), "F32", "bpe"),
    "t5encoder": ({"architectures": ["T5EncoderModel"], "d_model": WIDTH, "d_ff": INNER, "d_kv": HEAD,
                   "num_heads": HEADS, "num_layers": LAYERS, "n_positions": 128, "vocab_size": VOCABULARY,
                   "layer_norm_epsilon": 1e-6, "relative_attention_num_buckets": 8, "eos_token_id": 1,
                   "pad_token_id": 0, "decoder_start_token_id": 0}, t5_encoder(), "F32", "unigram-pieces"),
}



def pooling(**config):
    return {"modules.json": [{"type": "sentence_transformers.models.Transformer", "path": ""},
                             {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}],
            "1_Pooling/config.json": config}


# Further files of a row.
FILES = {"bert": pooling(pooling_mode_cls_token=False, pooling_mode_mean_tokens=True),
         "nomic-bert-moe": pooling(pooling_mode_mean_tokens=True),
         "nomic-bert": pooling(pooling_mode="cls"),
         "roberta": pooling(pooling_mode_mean_tokens=True),
         "distil-bert": pooling(pooling_mode_mean_tokens=True),
         "gemma4-unified": {"generation_config.json": {"suppress_tokens": [4, 261]}},
         "qwen2-bare": pooling(pooling_mode_lasttoken=True),
         "qwen3-embeddings": pooling(pooling_mode_lasttoken=True)}

# --- folders ---


def fnv(data, h=0xcbf29ce484222325):
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def values(name, count):
    """Value i is (u mod 255 - 127) / 128 for the upper half u of (2654435761 i + a hash of the name) mod 2^32.

    Scales of blocks are powers of two: from 2^-8 to 2^-1, so that what a model computes stays finite."""
    seed = fnv(name.encode()) & 0xffffffff
    bytes = [((i * 2654435761 + seed & 0xffffffff) >> 16) % 255 for i in range(count)]
    return [((119 + b % 8 if name.endswith("_scales") else b) - 127) / 128 for b in bytes]


def packed(kind, numbers):
    if kind == "U8":
        return bytes(int(x * 128 + 127) for x in numbers)
    if kind == "F16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    return data if kind == "F32" else b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))


def safetensors(tensors, kind):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, shape, *own in tensors:
        count = 1
        for extent in shape:
            count *= extent
        part = packed(own[0] if own else kind, values(name, count))
        header[name] = {"dtype": own[0] if own else kind, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def bytes_of_gpt2():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(extra)) for b in range(256)]


def tokenizer_json(glm, answers=(), ends=()):
    words = ["<unk>", "<s>", "</s>"] + bytes_of_gpt2() + list(answers)
    merges = [["t", "h"], ["th", "e"], ["Ġ", "the"], ["i", "n"]]
    words += ["".join(pair) for pair in merges]
    special = ["<unk>", "<s>", "</s>"] + (["<|endoftext|>", "<|user|>", "[gMASK]", "<|observation|>"] if glm else ["<|im_end|>"])
    special += ends
    words += [w for w in special if w not in words]
    added = [{"id": words.index(w), "content": w, "special": True, "normalized": False} for w in special]
    added.append({"id": len(words), "content": "<tool>", "special": False, "normalized": False})
    model = {"type": "BPE", "vocab": {w: i for i, w in enumerate(words) if w not in special[3:]}, "merges": merges,
             "ignore_merges": not glm}
    pattern = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
               "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
    pre = {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}
    start = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    post = {"type": "Sequence", "processors": [
        {"type": "ByteLevel"},
        {"type": "TemplateProcessing", "single": [start, {"Sequence": {"id": "A", "type_id": 0}}],
         "pair": [start, {"Sequence": {"id": "A", "type_id": 0}}, start, {"Sequence": {"id": "B", "type_id": 1}}]}]}
    return {"added_tokens": added, "model": model, "pre_tokenizer": pre, "post_processor": post}


def characters_json():
    words = ["<pad>", "<s>", "</s>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
    merges = [["t", "h"], ["th", "e"], ["▁", "the"], ["\n", "\n"], ["i", "n"]]
    words += sorted({c for pair in merges for c in pair if len(c) == 1})
    words += ["".join(pair) for pair in merges]
    special = ["<pad>", "<s>", "</s>", "<unk>", "<|turn>", "<tool_call|>"]
    words += [w for w in special if w not in words]
    words += [f"word{i}" for i in range(len(words), VOCABULARY - 1)]
    added = [{"id": words.index(w), "content": w, "special": True, "normalized": False} for w in special]
    added.append({"id": len(words), "content": "<kept>", "special": False, "normalized": False})
    model = {"type": "BPE", "vocab": {w: i for i, w in enumerate(words)}, "merges": merges, "byte_fallback": True,
             "fuse_unk": True, "ignore_merges": False}
    return {"added_tokens": added, "model": model, "decoder": {"type": "Sequence", "decoders": []},
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"}}


def words_json():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [chr(c) for c in range(33, 127)]
    words += [f"##{chr(c)}" for c in range(97, 123)] + ["the", "##ing"]
    words += [f"[unused{i}]" for i in range(VOCABULARY - len(words))]
    added = [{"id": i, "content": words[i], "special": True, "normalized": False} for i in range(5)]
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "vocab": {w: i for i, w in enumerate(words)}}
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
              {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    pair = single + [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    return {"added_tokens": added, "model": model, "pre_tokenizer": {"type": "BertPreTokenizer"},
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "post_processor": {"type": "TemplateProcessing", "single": single, "pair": pair}}


def unigram_pieces():
    rows = [("▁", -1.5), ("t", -2.0), ("h", -3.0), ("th", -0.5), ("▁th", -0.25)]
    return rows + [(f"word{i}", -10 - i / 4) for i in range(VOCABULARY - 5 - len(rows))]


def unigram_json():
    vocab = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]] + [list(row) for row in unigram_pieces()]
    vocab.append(["<mask>", 0.0])
    special = [(0, "<s>"), (1, "<pad>"), (2, "</s>"), (3, "<unk>"), (len(vocab) - 1, "<mask>")]
    added = [{"id": i, "content": w, "special": True, "normalized": False} for i, w in special]
    single = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
              {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    pair = single + [{"SpecialToken": {"id": "</s>", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}},
                     {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    return {"added_tokens": added, "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab},
            "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="},
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
            "post_processor": {"type": "TemplateProcessing", "single": single, "pair": pair}}


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def piece(text, score, kind):
    text = text.encode()
    body = b"\x0a" + varint(len(text)) + text + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(kind)
    return b"\x0a" + varint(len(body)) + body


def unigram_model():
    rows = [("<pad>", 0, 3), ("</s>", 0, 3), ("<unk>", 0, 2)] + [(text, score, 1) for text, score in unigram_pieces()]
    trainer = varint(3 << 3) + b"\x01"  # model_type: unigram
    ids = b"".join(varint(field << 3) + varint(value) for field, value in ((40, 2), (42, 1), (43, 0)))
    no_bos = varint(41 << 3) + varint(2**64 - 1)
    trainer += ids + no_bos
    normalizer = b"\x0a" + varint(4) + b"nmt_" + b"\x18\x01\x20\x01"  # name, add_dummy_prefix, remove_extra_whitespaces
    return (b"".join(piece(*row) for row in rows) + b"\x12" + varint(len(trainer)) + trainer + b"\x1a" +
            varint(len(normalizer)) + normalizer)


def pieces_model():
    rows = [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3)] + [(f"<0x{b:02X}>", 0, 6) for b in range(256)]
    rows += [("▁", -1.5, 1), ("t", -2, 1), ("h", -3, 1), ("th", -0.5, 1), ("▁th", -0.25, 1), ("<kept>", 0, 4),
             ("<gap>", 0, 5)]
    byte_fallback = varint(35 << 3) + b"\x01"
    return b"".join(piece(*row) for row in rows) + b"\x12" + varint(len(byte_fallback)) + byte_fallback


def folder_files(vocabulary):
    config = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "unk_token": "<unk>",
              "chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}",
              "tokenizer_class": "LlamaTokenizer", "clean_up_tokenization_spaces": False}
    if vocabulary == "pieces":
        config.update(add_bos_token=True, add_eos_token=False, add_prefix_space=True, added_tokens_decoder={
            "1": {"content": "<s>", "special": True}, "266": {"content": "▁tool", "special": False},
            "267": {"content": "<|end|>", "special": False}})
        return {"tokenizer.model": pieces_model(), "tokenizer_config.json": json.dumps(config).encode(),
                "added_tokens.json": b'{"<extra>": 268}'}
    if vocabulary == "words":
        words = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]",
                 "mask_token": "[MASK]", "tokenizer_class": "BertTokenizer", "do_lower_case": True}
        return {"tokenizer.json": json.dumps(words_json(), ensure_ascii=False).encode(),
                "tokenizer_config.json": json.dumps(words).encode()}
    if vocabulary == "unigram":
        likely = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>",
                  "cls_token": "<s>", "pad_token": "<pad>", "mask_token": "<mask>",
                  "clean_up_tokenization_spaces": True, "tokenizer_class": "XLMRobertaTokenizer"}
        return {"tokenizer.json": json.dumps(unigram_json(), ensure_ascii=False).encode(),
                "tokenizer_config.json": json.dumps(likely).encode()}
    if vocabulary == "unigram-pieces":
        return {"spiece.model": unigram_model(), "added_tokens.json": b'{"<extra_id_0>": 286}',
                "tokenizer_config.json": b'{"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}'}
    if vocabulary == "characters":
        config.update(pad_token="<pad>", extra_special_tokens={"turn": "<|turn>"})
        return {"tokenizer.json": json.dumps(characters_json(), ensure_ascii=False).encode(),
                "tokenizer_config.json": json.dumps(config).encode()}
    return {"tokenizer.json": json.dumps(tokenizer_json(vocabulary == "glm"), ensure_ascii=False).encode(),
            "tokenizer_config.json": json.dumps(config).encode()}


def write_folder(row, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(row["config"]), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(safetensors(row["tensors"], row["type"]))
    for name, data in folder_files(row["vocabulary"]).items():
        (folder / name).write_bytes(data)
    for name, data in row["files"].items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(data), encoding="utf-8")


# --- the peer ---

PRE = {"bpe": "llama-bpe", "glm": "glm4", "words": "bert-bge"}


def wire_fields(data):
    """The fields of a message of protocol buffers: numbers and values."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            at, byte = at + 1, data[at]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        field, kind = divmod(number(), 8)
        if kind == 0:
            yield field, number()
        else:
            size = number() if kind == 2 else 4
            at += size
            yield field, data[at - size:at]


def stand_ins(source, pre):
    """Modules that the peer asks for, as far as it needs them here."""
    import numpy
    import torch
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "uint16", "uint32", "uint64"):
        if not hasattr(torch, name):
            setattr(torch, name, torch.complex32)

    class AutoConfig:
        @staticmethod
        def from_pretrained(*_, **__):
            raise OSError("config.json is read as it is")

    class AutoTokenizer:
        def __init__(self, folder):
            tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
            vocab = tokenizer["model"]["vocab"]
            self.vocab = dict(vocab) if isinstance(vocab, dict) else {text: i for i, (text, _) in enumerate(vocab)}
            self.added = {t["content"]: t["id"] for t in tokenizer["added_tokens"]}
            self.vocab.update(self.added)
            self.added_tokens_decoder = {t["id"]: types.SimpleNamespace(**t) for t in tokenizer["added_tokens"]}
            self.vocab_size, self.is_fast = len(tokenizer["model"]["vocab"]), True
            config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
            named = [config.get(f"{kind}_token") for kind in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")]
            named += config.get("additional_special_tokens", []) + list(config.get("extra_special_tokens", {}).values())
            self.all_special_tokens = [t["content"] if isinstance(t, dict) else t for t in named if t]
            self.add_prefix_space = config.get("add_prefix_space", True)
            self.clean_up_tokenization_spaces = config.get("clean_up_tokenization_spaces", False)
            self._convert_id_to_token = {i: text for text, i in self.vocab.items()}.get
            self.all_special_ids = [self.vocab[t] for t in self.all_special_tokens]

        @classmethod
        def from_pretrained(cls, folder, **_):
            return cls(pathlib.Path(folder))

        def get_added_vocab(self):
            return self.added

        def convert_tokens_to_ids(self, text):
            return self.vocab.get(text)

        def get_vocab(self):
            return self.vocab

        def encode(self, text, **_):
            return [self.added[text]]

        def decode(self, ids):
            return self.added_tokens_decoder[ids[0]].content

    class ModelProto:
        """What the peer asks of a SentencePiece model: the kind of model, and how texts are normalised."""
        def ParseFromString(self, data):
            parts = {number: value for number, value in wire_fields(data)}
            trainer, normalizer = dict(wire_fields(parts[2])), dict(wire_fields(parts[3]))
            self.trainer_spec = types.SimpleNamespace(model_type=trainer[3])
            self.normalizer_spec = types.SimpleNamespace(
                precompiled_charsmap=normalizer.get(2, b""), add_dummy_prefix=bool(normalizer.get(3, 1)),
                remove_extra_whitespaces=bool(normalizer.get(4, 1)))

    import sentencepiece
    sentencepiece.sentencepiece_model_pb2 = types.ModuleType("sentencepiece.sentencepiece_model_pb2")
    sentencepiece.sentencepiece_model_pb2.ModelProto = ModelProto
    sys.modules["sentencepiece.sentencepiece_model_pb2"] = sentencepiece.sentencepiece_model_pb2

    transformers = types.ModuleType("transformers")
    transformers.AutoConfig, transformers.AutoTokenizer = AutoConfig, AutoTokenizer
    sys.modules["transformers"] = transformers
    sys.path.insert(0, str(source))
    import conversion
    conversion.base.TextModel.get_vocab_base_pre = lambda *_: pre
    return conversion


def convert_by_peer(source, row, target):
    import logging
    import torch
    logging.disable(logging.INFO)
    conversion = stand_ins(source, PRE.get(row["vocabulary"], ""))
    import gguf
    with tempfile.TemporaryDirectory() as temporary, torch.inference_mode():
        folder = pathlib.Path(temporary) / "folder"
        write_folder(row, folder)
        made = conversion.get_model_class(row["config"]["architectures"][0])
        # Its lazy tensors ask for a newer torch.
        made(folder, gguf.LlamaFileType.GUESSED, target, eager=True).write()


SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
NAMES = {0: "F32", 1: "F16", 30: "BF16", 39: "MXFP4"}


def read_gguf(data):
    """Keys with their types and a hash of their bytes, and tensors with dims, types and a hash of their data."""
    at = 8
    def number(form):
        nonlocal at
        at += struct.calcsize(form)
        return struct.unpack_from(form, data, at - struct.calcsize(form))[0]
    def text():
        nonlocal at
        size = number("<Q")
        at += size
        return data[at - size:at].decode()
    def skip(kind):
        nonlocal at
        if kind == 8:
            text()
        else:
            at += SIZES[kind]
    tensors, keys = number("<Q"), number("<Q")
    found = {}
    for _ in range(keys):
        key, kind = text(), number("<I")
        begin, element = at, kind
        if kind == 9:
            element = number("<I")
            count = number("<Q")
            begin = at
            for _ in range(count):
                skip(element)
        else:
            skip(kind)
        found[key] = [kind, element, f"{fnv(data[begin:at]):016x}"]
        if kind in (4, 6):
            found[key].append(struct.unpack_from("<I" if kind == 4 else "<f", data, begin)[0])
    index = []
    for _ in range(tensors):
        name = text()
        dims = [number("<Q") for _ in range(number("<I"))]
        index.append((name, dims, number("<I"), number("<Q")))
    start = (at + 31) // 32 * 32
    listed = {}
    for name, dims, kind, offset in index:
        size = 4 if kind == 0 else 2
        for dim in dims:
            size *= dim
        if kind == 39:
            size = size // 2 // 32 * 17
        part = data[start + offset:start + offset + size]
        listed[name] = [NAMES[kind], dims, f"{fnv(part):016x}"]
        # Powers, which programs round each in their way.
        if name == "rope_freqs.weight" or name.endswith(".ssm_a"):
            listed[name].append(struct.unpack(f"<{size // 4}f", part))
    return found, listed


def files_of(name):
    """Files of a row beside those of its vocabulary."""
    if name == "qwen3-omni":
        config = json.loads(folder_files("bpe")["tokenizer_config.json"])
        ends = [t for t in tokenizer_json(False)["added_tokens"] if t["content"] == "<|im_end|>"]
        return {"tokenizer_config.json": dict(config, added_tokens_decoder={str(t["id"]): t for t in ends})}
    if name == "solar-open":
        return {"tokenizer.json": tokenizer_json(False, ends=["<|startoftext|>", "<|endoftext|>"])}
    if not name.startswith("qwen3-answers"):
        return FILES.get(name, {})
    page = {} if name.endswith("tied") else {"README.md": "# Qwen3-Reranker-0.6B"}
    return {"tokenizer.json": tokenizer_json(False, ("no", "yes")), **page}


def row_of(name):
    config, tensors, kind, vocabulary = ROWS[name]
    return {"config": config, "type": kind, "vocabulary": vocabulary,
            "tensors": [list(tensor) for tensor in tensors], "files": files_of(name)}


def main():
    if sys.argv[1] == "--folder":
        return write_folder(row_of(sys.argv[2]), pathlib.Path(sys.argv[3]))
    for vocabulary in ("bpe", "characters", "glm", "pieces", "unigram", "unigram-pieces", "words"):
        for name, data in folder_files(vocabulary).items():
            path = DATA / vocabulary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    for name in sys.argv[2:] or ROWS:
        row = row_of(name)
        with tempfile.TemporaryDirectory() as temporary:
            target = pathlib.Path(temporary) / "peer.gguf"
            convert_by_peer(pathlib.Path(sys.argv[1]), row, target)
            keys, tensors = read_gguf(target.read_bytes())
        row["keys"] = {k: v for k, v in keys.items() if not k.startswith("general.") or k.endswith("architecture")}
        row["file_type"] = keys["general.file_type"][3]
        row["made"] = tensors
        (DATA / f"{name}.json").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
        print(name, len(keys), "keys", len(tensors), "tensors")


main()
