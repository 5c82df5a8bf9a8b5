#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/quant/file_types.json: which type llama.cpp's quantiser gives each tensor of models.

usage: peer_file_types.py PEER_FILE_TYPES [--check]

PEER_FILE_TYPES is the program of peer_file_types.cpp, linked with llama.cpp. Types follow from keys, names and shapes,
so that the large models are files of holes. --check compares what is checked in with what the program gives, and
writes nothing.

Layout: "models" have keys, and tensors as [name, first layer, layers, shape] with * for the layer; "files" are those of
data/peer. "plain" has for each type the tensors' types in their order, as TYPE*COUNT; "weighted" the same with an
importance matrix, where that is another. A type that llama.cpp refuses, because rows do not fit, is left out.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
OUT = DATA / "quant" / "file_types.json"
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 7, "q5_0": 8, "q5_1": 9, "q2_k": 10, "q3_k_s": 11,
         "q3_k_m": 12, "q3_k_l": 13, "q4_k_s": 14, "q4_k_m": 15, "q5_k_s": 16, "q5_k_m": 17, "q6_k": 18, "iq2_xxs": 19,
         "iq2_xs": 20, "q2_k_s": 21, "iq3_xs": 22, "iq3_xxs": 23, "iq1_s": 24, "iq4_nl": 25, "iq3_s": 26, "iq3_m": 27,
         "iq2_s": 28, "iq2_m": 29, "iq4_xs": 30, "iq1_m": 31, "bf16": 32, "tq1_0": 36, "tq2_0": 37, "mxfp4_moe": 38,
         "q1_0": 40}
FILES = ("bert", "deepseek2", "falcon-h1", "gemma4-moe", "glm4moe", "gpt2", "granitehybrid-moe", "lfm2moe", "qwen2moe",
         "qwen35moe", "t5encoder")


def decoder(layers, width, heads, kv_heads, inner, head=True, vocabulary=32000, dim=None, **more):
    """Keys and tensors of a decoder; `experts` of them where there are some, from layer `dense` on."""
    dim = dim or width // heads
    experts, dense, fused = more.get("experts", 0), more.get("dense", 0), more.get("fused", False)
    keys = {"block_count": layers, "context_length": 4096, "embedding_length": width, "feed_forward_length": inner,
            "attention.head_count": heads, "attention.head_count_kv": kv_heads,
            "attention.layer_norm_rms_epsilon": 1e-5, "attention.layer_norm_epsilon": 1e-5,
            "attention.key_length": dim, "attention.value_length": dim, **more.get("keys", {})}
    if experts:
        keys |= {"expert_count": experts, "expert_used_count": 2, "expert_feed_forward_length": inner,
                 "expert_shared_count": 1, "leading_dense_block_count": dense}
    tensors = [["token_embd.weight", 0, 0, [width, vocabulary]], ["output_norm.weight", 0, 0, [width]]]
    if head:
        tensors.append(["output.weight", 0, 0, [width, vocabulary]])

    def each(name, *shape, first=0, count=None):
        tensors.append([f"blk.*.{name}.weight", first, layers - first if count is None else count, list(shape)])

    each("attn_norm", width)
    each("ffn_norm", width)
    if fused:
        each("attn_qkv", width, (heads + 2 * kv_heads) * dim)
    elif "latent" in more:
        each("attn_q", width, heads * dim)
        each("attn_kv_a_mqa", width, more["latent"])
        each("attn_kv_b", more["latent"], heads * 2 * dim)
    else:
        for name, rows in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
            each(f"attn_{name}", width, rows * dim)
    each("attn_output", heads * dim, width)
    plain = dense if experts else layers
    if plain:
        for name in ("gate", "up") if more.get("gated", True) else ("up",):
            each(f"ffn_{name}", width, inner, count=plain)
        each("ffn_down", inner, width, count=plain)
    if experts:
        each("ffn_gate_inp", width, experts, first=dense)
        for end, stack in (("exps", [experts]), ("shexp", [])) if more.get("shared") else (("exps", [experts]),):
            for name in ("gate", "up"):
                each(f"ffn_{name}_{end}", width, inner, *stack, first=dense)
            each(f"ffn_down_{end}", inner, width, *stack, first=dense)
    return keys, tensors


def encoder(layers, width, heads, inner):
    keys, _ = decoder(layers, width, heads, heads, inner)
    names = (("attn_norm", [width]), ("attn_q", [width, width]), ("attn_k", [width, width]), ("attn_v", [width, width]),
             ("attn_o", [width, width]), ("ffn_norm", [width]), ("ffn_up", [width, inner]), ("ffn_down", [inner, width]))
    return keys | {"attention.relative_buckets_count": 32}, [
        ["token_embd.weight", 0, 0, [width, 32128]], ["enc.blk.*.attn_rel_b.weight", 0, 1, [heads, 32]],
        *([f"enc.blk.*.{name}.weight", 0, layers, shape] for name, shape in names)]


