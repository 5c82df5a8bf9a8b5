#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/peer/weight_types.bin: llama.cpp's logits for a small model of every weight type.

usage: peer_weight_types.py TYPED_MODELS LLAMA_FOLDER [--check]

TYPED_MODELS is the program of typed_models.cpp. LLAMA_FOLDER is that of peer_models.py, of a version that knows all
types; with -DGGML_CPU_REPACK=OFF its products are those of its plain rows. --check compares what is checked in with
what the libraries give, and writes nothing.

Layout, for each model: its name in 24 bytes, hash_bytes of its file in 8, then twice the layout of peer_models.py:
logits of the file whose tensors llama.cpp made F32, which are exact but for the sums' roundings, and those of the file
itself, for which llama.cpp rounds activations. Both have the first one's greedy ids.
"""
import ctypes
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

import peer_models

OUT = peer_models.FOLDER / "weight_types.bin"
PROMPT, DECODE = 12, 4
F32 = 0


class Traits(ctypes.Structure):
    """The beginning of ggml_type_traits."""
    _fields_ = [("name", ctypes.c_char_p), ("elems", ctypes.c_int64), ("interleaved", ctypes.c_int64),
                ("bytes", ctypes.c_size_t), ("quantized", ctypes.c_bool),
                ("to_float", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_float), ctypes.c_int64))]


class Llama(peer_models.Llama):
    def __init__(self, folder):
        super().__init__(folder)
        self.base = ctypes.CDLL(str(next(iter(sorted(folder.glob("libggml-base*.so"))))))
        self.base.ggml_get_type_traits.restype = ctypes.POINTER(Traits)
        self.lib.llama_free.argtypes = [ctypes.c_void_p]

    def as_f32(self, data):
        """A GGUF file of our own writer, with every tensor as F32."""
        tensors, entries = struct.unpack_from("<QQ", data, 8)
        at = 24
        for _ in range(entries):
            at += 8 + struct.unpack_from("<Q", data, at)[0]
            kind, = struct.unpack_from("<I", data, at)
            at += 4 + (8 + struct.unpack_from("<Q", data, at + 4)[0] if kind == 8 else 4)
        index, rows = at, []
        for _ in range(tensors):
            start = at
            at += 8 + struct.unpack_from("<Q", data, at)[0]
            rank, = struct.unpack_from("<I", data, at)
            dims = struct.unpack_from(f"<{rank}Q", data, at + 4)
            at += 4 + 8 * rank
            kind, offset = struct.unpack_from("<IQ", data, at)
            rows.append((data[start:at], int(np.prod(dims)), kind, offset))
            at += 12
        begin = -(-at // 32) * 32
        head, values = data[:index], b""
        for name, count, kind, offset in rows:
            head += name + struct.pack("<IQ", F32, len(values))
            raw = data[begin + offset:]
            if kind == F32:
                values += raw[:4 * count]
            else:
                out = (ctypes.c_float * count)()
                self.base.ggml_get_type_traits(kind).contents.to_float(raw, out, count)
                values += bytes(out)
            values += bytes(-len(values) % 32)
        return head + bytes(-len(head) % 32) + values

    def logits(self, path, decode=None):
        """A section of the file: with the greedy ids, or those of `decode`."""
        state, prompt = 12345, []
        for _ in range(PROMPT):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            prompt.append((state >> 8) % peer_models.VOCABULARY)
        context = self.context(path)
        rows, ids = self.feed(context, prompt, 0), []
        for step in range(DECODE):
            ids.append(decode[step] if decode else int(np.argmax(rows[-1])))
            rows += self.feed(context, ids[-1:], PROMPT + step)
        self.lib.llama_free(context)
        head = np.array([1, PROMPT, DECODE, peer_models.VOCABULARY] + prompt + ids, "<i4")
        return b"ZGLD" + head.tobytes() + np.stack(rows).astype("<f4").tobytes(), ids


def same(found, expected):
    """Two sections: the same ids, and logits close to each other."""
    head = 20 + 4 * (PROMPT + DECODE)
    x, y = (np.frombuffer(part[head:], "<f4").astype("f8") for part in (found, expected))
    return found[:head] == expected[:head] and ((x - y) ** 2).sum() < 1e-11 * (y ** 2).sum()


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--check"]
    if len(args) != 2:
        sys.exit(__doc__)
    llama, written, failed = Llama(pathlib.Path(args[1])), b"", False
    seen = OUT.read_bytes() if len(args) != len(sys.argv) - 1 else None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for line in subprocess.run([args[0], folder], capture_output=True, text=True, check=True).stdout.splitlines():
            model, hashed = line.split()
            path = folder / f"{model}.gguf"
            plain = folder / "f32.gguf"
            plain.write_bytes(llama.as_f32(path.read_bytes()))
            exact, decode = llama.logits(plain)
            peer, _ = llama.logits(path, decode)
            head = model.encode().ljust(24, b"\0") + struct.pack("<Q", int(hashed, 16))
            if seen is not None:
                part = seen[len(written):][:len(head) + len(exact) + len(peer)]
                good = (part[:len(head)] == head and same(exact, part[len(head):][:len(exact)]) and
                        same(peer, part[len(head) + len(exact):]))
                failed |= not good
                print(f"{model:16} {'' if good else 'DIFFERS'}")
            written += head + exact + peer
            path.unlink()
    if seen is None:
        OUT.write_bytes(written)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
