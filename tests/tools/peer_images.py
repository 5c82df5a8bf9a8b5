#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/peer/qwen3vl-images.gguf, a small decoder for the rows of qwen3vl-vision.gguf, and llama.cpp's logits
for text around an image.

usage: peer_images.py PEER_IMAGES [--check]

PEER_IMAGES is the program of peer_images.cpp, linked with llama.cpp's libraries. The rows are those of an image in qwen3vl-vision.vis. --check compares what is checked in with what the program gives, and
writes nothing.

Layout of qwen3vl-images.bin: "ZIMG", version 1, which image, B tokens before it, A behind it, vocabulary V, ids [B + A],
logits f32 [B + rows + A][V]. All numbers have 32 bits, little-endian.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

import peer_vision

MODEL = peer_vision.FOLDER / "qwen3vl-images.gguf"
GOLDEN = peer_vision.FOLDER / "qwen3vl-images.bin"
IMAGE, BEFORE, AFTER, VOCABULARY = 1, 5, 7, 64
WIDTH, FF, LAYERS, HEADS, HEAD_DIM = peer_vision.PROJECTION, 40, 3, 2, 16


def metadata():
    """The keys of the decoder; the last of its eight pairs does not turn."""
    number = lambda value: (peer_vision.U32, struct.pack("<I", value))
    real = lambda value: (peer_vision.F32, struct.pack("<f", value))
    sizes = {"vocab_size": VOCABULARY, "context_length": 128, "embedding_length": WIDTH, "block_count": LAYERS,
             "feed_forward_length": FF, "attention.head_count": HEADS, "attention.head_count_kv": 1,
             "attention.key_length": HEAD_DIM, "attention.value_length": HEAD_DIM, "rope.dimension_count": HEAD_DIM,
             "n_deepstack_layers": len(peer_vision.DEEP)}
    keys = {"general.architecture": (peer_vision.STRING, peer_vision.text("qwen3vl")),
            "tokenizer.ggml.model": (peer_vision.STRING, peer_vision.text("no_vocab"))}
    keys |= {"qwen3vl." + key: number(value) for key, value in sizes.items()}
    keys["qwen3vl.attention.layer_norm_rms_epsilon"] = real(1e-6)
    keys["qwen3vl.rope.freq_base"] = real(10000.0)
    sections = struct.pack("<IQ4I", peer_vision.U32, 4, 4, 2, 2, 0)
    keys["qwen3vl.rope.dimension_sections"] = (peer_vision.ARRAY, sections)
    return keys


def shapes():
    """The tensors of the decoder, row-major."""
    found = {"token_embd.weight": (VOCABULARY, WIDTH), "output_norm.weight": (WIDTH,)}
    for i in range(LAYERS):
        found |= {f"blk.{i}.{name}.weight": shape for name, shape in (
            ("attn_norm", (WIDTH,)), ("attn_q", (HEADS * HEAD_DIM, WIDTH)), ("attn_k", (HEAD_DIM, WIDTH)),
            ("attn_v", (HEAD_DIM, WIDTH)), ("attn_output", (WIDTH, HEADS * HEAD_DIM)), ("attn_q_norm", (HEAD_DIM,)),
            ("attn_k_norm", (HEAD_DIM,)), ("ffn_norm", (WIDTH,)), ("ffn_gate", (FF, WIDTH)), ("ffn_up", (FF, WIDTH)),
            ("ffn_down", (WIDTH, FF)))}
    return found


def image_rows():
    """The size in pixels of the image, and its rows."""
    data = (peer_vision.FOLDER / "qwen3vl-vision.vis").read_bytes()
    count, columns = struct.unpack_from("<II", data, 8)
    at = 16
    for i in range(count):
        width, height, rows = struct.unpack_from("<III", data, at)
        at += 12 + (width * height * 3 + 3) // 4 * 4
        if i == IMAGE:
            return width, height, np.frombuffer(data, "<f4", rows * columns, at)
        at += rows * columns * 4


def logits(program, tokens):
    width, height, rows = image_rows()
    side = 2 * peer_vision.PATCH
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tokens.tofile(folder / "tokens")
        rows.tofile(folder / "rows")
        subprocess.run([program, MODEL, folder / "tokens", folder / "rows", str(height // side), str(width // side),
                        str(BEFORE), folder / "out"], check=True)
        return np.fromfile(folder / "out", "<f4")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, check = pathlib.Path(sys.argv[1]).resolve(), "--check" in sys.argv
    made = peer_vision.model(metadata(), shapes())
    if not check:
        MODEL.write_bytes(made)
    elif MODEL.read_bytes() != made:
        sys.exit("the model differs")
    tokens = np.random.default_rng(5).integers(0, VOCABULARY, BEFORE + AFTER).astype("<i4")
    found = logits(program, tokens)
    head = b"ZIMG" + struct.pack("<IIIII", 1, IMAGE, BEFORE, AFTER, VOCABULARY) + tokens.tobytes()
    if not check:
        GOLDEN.write_bytes(head + found.tobytes())
        return
    data = GOLDEN.read_bytes()
    seen = np.frombuffer(data[len(head):], "<f4").astype("f8")
    nmse = ((seen - found) ** 2).sum() / (seen ** 2).sum()
    print(f"nmse {nmse:.1e}")
    if not data.startswith(head) or not nmse < 1e-11:
        sys.exit("the logits differ")


if __name__ == "__main__":
    main()
