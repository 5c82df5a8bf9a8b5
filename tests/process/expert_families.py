#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/process/expert_families.py: families with experts that no golden file covers give what plain Python computes.
"""usage: expert_families.py ZRT

Writes small random models of qwen2moe and granitemoe and compares the logits that `zrt logits` writes with a decoder
written down here from the definitions, in double precision. Nearly equal router scores could fall either way, so it
demands that none are.
"""
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import own_family as base  # noqa: E402

VOCABULARY, EXPERTS, USED, FF, SHARED = 48, 6, 2, 24, 40
WIDTH, LAYERS, HEADS, KV_HEADS, DIM = base.WIDTH, base.LAYERS, base.HEADS, base.KV_HEADS, base.DIM
GRANITE = {"embedding_scale": 12.0, "residual_scale": 0.22, "attention.scale": 0.3, "logit_scale": 4.0}
PROMPT, FEED = [3, 17, 41, 5, 5, 30, 11], [2, 47, 9]


def make(family, shared, rng):
    """The file's bytes, and its tensors as lists of rows in the file's order."""
    metadata = {"general.architecture": family, "tokenizer.ggml.model": "no_vocab"}
    for key, value in {"vocab_size": VOCABULARY, "context_length": 64, "embedding_length": WIDTH, "block_count": LAYERS,
                       "feed_forward_length": FF, "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS,
                       "attention.layer_norm_rms_epsilon": base.EPS, "rope.freq_base": base.BASE,
                       "expert_count": EXPERTS, "expert_used_count": USED, "expert_feed_forward_length": FF,
                       **({"expert_shared_feed_forward_length": SHARED} if shared else {}),
                       **(GRANITE if family == "granitemoe" else {})}.items():
        metadata[f"{family}.{key}"] = value
    file, held = {}, {}

    def tensor(name, dims, scale, middle=0.0):
        # Multiples of 2^-10 are exact in f32, so file and computation hold the same numbers.
        data = [middle + scale * rng.randint(-1024, 1024) / 1024 for _ in range(math.prod(dims))]
        file[name], held[name] = (dims, base.GGML_F32, struct.pack(f"<{len(data)}f", *data)), data

    tensor("token_embd.weight", [WIDTH, VOCABULARY], 1.0)
    tensor("output.weight", [WIDTH, VOCABULARY], 0.75)
    tensor("output_norm.weight", [WIDTH], 0.5, 1.0)
    for layer in range(LAYERS):
        blk = f"blk.{layer}."
        tensor(blk + "attn_norm.weight", [WIDTH], 0.5, 1.0)
        tensor(blk + "ffn_norm.weight", [WIDTH], 0.5, 1.0)
        for part, rows in (("q", HEADS * DIM), ("k", KV_HEADS * DIM), ("v", KV_HEADS * DIM)):
            tensor(f"{blk}attn_{part}.weight", [WIDTH, rows], 0.5)
            if family == "qwen2moe":
                tensor(f"{blk}attn_{part}.bias", [rows], 0.5)
        tensor(blk + "attn_output.weight", [HEADS * DIM, WIDTH], 0.5)
        tensor(blk + "ffn_gate_inp.weight", [WIDTH, EXPERTS], 1.0)
        tensor(blk + "ffn_gate_exps.weight", [WIDTH, FF, EXPERTS], 0.5)
        tensor(blk + "ffn_up_exps.weight", [WIDTH, FF, EXPERTS], 0.5)
        tensor(blk + "ffn_down_exps.weight", [FF, WIDTH, EXPERTS], 0.5)
        if shared:
            tensor(blk + "ffn_gate_shexp.weight", [WIDTH, SHARED], 0.5)
            tensor(blk + "ffn_up_shexp.weight", [WIDTH, SHARED], 0.5)
            tensor(blk + "ffn_down_shexp.weight", [SHARED, WIDTH], 0.5)
        if family == "qwen2moe":
            tensor(blk + "ffn_gate_inp_shexp.weight", [WIDTH], 0.5)
    return base.gguf(metadata, file), held


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def rows_of(weight, cols):
    return [weight[at:at + cols] for at in range(0, len(weight), cols)]


