# SPDX-License-Identifier: Apache-2.0
"""Models that say given texts: behind a prompt that ends with a letter comes the letter's text, token by token."""
import math
import os
import random
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from gguf_file import gguf  # noqa: E402

WIDTH, HIDDEN, HEADS, CONTEXT = 256, 32, 4, 1024
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
UNK, BOS, EOS = 0, 1, 2


def pieces(said, controls, size, taken):
    """Takes a text apart into pieces that none has yet: a control each, and about `size` characters of all else."""
    out = []
    pattern = "(" + "|".join(re.escape(mark) for mark in controls) + ")" if controls else "$^"
    for part in re.split(pattern, said):
        if part in controls:
            out.append((part, CONTROL))
            continue
        at = 0
        while at < len(part):
            end = at + size
            while part[at:end] in taken and end < len(part):
                end += 1
            if part[at:end] in taken:  # the end of a text: the piece before it takes it
                before = out.pop()[0]
                taken.discard(before)
                out.append((before + part[at:end], NORMAL))
            else:
                out.append((part[at:end], NORMAL))
            assert out[-1][0] not in taken, f"{said!r} cannot be told apart"
            taken.add(out[-1][0])
            at = end
    return out


def write_speaker(path, said, controls=(), size=4):
    """Writes a model that answers the letter X with `said["X"]`. Marks of `controls` are tokens of their own, each at
    most once in all texts."""
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)] + [(f"<0x{i:02X}>", BYTE) for i in range(256)]
    ids = {}
    for letter in said:
        ids[letter] = len(tokens)
        tokens.append((letter, NORMAL))
    taken = set(said)
    scripts = {}
    for letter, text in said.items():
        parts = pieces(text, controls, size, taken)
        scripts[letter] = list(range(len(tokens), len(tokens) + len(parts)))
        tokens += [(piece.replace(" ", "\u2581"), kind) for piece, kind in parts]
    # Each token points where the next one's row of the output lies, and the model does nothing else.
    rng = random.Random(1)
    rows = []
    for _ in tokens:
        row = [rng.gauss(0, 1) for _ in range(WIDTH)]
        length = math.sqrt(sum(x * x for x in row))
        rows.append([x / length * math.sqrt(WIDTH) for x in row])
    out = [[0.0] * WIDTH for _ in tokens]
    for letter, script in scripts.items():
        before = ids[letter]
        for token in script + [EOS]:
            out[token] = [o + e * 3 / math.sqrt(WIDTH) for o, e in zip(out[token], rows[before])]
            before = token

    def matrix(values):
        flat = [x for row in values for x in row]
        return (len(values[0]), len(values)), 0, struct.pack(f"<{len(flat)}f", *flat)

    def zeros(rows_of, columns):
        return (columns, rows_of), 0, bytes(4 * rows_of * columns)

    ones = ((WIDTH,), 0, struct.pack(f"<{WIDTH}f", *([1.0] * WIDTH)))
    tensors = {"token_embd.weight": matrix(rows), "output.weight": matrix(out), "output_norm.weight": ones,
               "blk.0.attn_norm.weight": ones, "blk.0.ffn_norm.weight": ones}
    tensors |= {f"blk.0.attn_{name}.weight": zeros(WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
    tensors |= {"blk.0.ffn_gate.weight": zeros(HIDDEN, WIDTH), "blk.0.ffn_up.weight": zeros(HIDDEN, WIDTH),
                "blk.0.ffn_down.weight": zeros(WIDTH, HIDDEN)}
    # A normal piece is never made of others: its score is too low.
    scores = [0.0 if kind != NORMAL else -10.0 if name in said else -1000.0 for name, kind in tokens]
    metadata = {"general.architecture": "llama", "general.name": "speaker", "llama.context_length": CONTEXT,
                "llama.embedding_length": WIDTH, "llama.block_count": 1, "llama.feed_forward_length": HIDDEN,
                "llama.attention.head_count": HEADS, "llama.attention.head_count_kv": HEADS,
                "llama.rope.dimension_count": WIDTH // HEADS, "llama.vocab_size": len(tokens),
                "llama.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.model": "llama",
                "tokenizer.ggml.tokens": [name for name, _ in tokens],
                "tokenizer.ggml.scores": scores,
                "tokenizer.ggml.token_type": [kind for _, kind in tokens],
                "tokenizer.ggml.bos_token_id": BOS, "tokenizer.ggml.eos_token_id": EOS,
                "tokenizer.ggml.unknown_token_id": UNK, "tokenizer.ggml.add_space_prefix": False}
    with open(path, "wb") as file:
        file.write(gguf(metadata, tensors))
    return path
