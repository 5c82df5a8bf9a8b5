#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/process/weight_types.py: a model in each weight type computes what llama.cpp computes of it.
"""usage: weight_types.py ZRT [--write PEER_LORA]

Makes two models of random weights in every weight type. Without rounded activations the logits are those that
llama.cpp gives for the same weights in f32; with them they are about as far off as llama.cpp's own.

--write asks the peer anew; PEER_LORA is the program of tools/peer_lora.cpp, linked with llama.cpp. Layout of
data/quant/type_logits.bin: for each model 16 bytes of architecture and of type, f64 the peer's distance, and the rows
ROWS of its exact logits, f32 [257]; all little-endian.
"""
import array
import pathlib
import struct
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "quant" / "type_logits.bin"
ARCHITECTURES = ("llama", "qwen3")
# The file type whose matrices are of a weight type, where that has another name.
FILE_TYPES = {"q2_k": "q2_k_s", "q3_k": "q3_k_s", "q4_k": "q4_k_s", "q5_k": "q5_k_s", "iq2_s": "iq2_m"}
TYPES = ("f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "q4_0", "iq4_nl", "iq4_xs", "mxfp4",
         "nvfp4", "q3_k", "iq3_s", "iq3_xxs", "q2_k", "iq2_s", "iq2_xs", "iq2_xxs", "tq2_0", "tq1_0", "iq1_m", "iq1_s",
         "q1_0")
VOCABULARY, PROMPT, ROWS = 257, 24, (5, 11, 17, 23)
HEAD = struct.Struct("<16s16sd")
SIZE = HEAD.size + 4 * VOCABULARY * len(ROWS)
EXACT = 2e-11  # the noise of sums in another order
FACTOR = 1.5   # how much farther than the peer rounding may lead
FLOOR = 1e-8   # a distance that is none, of types whose activations the peer does not round


def prompt_of():
    """The ids of tools/peer_lora.cpp."""
    state, ids = 12345, []
    for _ in range(PROMPT):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        ids.append((state >> 8) % VOCABULARY)
    return ids


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")


def nmse(found, expected):
    return sum((a - b) ** 2 for a, b in zip(found, expected)) / sum(b * b for b in expected)


def rows_of(values):
    return array.array("f", [x for row in ROWS for x in values[row * VOCABULARY:(row + 1) * VOCABULARY]])


class Zrt:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def make(self, architecture, type):
        path = self.folder / f"{architecture}-{type}.gguf"
        call(self.program, "make-model", "--arch", architecture, "--shape", "tiny", "--set", f"vocab_size={VOCABULARY}",
             "--type", FILE_TYPES.get(type, type), "--pure", "--seed", "7", "--out", path)
        return path

    def widened(self, path):
        out = path.with_suffix(".f32")
        call(self.program, "quantize", "--model", path, "--type", "f32", "--from-blocks", "--out", out)
        return out

    def logits(self, path, act):
        out = self.folder / "logits"
        call(self.program, "logits", "--model", path, "--tokens", ",".join(map(str, prompt_of())), "--act", act, "--kv", "f32",
             "--out", out)
        data, values = out.read_bytes(), array.array("f")
        for row in range(PROMPT):
            at = 16 + row * 4 * (VOCABULARY + 1)
            values.frombytes(data[at + 4:at + 4 * (VOCABULARY + 1)])
        return rows_of(values)


def ask_peer(program, path):
    out = path.with_suffix(".peer")
    call(program, path, "-", "1", out)
    data, values = out.read_bytes(), array.array("f")
    begin = len(data) - 4 * VOCABULARY * (PROMPT + struct.unpack_from("<i", data, 12)[0])
    values.frombytes(data[begin:begin + 4 * VOCABULARY * PROMPT])
    return rows_of(values)


def write(zrt, peer):
    made = b""
    for architecture in ARCHITECTURES:
        for type in TYPES:
            path = zrt.make(architecture, type)
            exact, own = ask_peer(peer, zrt.widened(path)), ask_peer(peer, path)
            made += HEAD.pack(architecture.encode(), type.encode(), nmse(own, exact)) + exact.tobytes()
    DATA.write_bytes(made)


def check(zrt):
    data, faults = DATA.read_bytes(), 0
    for i in range(len(ARCHITECTURES) * len(TYPES)):
        architecture, type, of_peer = HEAD.unpack_from(data, i * SIZE)
        architecture, type = architecture.rstrip(b"\0").decode(), type.rstrip(b"\0").decode()
        exact = array.array("f")
        exact.frombytes(data[i * SIZE + HEAD.size:(i + 1) * SIZE])
        path = zrt.make(architecture, type)
        none, plan = nmse(zrt.logits(path, "none"), exact), nmse(zrt.logits(path, "plan"), exact)
        good = none < EXACT and plan <= max(FACTOR * of_peer, FLOOR)
        faults += not good
        print(f"{architecture} {type:8} act none nmse {none:.2e}; act plan {plan:.2e}, the peer's {of_peer:.2e}"
              f"{'' if good else ' FAILS'}", flush=True)
    return faults


def main():
    with tempfile.TemporaryDirectory() as folder:
        zrt = Zrt(sys.argv[1], pathlib.Path(folder))
        if "--write" in sys.argv:
            write(zrt, sys.argv[sys.argv.index("--write") + 1])
        sys.exit(1 if check(zrt) else 0)


if __name__ == "__main__":
    main()
