#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/peer/*-lora.gguf, small LoRA adapters, and the logits that llama.cpp gives with them.

usage: peer_lora.py PEER_LORA [--check]

PEER_LORA is the program of peer_lora.cpp, linked with llama.cpp. The models are those of peer_models.py; the layout of
NAME-lora.bin is that of its files. Every plain projection of a model gets a pair of matrices. --check compares what is
checked in with what the program gives, and writes nothing.
"""
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data" / "peer"
# Model: architecture, rank, alpha, scale.
ADAPTERS = {"seed_oss": ("seed_oss", 4, 6.0, 0.75), "falcon-h1": ("falcon-h1", 3, 0.0, 1.0)}
PROJECTIONS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "ssm_in", "ssm_out")
F32, STRING, FLOAT, ALIGNMENT = 0, 8, 6, 32
WIDTHS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Reader:
    """The names and shapes of the tensors of a GGUF file."""

    def __init__(self, data):
        self.data, self.at = data, 4
        _, tensors, entries = self.take("I"), self.take("Q"), self.take("Q")
        for _ in range(entries):
            self.text()
            self.value(self.take("I"))
        self.shapes = dict(self.tensor() for _ in range(tensors))

    def take(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind):
        if kind == STRING:
            self.text()
        elif kind == 9:
            kind, count = self.take("I"), self.take("Q")
            for _ in range(count):
                self.value(kind)
        else:
            self.take(WIDTHS[kind])

    def tensor(self):
        name, rank = self.text(), self.take("I")
        dims = [self.take("Q") for _ in range(rank)]
        self.take("I"), self.take("Q")
        return name, dims


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pairs(shapes, rank):
    for name, dims in shapes.items():
        if name.endswith(".weight") and name.split(".")[-2] in PROJECTIONS:
            yield name + ".lora_a", (dims[0], rank)
            yield name + ".lora_b", (rank, dims[1])


def adapter(architecture, rank, alpha, shapes):
    draw = random.Random(11)
    entries = [("general.architecture", STRING, text(architecture)), ("general.type", STRING, text("adapter")),
               ("adapter.type", STRING, text("lora")), ("adapter.lora.alpha", FLOAT, struct.pack("<f", alpha))]
    tensors = list(pairs(shapes, rank))
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries))
    for key, kind, value in entries:
        out += text(key) + struct.pack("<I", kind) + value
    data = b""
    for name, dims in tensors:
        out += text(name) + struct.pack("<IQQIQ", 2, *dims, F32, len(data))
        count = dims[0] * dims[1]
        data += struct.pack(f"<{count}f", *(draw.uniform(-0.4, 0.4) for _ in range(count)))
        data += bytes(-len(data) % ALIGNMENT)
    return out + bytes(-len(out) % ALIGNMENT) + data


def logits(data):
    _, prompt, decode, vocabulary = struct.unpack_from("<4i", data, 4)
    begin = 20 + 4 * (prompt + decode)
    return data[:begin], struct.unpack_from(f"<{(prompt + decode) * vocabulary}f", data, begin)


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--check"]
    if len(args) != 1:
        sys.exit(__doc__)
    failed = False
    for name, (architecture, rank, alpha, scale) in ADAPTERS.items():
        model, file, golden = (FOLDER / f"{name}{end}" for end in (".gguf", "-lora.gguf", "-lora.bin"))
        data = adapter(architecture, rank, alpha, Reader(model.read_bytes()).shapes)
        if len(args) == len(sys.argv[1:]):
            file.write_bytes(data)
            subprocess.run([args[0], model, file, str(scale), golden], check=True)
            continue
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run([args[0], model, file, str(scale), out.name], check=True)
            head, found = logits(pathlib.Path(out.name).read_bytes())
        expected_head, expected = logits(golden.read_bytes())
        nmse = sum((a - b) ** 2 for a, b in zip(found, expected)) / sum(b ** 2 for b in expected)
        same = file.read_bytes() == data and head == expected_head and nmse < 1e-11
        failed |= not same
        print(f"{name:20} nmse {nmse:.1e} {'' if same else 'DIFFERS'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