LATENT = {"attention.kv_lora_rank": 512, "vocab_size": 32000, "rope.dimension_count": 64, "expert_gating_func": 1}
MODELS = {
    "llama-8b": ("llama", decoder(32, 4096, 32, 8, 14336, vocabulary=128256)),
    "llama-tied": ("llama", decoder(17, 2048, 16, 16, 5632, head=False)),
    "llama-70b": ("llama", decoder(80, 8192, 64, 8, 28672)),
    "llama-65b": ("llama", decoder(80, 8192, 64, 64, 22016)),
    "mixtral-8x7b": ("llama", decoder(32, 4096, 32, 8, 14336, experts=8)),
    "four-experts": ("llama", decoder(24, 2048, 16, 8, 5632, experts=4)),
    "qwen2-72b": ("qwen2", decoder(80, 8192, 64, 8, 29568)),
    "qwen2-0.5b": ("qwen2", decoder(24, 896, 14, 2, 4864, head=False)),
    "qwen3moe": ("qwen3moe", decoder(48, 2048, 32, 4, 768, dim=128, experts=128)),
    "gemma3-1b": ("gemma3", decoder(26, 1152, 4, 1, 6912, dim=256, head=False,
                                    keys={"attention.sliding_window": 512})),
    "deepseek2-lite": ("deepseek2", decoder(27, 2048, 16, 16, 1408, dim=128, experts=64, dense=1, shared=True,
                                            latent=512, keys=LATENT)),
    "falcon-40b": ("falcon", decoder(60, 8192, 128, 8, 32768, fused=True, gated=False)),
    "falcon-7b": ("falcon", decoder(32, 4544, 71, 1, 18176, fused=True, gated=False)),
    "gpt2-xl": ("gpt2", decoder(48, 1600, 25, 25, 6400, fused=True, gated=False, head=False)),
    "t5-large": ("t5encoder", encoder(24, 1024, 16, 4096)),
}


def expand(tensors):
    for name, first, layers, shape in tensors:
        for layer in range(first, first + layers) if "*" in name else [None]:
            yield name.replace("*", str(layer)), shape


def text(of):
    return struct.pack("<Q", len(of)) + of.encode()


def entry(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    return text(key) + (struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value))


def write_holes(path, architecture, keys, tensors):
    """A GGUF file of f32 tensors that takes no room."""
    keys = {"general.architecture": architecture, **{f"{architecture}.{key}": v for key, v in keys.items()}}
    infos, offset = b"", 0
    for name, shape in tensors:
        infos += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset)
        size = 4
        for extent in shape:
            size *= extent
        offset = -(-(offset + size) // 32) * 32
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))
    head += b"".join(entry(key, value) for key, value in keys.items()) + infos
    with open(path, "wb") as out:
        out.write(head)
        out.truncate(-(-len(head) // 32) * 32 + offset)


LINE = re.compile(r"^\[ *\d+/ *\d+\] (\S+) +- \[[^]]*\], type = +(\S+), size = .*?(?:\((\w+)\))?$", re.M)


def runs(types):
    out = []
    for type in types:
        if out and out[-1][0] == type:
            out[-1][1] += 1
        else:
            out.append([type, 1])
    return " ".join(f"{type}*{count}" for type, count in out)


def ask(program, path, names=None):
    """The types that the peer gives by file type, of tensors in the order of `names`, or of the log by name."""
    out = {}
    for mode in ("plain", "weighted"):
        found = subprocess.run([program, path, mode, *map(str, TYPES.values())], check=True, capture_output=True,
                               text=True).stdout
        parts = dict(part.split("\n", 1) for part in found.split("\n== ")[1:])
        for type, number in TYPES.items():
            log = parts[str(number)]
            if "-- refused" in log:
                continue
            given = {name: to or of for name, of, to in LINE.findall(log)}
            types = runs(given[name].lower() for name in names or sorted(given))
            if mode == "plain" or types != out["plain"].get(type):
                out.setdefault(mode, {})[type] = types
    return out


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--check"]
    if len(args) != 1:
        sys.exit(__doc__)
    made = {"models": {}, "files": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "holes.gguf")
        for name, (architecture, (keys, tensors)) in MODELS.items():
            whole = list(expand(tensors))
            write_holes(path, architecture, keys, whole)
            made["models"][name] = {"architecture": architecture, "keys": keys, "tensors": tensors,
                                    **ask(args[0], path, [name for name, _ in whole])}
    for name in FILES:
        made["files"][name] = ask(args[0], DATA / "peer" / f"{name}.gguf")
    body = ",\n".join(f'"{part}": {{\n' + ",\n".join(f'"{name}": {json.dumps(row)}' for name, row in rows.items()) + "}"
                      for part, rows in made.items())
    body = "{" + body + "}\n"
    if "--check" not in sys.argv:
        OUT.write_text(body)
    elif OUT.read_text() != body:
        sys.exit(f"{OUT} is not what the program gives")


if __name__ == "__main__":
    main()
