#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/process/own_family.py: families and a weight type that example hosts add give what plain Python computes.
"""usage: own_family.py OWN_FAMILY OWN_WEIGHT_TYPE EMBED

Writes small random models of olmo and minicpm and one of llama with weights in Q8_1, runs the examples on them, and
compares their most likely tokens and log-probabilities with a decoder written down here from the definitions, in double
precision. EMBED, which has zrt's families and types alone, must refuse the files by name.
"""
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from gguf_file import gguf  # noqa: E402

WIDTH, LAYERS, FF, HEADS, KV_HEADS, DIM, EPS, BASE = 32, 2, 64, 4, 2, 8, 1e-5, 10000.0
CLAMP = 1.5
MINICPM = {"embedding_scale": 12.0, "residual_scale": 0.22, "logit_scale": 4.0}
LLAMA = {"embedding_scale": 1.0, "residual_scale": 1.0, "logit_scale": 1.0}
GGML_F32, GGML_Q8_1 = 0, 9


def byte_characters():
    """The characters that byte-level BPE writes bytes as."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in shown]
    return [chr(b) if b in shown else chr(256 + hidden.index(b)) for b in range(256)]


def q8_1(rng, count, scale):
    """Blocks of Q8_1 and the values that they hold: q * d. The second number of a block is d times the sum of its q."""
    data, values = b"", []
    for _ in range(0, count, 32):
        (d,) = struct.unpack("<e", struct.pack("<e", scale / 127 * rng.uniform(0.75, 1.25)))
        q = [rng.randint(-127, 127) for _ in range(32)]
        data += struct.pack("<ee32b", d, d * sum(q), *q)
        values += [v * d for v in q]
    return data, values


def make(family, rng):
    def values(count, scale, middle=0.0):
        # Multiples of 2^-10 are exact in f32, so file and computation hold the same numbers.
        return [middle + scale * rng.randint(-1024, 1024) / 1024 for _ in range(count)]

    tokens = byte_characters() + ["he", "12", "123", "1234"]
    metadata = {"general.architecture": family, "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2" if family == "llama" else "house-words",
                "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": ["h e", "1 2", "12 3", "123 4"]}
    for key, value in {"context_length": 64, "embedding_length": WIDTH, "block_count": LAYERS,
                       "feed_forward_length": FF, "attention.head_count": HEADS,
                       "attention.head_count_kv": KV_HEADS, "rope.freq_base": BASE,
                       **({"attention.layer_norm_epsilon": EPS, "attention.clamp_kqv": CLAMP} if family == "olmo" else
                          {"attention.layer_norm_rms_epsilon": EPS}),
                       **(MINICPM if family == "minicpm" else {})}.items():
        metadata[f"{family}.{key}"] = value
    t, held = {}, {}

    def plain(name, dims, data):
        t[name], held[name] = (dims, GGML_F32, struct.pack(f"<{len(data)}f", *data)), data

    def matrix(name, columns, rows, scale):
        if family == "llama":
            blocks, held[name] = q8_1(rng, columns * rows, scale)
            t[name] = ([columns, rows], GGML_Q8_1, blocks)
        else:
            plain(name, [columns, rows], values(columns * rows, scale))

    def vector(name, size):
        plain(name, [size], values(size, 0.5, 1.0))

    matrix("token_embd.weight", WIDTH, len(tokens), 1.0)
    matrix("output.weight", WIDTH, len(tokens), 0.75)
    if family != "olmo":
        vector("output_norm.weight", WIDTH)
    for layer in range(LAYERS):
        blk = f"blk.{layer}."
        matrix(blk + "attn_q.weight", WIDTH, HEADS * DIM, 0.5)
        matrix(blk + "attn_k.weight", WIDTH, KV_HEADS * DIM, 0.5)
        matrix(blk + "attn_v.weight", WIDTH, KV_HEADS * DIM, 0.5)
        matrix(blk + "attn_output.weight", HEADS * DIM, WIDTH, 0.5)
        matrix(blk + "ffn_gate.weight", WIDTH, FF, 0.5)
        matrix(blk + "ffn_up.weight", WIDTH, FF, 0.5)
        matrix(blk + "ffn_down.weight", FF, WIDTH, 0.5)
        if family != "olmo":
            vector(blk + "attn_norm.weight", WIDTH)
            vector(blk + "ffn_norm.weight", WIDTH)
    return gguf(metadata, t), held


def rounded(x):
    """Groups of 32 as 8-bit integers times the largest magnitude / 127."""
    out = []
    for at in range(0, len(x), 32):
        largest = max(abs(v) for v in x[at:at + 32])
        out += [round(v * 127.0 / largest) * largest / 127.0 for v in x[at:at + 32]]
    return out


class Decoder:
    """One token at a time; keys and values of earlier positions are kept."""

    def __init__(self, family, weights, rounds=False, halves=False):
        self.family, self.w, self.rounds, self.halves = family, weights, rounds, halves
        self.scales = MINICPM if family == "minicpm" else LLAMA
        self.keys = [[] for _ in range(LAYERS)]
        self.values = [[] for _ in range(LAYERS)]

    def product(self, name, x):
        w, n = self.w[name], len(x)
        if self.rounds:
            x = rounded(x)
        return [sum(a * b for a, b in zip(w[r:r + n], x)) for r in range(0, len(w), n)]

    def norm(self, name, x):
        if self.family == "olmo":
            mean = sum(x) / len(x)
            x = [v - mean for v in x]
            return [v / math.sqrt(sum(u * u for u in x) / len(x) + EPS) for v in x]
        scale = 1.0 / math.sqrt(sum(v * v for v in x) / len(x) + EPS)
        return [v * scale * w for v, w in zip(x, self.w[name])]

    def turn(self, x, position):
        out = list(x)
        for head in range(0, len(x), DIM):
            for i in range(DIM // 2):
                # NEOX turns halves against each other, the pairs of llama lie side by side.
                a, b = (i, i + DIM // 2) if self.halves else (2 * i, 2 * i + 1)
                angle = position * BASE ** (-2.0 * i / DIM)
                c, s = math.cos(angle), math.sin(angle)
                out[head + a] = x[head + a] * c - x[head + b] * s
                out[head + b] = x[head + a] * s + x[head + b] * c
        return out

    def attention(self, layer, x, position):
        blk = f"blk.{layer}."
        q, k, v = (self.product(f"{blk}attn_{name}.weight", x) for name in "qkv")
        scale = self.scales.get("attention.scale", 1.0 / math.sqrt(DIM))
        if self.family == "olmo":
            q, k, v = ([min(max(a, -CLAMP), CLAMP) for a in part] for part in (q, k, v))
        self.keys[layer].append(self.turn(k, position))
        self.values[layer].append(v)
        q = self.turn(q, position)
        mixed = []
        for head in range(HEADS):
            at = head // (HEADS // KV_HEADS) * DIM
            mine = q[head * DIM:(head + 1) * DIM]
            scores = [scale * sum(a * b for a, b in zip(mine, key[at:at + DIM])) for key in self.keys[layer]]
            top = max(scores)
            e = [math.exp(s - top) for s in scores]
            for i in range(DIM):
                mixed.append(sum(p * value[at + i] for p, value in zip(e, self.values[layer])) / sum(e))
        return self.product(blk + "attn_output.weight", mixed)

    def mlp(self, layer, x):
        blk = f"blk.{layer}."
        gate, up = self.product(blk + "ffn_gate.weight", x), self.product(blk + "ffn_up.weight", x)
        return self.product(blk + "ffn_down.weight", [g / (1.0 + math.exp(-g)) * u for g, u in zip(gate, up)])

    def step(self, token, position):
        """Log-probabilities of the next token."""
        x = [v * self.scales["embedding_scale"] for v in self.w["token_embd.weight"][token * WIDTH:(token + 1) * WIDTH]]
        residual = self.scales["residual_scale"]
        for layer in range(LAYERS):
            blk = f"blk.{layer}."
            y = self.attention(layer, self.norm(blk + "attn_norm.weight", x), position)
            x = [a + residual * b for a, b in zip(x, y)]
            y = self.mlp(layer, self.norm(blk + "ffn_norm.weight", x))
            x = [a + residual * b for a, b in zip(x, y)]
        logits = self.product("output.weight", self.norm("output_norm.weight", x))
        logits = [v / self.scales["logit_scale"] for v in logits]
        top = max(logits)
        total = top + math.log(sum(math.exp(v - top) for v in logits))
        return [v - total for v in logits]


def write(family, folder):
    file, weights = make(family, random.Random(f"zrt {family}"))
    path = os.path.join(folder, family + ".gguf")
    with open(path, "wb") as f:
        f.write(file)
    return path, weights


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout.splitlines()


def refused(embed, path, why):
    done = subprocess.run([embed, path], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and why in done.stderr, done.stderr


def compare(row, expected, bound, where):
    row = row.split()
    best = sorted(range(len(expected)), key=lambda i: -expected[i])[:3]
    assert [int(v) for v in row[0::2]] == best, f"{where}: {row}, expected {best}"
    for found, token in zip(row[1::2], best):
        assert abs(float(found) - expected[token]) < bound, (where, token, found, expected[token])
    return best[0]


# Cut as house-words cuts, three digits are a piece, so that the merge to 1234 never happens; gpt-2 cuts " 1234" as one.
HOUSE_PROMPT = [256, byte_characters().index("\u0120"), 258, ord("4")]
GPT2_PROMPT = [256, byte_characters().index("\u0120"), 259]


def check_family(family, example, embed, folder):
    path, weights = write(family, folder)
    lines = run(example, path, "he 1234")
    prompt = HOUSE_PROMPT
    assert lines[0] == "prompt " + " ".join(map(str, prompt)), lines[0]
    rows = [line for line in lines[1:] if line.strip()]
    assert len(rows) == 6, lines
    decoder = Decoder(family, weights)
    for position, token in enumerate(prompt):
        expected = decoder.step(token, position)
    for position, row in enumerate(rows, len(prompt)):
        expected = decoder.step(compare(row, expected, 1e-4, (family, position)), position)
    refused(embed, path, f"general.architecture is {family}")


def check_weight_type(example, embed, folder):
    path, weights = write("llama", folder)
    rows = [line for line in run(example, path, "he 1234") if line.strip()]
    assert len(rows) == 2 and rows[0] != rows[1], rows
    # Rounding may fall either way where f32 and double differ, which moves a sum by one part in 127 of a term.
    for row, rounds, bound in ((rows[0], False, 1e-4), (rows[1], True, 5e-3)):
        decoder = Decoder("llama", weights, rounds)
        for position, token in enumerate(GPT2_PROMPT):
            expected = decoder.step(token, position)
        compare(row, expected, bound, f"Q8_1, activations {'rounded' if rounds else 'as they are'}")
    refused(embed, path, "q8_1")


def main():
    own_family, own_weight_type, embed = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for family in ("olmo", "minicpm"):
            check_family(family, own_family, embed, folder)
        check_weight_type(own_weight_type, embed, folder)
    print("olmo, minicpm and Q8_1: most likely tokens and log-probabilities agree")


if __name__ == "__main__":
    main()
