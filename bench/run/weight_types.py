#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures decode of one shape in every weight type, beside peers' llama-bench, in alternating runs.

    weight_types.py BASE --program ZRT --peer LLAMA_BENCH... [--types q4_0,iq2_xs] [--floor 0.8 --check]

BASE is a model whose matrices are Q4_0, such as `zrt make-model --arch llama --shape llama-1b --type q4_0` makes. For
each type its matrices are replaced by blocks of that type, which a tiny model of it has, again and again: quantising a
billion weights takes the types of a grid hours, and the time of a product does not depend on the values. Tensors of
other types, the head among them, stay. A row has the medians of the rounds and the median of their ratios to the
fastest peer; a peer that does not load a type has no figure for it.
"""
import argparse
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

import measure

# The name for `zrt make-model`, ggml's id of the blocks, elements and bytes of a block.
TYPES = {
    "f32": (0, 1, 4), "f16": (1, 1, 2), "bf16": (30, 1, 2), "q8_0": (8, 32, 34), "q6_k": (14, 256, 210),
    "q5_k_s": (13, 256, 176), "q5_1": (7, 32, 24), "q5_0": (6, 32, 22), "q4_k_s": (12, 256, 144),
    "q4_1": (3, 32, 20), "q4_0": (2, 32, 18), "iq4_nl": (20, 32, 18), "iq4_xs": (23, 256, 136),
    "mxfp4": (39, 32, 17), "nvfp4": (40, 64, 36), "q3_k_s": (11, 256, 110), "iq3_s": (21, 256, 110),
    "iq3_xxs": (18, 256, 98), "q2_k_s": (10, 256, 84), "iq2_m": (22, 256, 82), "iq2_xs": (17, 256, 74),
    "iq2_xxs": (16, 256, 66), "tq2_0": (35, 256, 66), "tq1_0": (34, 256, 54), "iq1_m": (29, 256, 56),
    "iq1_s": (19, 256, 50), "q1_0": (41, 128, 18),
}
Q4_0 = TYPES["q4_0"][0]
SIZES = {id: (elems, size) for id, elems, size in TYPES.values()}
ALIGNMENT = 32
SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, LIST = 8, 9


class Gguf:
    """The head of a file: the bytes of its keys, and its tensors as (name, shape, type, offset)."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as self.file:
            _, self.version, tensors, self.keys = struct.unpack("<4sIQQ", self.file.read(24))
            for _ in range(self.keys):
                self.string()
                self.skip(self.number("<I"))
            end = self.file.tell()
            self.tensors = [self.tensor() for _ in range(tensors)]
            self.data = -(-self.file.tell() // ALIGNMENT) * ALIGNMENT
            self.file.seek(24)
            self.metadata = self.file.read(end - 24)

    def number(self, form):
        return struct.unpack(form, self.file.read(struct.calcsize(form)))[0]

    def string(self):
        return self.file.read(self.number("<Q"))

    def skip(self, kind):
        if kind == STRING:
            self.string()
        elif kind == LIST:
            kind, count = self.number("<I"), self.number("<Q")
            for _ in range(count):
                self.skip(kind)
        else:
            self.file.read(SCALAR_BYTES[kind])

    def tensor(self):
        name = self.string()
        shape = [self.number("<Q") for _ in range(self.number("<I"))]
        return name, shape, self.number("<I"), self.number("<Q")

    def bytes_of(self, tensor):
        _, shape, type, offset = tensor
        with open(self.path, "rb") as file:
            file.seek(self.data + offset)
            return file.read(size_of(shape, type))


def size_of(shape, type):
    elems, size = SIZES[type]
    count = 1
    for extent in shape:
        count *= extent
    return count // elems * size


def repeated(blocks, size):
    return blocks * (size // len(blocks)) + blocks[:size % len(blocks)]


def write_model(base, blocks, type, path):
    """Writes `base` with `blocks` of `type` in the places of its Q4_0 matrices."""
    infos, offset, placed = [], 0, []
    for tensor in base.tensors:
        name, shape, of_base, _ = tensor
        kind = type if of_base == Q4_0 else of_base
        infos.append(struct.pack("<Q", len(name)) + name + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind,
                                                                       offset))
        placed.append((tensor, kind, offset))
        offset = -(-(offset + size_of(shape, kind)) // ALIGNMENT) * ALIGNMENT
    head = struct.pack("<4sIQQ", b"GGUF", base.version, len(infos), base.keys) + base.metadata + b"".join(infos)
    start = -(-len(head) // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as out:
        out.write(head)
        for tensor, kind, at in placed:
            out.seek(start + at)
            own = tensor[2] != Q4_0
            out.write(base.bytes_of(tensor) if own else repeated(blocks, size_of(tensor[1], kind)))


def blocks_of(program, name, folder):
    """The largest tensor of the type in a tiny model."""
    path = pathlib.Path(folder, "tiny.gguf")
    subprocess.run([program, "make-model", "--arch", "llama", "--shape", "tiny", "--type", name, "--pure", "--out",
                    path],
                   check=True, capture_output=True)
    tiny = Gguf(path)
    of_type = [tensor for tensor in tiny.tensors if tensor[2] == TYPES[name][0]]
    return max((tiny.bytes_of(tensor) for tensor in of_type), key=len)


def rates(args, model):
    """Tokens per second of zrt and of each peer."""
    found = [measure.of_zrt(args, model)["decode", 1]["tokens_per_second"]]
    for peer in args.peer:
        try:
            found.append(measure.of_peer(peer, args, model)["decode", 1])
        except SystemExit as refused:
            print(refused, file=sys.stderr)
            found.append(0.0)
    if not any(found[1:]):
        sys.exit("no peer loads the type")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("--program", required=True, help="the program zrt")
    parser.add_argument("--peer", nargs="+", required=True, help="programs llama-bench")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--generate", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--floor", type=float, default=0.8)
    parser.add_argument("--check", action="store_true", help="fail where a ratio is below --floor")
    parser.set_defaults(prompt=0, depth=0, batch=[1])
    args = parser.parse_args()
    base, missed = Gguf(args.base), 0
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, "model.gguf")
        for name in args.types.split(","):
            write_model(base, blocks_of(args.program, name, folder), TYPES[name][0], model)
            rounds = [rates(args, model) for _ in range(args.rounds)]
            ratio = statistics.median(ours / max(theirs) for ours, *theirs in rounds)
            ours, *theirs = (statistics.median(side) for side in zip(*rounds))
            missed += ratio < args.floor
            peers = "  ".join(f"peer {rate:7.2f} t/s" if rate else "peer refuses it" for rate in theirs)
            print(f"{name:8} zrt {ours:7.2f} t/s  {peers}  ratio {ratio:.2f}", flush=True)
    sys.exit(1 if args.check and missed else 0)


if __name__ == "__main__":
    main()
