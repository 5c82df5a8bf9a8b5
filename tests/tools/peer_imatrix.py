#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes NAME.squares to tests/data/peer: what llama.cpp multiplies the matrices of a model with, as llama-imatrix sums it.

usage: peer_imatrix.py LLAMA_FOLDER [--check] [NAME...]
       peer_imatrix.py LLAMA_FOLDER MODEL.gguf IDS CHUNK IMATRIX.gguf

LLAMA_FOLDER is that of peer_models.py. In the second form IDS is a file of token ids in decimal, fed in chunks of CHUNK,
and the sums are compared with those of `zrt imatrix`.

Layout of NAME.squares: text, a line for each matrix of each tensor: name, number of the matrix, rows, and the sums of
the squares of its columns. The tokens are the prompt of NAME.bin.
"""
import ctypes
import pathlib
import struct
import sys

import numpy as np

import peer_models

NAMES = ["deepseek2-v3", "gemma4-moe", "granitehybrid-moe", "qwen35moe", "falcon-h1", "ernie4_5"]


class Tensor(ctypes.Structure):
    """ggml_tensor, up to its name."""


Tensor._fields_ = [("type", ctypes.c_int), ("buffer", ctypes.c_void_p), ("ne", ctypes.c_int64 * 4),
                   ("nb", ctypes.c_size_t * 4), ("op", ctypes.c_int), ("op_params", ctypes.c_int32 * 16),
                   ("flags", ctypes.c_int32), ("src", ctypes.POINTER(Tensor) * 10), ("view_src", ctypes.c_void_p),
                   ("view_offset", ctypes.c_size_t), ("data", ctypes.c_void_p), ("name", ctypes.c_char * 64)]

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.POINTER(Tensor), ctypes.c_bool, ctypes.c_void_p)


def strided(tensor, dtype):
    """A tensor's elements, the slowest axis first."""
    shape = tuple(reversed(tensor.ne))
    strides = tuple(reversed(tensor.nb))
    size = sum((n - 1) * s for n, s in zip(shape, strides)) + np.dtype(dtype).itemsize
    raw = np.ctypeslib.as_array(ctypes.cast(tensor.data, ctypes.POINTER(ctypes.c_ubyte)), (size,))
    return np.lib.stride_tricks.as_strided(raw.view(dtype) if size % 4 == 0 else raw, shape, strides).copy()