class Decoder(base.Decoder):
    """own_family.py's decoder with experts in place of the MLP, and this family's biases, pairs and scales."""

    def __init__(self, family, weights):
        super().__init__("llama", weights, halves=family == "qwen2moe")
        if family == "granitemoe":
            self.scales = GRANITE
        self.qwen = family == "qwen2moe"
        self.closest = math.inf

    def product(self, name, x):
        y = super().product(name, x)
        bias = self.w.get(name.replace(".weight", ".bias"))
        return [a + b for a, b in zip(y, bias)] if bias else y

    def network(self, gate, up, down, x):
        inner = len(down) // WIDTH
        h = [dot(g, x) for g in rows_of(gate, WIDTH)]
        h = [g / (1.0 + math.exp(-g)) * dot(u, x) for g, u in zip(h, rows_of(up, WIDTH))]
        return [dot(row, h) for row in rows_of(down, inner)]

    def mlp(self, layer, x):
        blk = f"blk.{layer}."
        logits = self.product(blk + "ffn_gate_inp.weight", x)
        e = [math.exp(v - max(logits)) for v in logits]
        scores = [v / sum(e) for v in e]
        order = sorted(range(EXPERTS), key=lambda i: -scores[i])
        self.closest = min(self.closest, scores[order[USED - 1]] - scores[order[USED]])
        total = 1.0 if self.qwen else sum(scores[i] for i in order[:USED])
        y = [0.0] * WIDTH
        for i in sorted(order[:USED]):
            part = [self.w[f"{blk}ffn_{name}_exps.weight"][i * FF * WIDTH:(i + 1) * FF * WIDTH]
                    for name in ("gate", "up", "down")]
            y = [a + scores[i] / total * b for a, b in zip(y, self.network(*part, x))]
        if blk + "ffn_up_shexp.weight" in self.w:
            part = [self.w[f"{blk}ffn_{name}_shexp.weight"] for name in ("gate", "up", "down")]
            gate = 1.0
            if self.qwen:
                gate = 1.0 / (1.0 + math.exp(-dot(self.w[blk + "ffn_gate_inp_shexp.weight"], x)))
            y = [a + gate * b for a, b in zip(y, self.network(*part, x))]
        return y


def logits_of(zrt, path, out):
    subprocess.run([zrt, "logits", "--model", path, "--tokens", ",".join(map(str, PROMPT)), "--feed",
                    ",".join(map(str, FEED)), "--out", out], check=True, capture_output=True, timeout=120)
    with open(out, "rb") as f:
        data = f.read()
    magic, _, vocabulary, count = struct.unpack_from("<4siii", data)
    assert magic == b"ZRTL" and vocabulary == VOCABULARY and count == len(PROMPT) + len(FEED), data[:16]
    rows = [struct.unpack_from(f"<i{vocabulary}f", data, 16 + i * 4 * (vocabulary + 1)) for i in range(count)]
    assert [row[0] for row in rows] == PROMPT + FEED
    return [row[1:] for row in rows]


def log_probabilities(row):
    top = max(row)
    total = top + math.log(sum(math.exp(v - top) for v in row))
    return [v - total for v in row]


def main():
    (zrt,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for family, shared in (("qwen2moe", True), ("granitemoe", False), ("granitemoe", True)):
            file, weights = make(family, shared, random.Random(f"zrt {family} {shared}"))
            path = os.path.join(folder, family + ".gguf")
            with open(path, "wb") as f:
                f.write(file)
            decoder, worst = Decoder(family, weights), 0.0
            for position, row in enumerate(logits_of(zrt, path, os.path.join(folder, "logits"))):
                expected = decoder.step((PROMPT + FEED)[position], position)
                worst = max(worst, *(abs(a - b) for a, b in zip(log_probabilities(row), expected)))
            assert decoder.closest > 1e-5, (family, decoder.closest)
            assert worst < 1e-4, (family, shared, worst)
            print(f"{family}{' with a shared expert' if shared else ''}: log-probabilities within {worst:.1e}")


if __name__ == "__main__":
    main()
