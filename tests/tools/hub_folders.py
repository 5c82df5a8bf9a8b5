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


def shared_experts(layer):
    yield from chain(attention(layer), norms(layer, *TWO))
    if layer.endswith(".0"):
        yield from mlp(layer)
    else:
        yield from experts(layer)
        yield from mlp(layer, 48, "mlp.shared_experts")


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
    yield from shared_experts(layer)
    if not layer.endswith(".0"):
        yield f"{layer}.mlp.moe_statics.e_score_correction_bias", [1, 3]


def lfm2_model(blocks=lfm2):
    yield "model.embed_tokens.weight", [VOCABULARY, WIDTH]
    for i in range(LAYERS):
        yield from blocks(f"model.layers.{i}")
    yield "model.embedding_norm.weight", [WIDTH]


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}

# row: (config, tensors, element type, files of the vocabulary)
ROWS = {
    "llama": (base("LlamaForCausalLM", rope_scaling=LLAMA3), decoder(dense), "BF16", "bpe"),
    "llama-pieces": (base("LlamaForCausalLM", head_dim=HEAD, rope_scaling={"type": "linear", "factor": 2.0}),
                     decoder(dense), "F16", "pieces"),
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
    "qwen3vl": (base("Qwen3VLForConditionalGeneration", vision_config={"deepstack_visual_indexes": [0, 1]},
                     text_config=base("Qwen3VLText", head_dim=HEAD,
                                      rope_scaling={"rope_type": "default", "mrope_section": [2, 1, 1]})),
                chain(decoder(lambda l: dense(l, qk_norm=(HEAD, HEAD)), wrap="language_model."),
                      [("visual.merger.norm.weight", [8])]), "BF16", "bpe"),
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
                          moe_layer_start_index=1, moe_intermediate_size=24, moe_num_shared_experts=2),
                     chain(decoder(ernie_experts, head=False),
                           [("model.mtp_linear_proj.0.weight", [WIDTH, 2 * WIDTH])]), "BF16", "pieces"),
}

# --- folders ---


def fnv(data, h=0xcbf29ce484222325):
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def values(name, count):
    """Value i is (u mod 255 - 127) / 128 for the upper half u of (2654435761 i + a hash of the name) mod 2^32."""
    seed = fnv(name.encode()) & 0xffffffff
    return [(((i * 2654435761 + seed & 0xffffffff) >> 16) % 255 - 127) / 128 for i in range(count)]


def packed(kind, numbers):
    if kind == "F16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    return data if kind == "F32" else b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))


def safetensors(tensors, kind):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, shape in tensors:
        count = 1
        for extent in shape:
            count *= extent
        part = packed(kind, values(name, count))
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def bytes_of_gpt2():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(extra)) for b in range(256)]


def tokenizer_json(glm):
    words = ["<unk>", "<s>", "</s>"] + bytes_of_gpt2()
    merges = [["t", "h"], ["th", "e"], ["Ġ", "the"], ["i", "n"]]
    words += ["".join(pair) for pair in merges]
    special = ["<unk>", "<s>", "</s>"] + (["<|endoftext|>", "<|user|>"] if glm else ["<|im_end|>"])
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


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def pieces_model():
    def piece(text, score, kind):
        text = text.encode()
        body = b"\x0a" + varint(len(text)) + text + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(kind)
        return b"\x0a" + varint(len(body)) + body
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
    return {"tokenizer.json": json.dumps(tokenizer_json(vocabulary == "glm"), ensure_ascii=False).encode(),
            "tokenizer_config.json": json.dumps(config).encode()}


def write_folder(row, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(row["config"]), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(safetensors(row["tensors"], row["type"]))
    for name, data in folder_files(row["vocabulary"]).items():
        (folder / name).write_bytes(data)


# --- the peer ---

PRE = {"bpe": "llama-bpe", "glm": "glm4"}


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
            self.vocab = dict(tokenizer["model"]["vocab"])
            self.added = {t["content"]: t["id"] for t in tokenizer["added_tokens"]}
            self.vocab.update(self.added)
            self.added_tokens_decoder = {t["id"]: types.SimpleNamespace(**t) for t in tokenizer["added_tokens"]}

        @classmethod
        def from_pretrained(cls, folder, **_):
            return cls(pathlib.Path(folder))

        def get_added_vocab(self):
            return self.added

        def encode(self, text, **_):
            return [self.added[text]]

        def decode(self, ids):
            return self.added_tokens_decoder[ids[0]].content

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
NAMES = {0: "F32", 1: "F16", 30: "BF16"}


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
        part = data[start + offset:start + offset + size]
        listed[name] = [NAMES[kind], dims, f"{fnv(part):016x}"]
        # Powers, which programs round each in their way.
        if name == "rope_freqs.weight":
            listed[name].append(struct.unpack(f"<{size // 4}f", part))
    return found, listed


def row_of(name):
    config, tensors, kind, vocabulary = ROWS[name]
    return {"config": config, "type": kind, "vocabulary": vocabulary,
            "tensors": [[name, shape] for name, shape in tensors]}


def main():
    if sys.argv[1] == "--folder":
        return write_folder(row_of(sys.argv[2]), pathlib.Path(sys.argv[3]))
    for vocabulary in ("bpe", "glm", "pieces"):
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
