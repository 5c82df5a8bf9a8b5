#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens models of `zrt make-model` in llama.cpp too, and compares token ids and logits.

usage: peer_made_models.py ZRT LLAMA_FOLDER [MODEL.gguf...]

LLAMA_FOLDER is that of peer_models.py. Without models it makes the shape `tiny` of every family, as F32. A line for each:
whether the ids of a text are the same, and the error of the logits, sum (x - y)^2 / sum y^2. Encoders are only loaded.
Exit status 1 where a model does not load, ids differ or the error is above 5e-6 (a gelu from a table), or 0.1 for a file of blocks: the two
round activations in different ways, and a token may choose another expert.
"""
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import peer_models

TEXT = "hello there, 42 é tototo"
ENCODERS = ("bert", "nomic-bert", "nomic-bert-moe", "modern-bert", "t5encoder")


class Llama(peer_models.Llama):
    def __init__(self, folder):
        super().__init__(folder)
        lib = self.lib
        lib.llama_get_model.restype = lib.llama_model_get_vocab.restype = ctypes.c_void_p
        for name in ("llama_get_model", "llama_model_get_vocab", "llama_vocab_n_tokens", "llama_free",
                     "llama_model_free"):
            getattr(lib, name).argtypes = [ctypes.c_void_p]
        lib.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p,
                                       ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]

    def loads(self, path):
        model = self.lib.llama_model_load_from_file(str(path).encode(), self.lib.llama_model_default_params())
        if model:
            self.lib.llama_model_free(model)
        return bool(model)

    def run(self, path):
        context = self.context(path)
        model = self.lib.llama_get_model(context)
        vocabulary = self.lib.llama_model_get_vocab(model)
        peer_models.VOCABULARY = self.lib.llama_vocab_n_tokens(vocabulary)
        found, text = (ctypes.c_int32 * 256)(), TEXT.encode()
        count = self.lib.llama_tokenize(vocabulary, text, len(text), found, 256, True, False)
        ids = list(found[:count])
        rows = np.stack(self.feed(context, ids, 0)).astype("f8")
        self.lib.llama_free(context)
        self.lib.llama_model_free(model)
        return ids, rows


def call(*args):
    return subprocess.run([str(arg) for arg in args], capture_output=True, text=True, check=True).stdout


def compare(zrt, llama, path, folder):
    """A line about a model, and whether all is well."""
    if not llama.loads(path):
        return "llama.cpp does not load it", False
    architecture = json.loads(call(zrt, "inspect", "-m", path, "--json"))["metadata"]["general.architecture"]
    if architecture in ENCODERS:
        return "loads", True
    ids, expected = llama.run(path)
    same = json.loads(call(zrt, "tokenize", "-m", path, "--text", TEXT, "--special", "--json"))["ids"] == ids
    call(zrt, "logits", "-m", path, "--tokens", ",".join(map(str, ids)), "--context", 128, "--out", folder / "logits")
    raw = np.fromfile(folder / "logits", "<u4")
    logits = raw[4:].reshape(raw[3], raw[2] + 1)[:, 1:].view("<f4").astype("f8")
    error = ((logits - expected) ** 2).sum() / (expected ** 2).sum()
    return f"ids {'same' if same else 'DIFFER'}, error {error:.1e}", same and error < (
        5e-6 if path.parent == folder else 0.1)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    zrt, llama, good = sys.argv[1], Llama(pathlib.Path(sys.argv[2])), True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [pathlib.Path(model) for model in sys.argv[3:]]
        if not models:
            unknown = ["make-model", "--arch", "none", "--shape", "tiny", "--type", "f32", "--out", folder / "none"]
            listed = subprocess.run([zrt, *map(str, unknown)], capture_output=True, text=True).stderr
            for architecture in listed.split(" but for ")[1].split():
                models.append(folder / f"{architecture}.gguf")
                call(zrt, "make-model", "--arch", architecture, "--shape", "tiny", "--type", "f32", "--out", models[-1])
        for model in models:
            text, well = compare(zrt, llama, model, folder)
            print(f"{model.stem:20} {text}", flush=True)
            good &= well
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
