#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/peer/qwen3vl-vision.gguf, a small vision encoder, and the rows that llama.cpp gives for images.

usage: peer_vision.py PEER_VISION [--check]

PEER_VISION is the program of peer_vision.cpp, built with the headers and the sources of llama.cpp's tools/mtmd
(clip.cpp, models/qwen3vl.cpp, and what they need) and linked with its libraries. These must compute gelu as it is
written: without the definition of GGML_GELU_FP16 in ggml-cpu/vec.h. Its table of f16 alone moves the rows by an nmse of
1.4e-7 to 1.6e-7. --check compares what is checked in with what the program gives, and writes nothing.

Layout of qwen3vl-vision.vis: "ZVIS", version 1, images I, columns D; for each image its width W, height H, rows R, RGB
bytes [H][W][3] padded to 4, and rows f32 [R][D]. All numbers have 32 bits, little-endian.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data" / "peer"
WIDTH, HEADS, FF, LAYERS, PATCH, SIDE, PROJECTION = 16, 2, 24, 3, 4, 24, 16
MEAN, DEVIATION = (0.5, 0.4, 0.3), (0.5, 0.25, 0.5)
IMAGES = ((24, 24), (40, 32), (16, 8), (48, 16))  # the trained grid, a larger, a smaller, and one of both
DEEP = (1,)
U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def metadata():
    floats = lambda values: struct.pack(f"<IQ{len(values)}f", F32, len(values), *values)
    flags = struct.pack(f"<IQ{LAYERS}B", BOOL, LAYERS, *(layer in DEEP for layer in range(LAYERS)))
    number = lambda value: (U32, struct.pack("<I", value))
    return {
        "general.architecture": (STRING, text("clip")),
        "clip.has_vision_encoder": (BOOL, b"\1"),
        "clip.projector_type": (STRING, text("qwen3vl_merger")),
        "clip.use_gelu": (BOOL, b"\1"),
        "clip.vision.image_size": number(SIDE),
        "clip.vision.patch_size": number(PATCH),
        "clip.vision.embedding_length": number(WIDTH),
        "clip.vision.feed_forward_length": number(FF),
        "clip.vision.block_count": number(LAYERS),
        "clip.vision.projection_dim": number(PROJECTION),
        "clip.vision.attention.head_count": number(HEADS),
        "clip.vision.attention.layer_norm_epsilon": (F32, struct.pack("<f", 1e-6)),
        "clip.vision.spatial_merge_size": number(2),
        "clip.vision.image_mean": (ARRAY, floats(MEAN)),
        "clip.vision.image_std": (ARRAY, floats(DEVIATION)),
        "clip.vision.is_deepstack_layers": (ARRAY, flags),
    }


def shapes():
    """The tensors of the encoder, row-major."""
    found = {"v.patch_embd.weight": (WIDTH, 3, PATCH, PATCH), "v.patch_embd.weight.1": (WIDTH, 3, PATCH, PATCH),
             "v.patch_embd.bias": (WIDTH,), "v.position_embd.weight": ((SIDE // PATCH) ** 2, WIDTH)}

    def layer(name, rows, columns):
        found[name + ".weight"], found[name + ".bias"] = (rows, columns), (rows,)

    def norm(name, size):
        found[name + ".weight"] = found[name + ".bias"] = (size,)

    for i in range(LAYERS):
        norm(f"v.blk.{i}.ln1", WIDTH)
        layer(f"v.blk.{i}.attn_qkv", 3 * WIDTH, WIDTH)
        layer(f"v.blk.{i}.attn_out", WIDTH, WIDTH)
        norm(f"v.blk.{i}.ln2", WIDTH)
        layer(f"v.blk.{i}.ffn_up", FF, WIDTH)
        layer(f"v.blk.{i}.ffn_down", WIDTH, FF)
    for i in DEEP:
        norm(f"v.deepstack.{i}.norm", 4 * WIDTH)
        layer(f"v.deepstack.{i}.fc1", 4 * WIDTH, 4 * WIDTH)
        layer(f"v.deepstack.{i}.fc2", PROJECTION, 4 * WIDTH)
    norm("v.post_ln", WIDTH)
    layer("mm.0", 4 * WIDTH, 4 * WIDTH)
    layer("mm.2", PROJECTION, 4 * WIDTH)
    return found


def values(name, shape, random):
    if len(shape) == 1:
        return random.normal(0 if name.endswith("bias") else 1, 0.2, shape)
    return random.normal(0, 1.5 / np.sqrt(np.prod(shape[1:])), shape)


def model(keys, tensors):
    random = np.random.default_rng(7)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, (kind, payload) in keys.items():
        head += text(key) + struct.pack("<I", kind) + payload
    data = b""
    for name, shape in tensors.items():
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), 0, len(data))
        bytes_of = values(name, shape, random).astype("<f4").tobytes()
        data += bytes_of + b"\0" * (-len(bytes_of) % 32)
    return head + b"\0" * (-len(head) % 32) + data


def encode(program, path, image, folder):
    """The rows of an image of bytes."""
    pixels = (image.astype("f4") / np.float32(255) - np.array(MEAN, "f4")) / np.array(DEVIATION, "f4")
    pixels.astype("<f4").tofile(folder / "pixels")
    subprocess.run([program, path, str(image.shape[1]), str(image.shape[0]), folder / "pixels", folder / "rows"],
                   check=True, capture_output=True)
    return np.fromfile(folder / "rows", "<f4").reshape(-1, PROJECTION * (1 + len(DEEP)))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, check = pathlib.Path(sys.argv[1]).resolve(), "--check" in sys.argv
    random, made = np.random.default_rng(11), model(metadata(), shapes())
    path, answers = FOLDER / "qwen3vl-vision.gguf", FOLDER / "qwen3vl-vision.vis"
    if check:
        assert path.read_bytes() == made, "the model differs"
    else:
        path.write_bytes(made)
    out = b"ZVIS" + struct.pack("<III", 1, len(IMAGES), PROJECTION * (1 + len(DEEP)))
    with tempfile.TemporaryDirectory() as name:
        for width, height in IMAGES:
            image = random.integers(0, 256, (height, width, 3)).astype("u1")
            rows = encode(program, path, image, pathlib.Path(name))
            raw = image.tobytes()
            out += struct.pack("<III", width, height, len(rows)) + raw + b"\0" * (-len(raw) % 4) + rows.tobytes()
            print(f"{width} x {height}: {rows.shape}, {np.abs(rows).mean():.3f} on average")
    if not check:
        answers.write_bytes(out)
        return
    old, new = (np.frombuffer(data, "<f4")[4:] for data in (answers.read_bytes(), out))
    assert len(old) == len(new) and np.allclose(old, new, rtol=1e-5, atol=1e-5, equal_nan=True), "the rows differ"


if __name__ == "__main__":
    main()