class Collector(peer_models.Llama):
    def __init__(self, folder):
        super().__init__(folder)
        base = ctypes.CDLL(str(sorted(folder.glob("libggml-base*.so"))[0]))
        base.ggml_op_name.restype = ctypes.c_char_p
        base.ggml_op_name.argtypes = [ctypes.c_int]
        self.lib.llama_free.argtypes = [ctypes.c_void_p]
        for name in ("llama_get_model", "llama_model_get_vocab"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        for name in ("llama_get_model", "llama_model_get_vocab", "llama_vocab_get_add_bos", "llama_vocab_bos"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
        self.lib.llama_vocab_get_add_bos.restype = ctypes.c_bool
        self.op_name = base.ggml_op_name
        self.sums = {}
        self.callback = CALLBACK(self.seen)

    def seen(self, pointer, ask, _):
        t = pointer.contents
        op = self.op_name(t.op)
        if op not in (b"MUL_MAT", b"MUL_MAT_ID"):
            return not ask
        weight, x = t.src[0].contents, t.src[1].contents
        name = weight.name.decode()
        # Views of a weight bear its name with a remark behind it.
        name = name.split(" ")[0]
        if not name.startswith("blk.") or not name.endswith(".weight"):
            return not ask
        if ask:
            return True
        matrices = weight.ne[2] * weight.ne[3]
        sums, counts = self.sums.setdefault(
            name, (np.zeros((matrices, weight.ne[0])), np.zeros(matrices, np.int64)))
        values = strided(x, "<f4").astype("f8") ** 2
        if op == b"MUL_MAT_ID":
            ids = strided(t.src[2].contents, "<i4")[0, 0]
            for token, row in enumerate(ids):
                for j, expert in enumerate(row):
                    sums[expert] += values[0, token, j % values.shape[2]]
                    counts[expert] += 1
            return True
        for outer in range(values.shape[0]):
            for inner in range(values.shape[1]):
                at = (outer % weight.ne[3]) * weight.ne[2] + inner % weight.ne[2]
                sums[at] += values[outer, inner].sum(axis=0)
                counts[at] += values.shape[2]
        return True

    def watch(self, params):
        """Sets cb_eval, which stands two pointers before the types of keys and values."""
        words = np.frombuffer(params.rest, np.uint32)
        first = next(i for i in range(len(words) - 1) if words[i] == 1 and words[i + 1] == 1)
        ctypes.memmove(ctypes.byref(params, type(params).rest.offset + 4 * first - 16),
                       struct.pack("<Q", ctypes.cast(self.callback, ctypes.c_void_p).value), 8)

    def collect(self, path, chunks):
        self.sums = {}
        for chunk in chunks:
            context = self.context(path, size=max(128, 2 * len(chunk)), prepare=self.watch)
            vocabulary = self.lib.llama_model_get_vocab(self.lib.llama_get_model(context))
            if self.lib.llama_vocab_get_add_bos(vocabulary):
                chunk = [self.lib.llama_vocab_bos(vocabulary)] + chunk[1:]
            self.decode(context, chunk, 0)
            self.lib.llama_free(context)
        return self.sums


def read_sums(data):
    """The tensors of a GGUF file whose tensors are all f32, by name."""
    at = 0

    def take(layout):
        nonlocal at
        values = struct.unpack_from("<" + layout, data, at)
        at += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def text():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size:at].decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            of, count = take("I"), take("Q")
            return [value(of) for _ in range(count)]
        return take("BbHhIif?__QqD"[kind].replace("D", "d"))

    magic, _, tensors, entries = take("4sIQQ")
    keys = {}
    for _ in range(entries):
        name = text()
        keys[name] = value(take("I"))
    if magic != b"GGUF" or keys.get("general.type") != "imatrix":
        sys.exit("no importance matrix")
    places = {}
    for _ in range(tensors):
        name = text()
        dims = [take("Q") for _ in range(take("I"))]
        take("I")
        places[name] = dims, take("Q")
    begin = -(-at // 32) * 32
    return {name: np.frombuffer(data, "<f4", int(np.prod(dims)), begin + offset)
            for name, (dims, offset) in places.items()}


def compare(sums, path):
    """Prints the largest difference from a file of zrt imatrix; True where it is small."""
    found = read_sums(pathlib.Path(path).read_bytes())
    good = {name + end for name in sums for end in (".in_sum2", ".counts")} == set(found)
    if not good:
        print("names differ:", sorted({n.rsplit(".", 1)[0] for n in found} ^ set(sums))[:8])
    worst = 0.0
    for name, (expected, counts) in sums.items():
        if name + ".counts" not in found:
            continue
        if (found[name + ".counts"].ravel() != counts).any():
            print(f"{name}: other counts")
            good = False
        off = np.abs(found[name + ".in_sum2"].reshape(expected.shape) - expected)
        worst = max(worst, float((off.sum(axis=1) / np.maximum(expected.sum(axis=1), 1e-30)).max()))
    print(f"{len(sums)} tensors, largest relative difference of a matrix's sums {worst:.1e}")
    return good


def text_of(sums):
    lines = []
    for name in sorted(sums):
        for matrix, (row, count) in enumerate(zip(*sums[name])):
            lines.append(f"{name} {matrix} {count} " + " ".join(f"{x:.7g}" for x in row))
    return "\n".join(lines) + "\n"


def main():
    args = sys.argv[1:]
    check = "--check" in args
    args = [arg for arg in args if arg != "--check"]
    if not args:
        sys.exit(__doc__)
    llama = Collector(pathlib.Path(args[0]))
    if len(args) == 5 and args[1].endswith(".gguf"):
        ids, size = [int(word) for word in pathlib.Path(args[2]).read_text().split()], int(args[3])
        sums = llama.collect(args[1], [ids[at:at + size] for at in range(0, len(ids) - size + 1, size)])
        sys.exit(0 if compare(sums, args[4]) else 1)
    failed = False
    for name in args[1:] or NAMES:
        golden = np.frombuffer((peer_models.FOLDER / f"{name}.bin").read_bytes(), "<u4")
        prompt = [int(id) for id in golden[5:5 + golden[2]]]
        text = text_of(llama.collect(peer_models.FOLDER / f"{name}.gguf", [prompt]))
        path = peer_models.FOLDER / f"{name}.squares"
        if not check:
            path.write_text(text)
        elif path.read_text() != text:
            failed = True
        print(f"{name:20} {len(text)} bytes{' DIFFERS' if check and failed else ''}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
