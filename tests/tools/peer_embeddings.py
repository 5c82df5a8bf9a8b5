#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/peer: small models that give embeddings, and the vectors that llama.cpp gives for them.

usage: peer_embeddings.py MAKE_MODEL LLAMA_FOLDER [--check] [NAME...]

The arguments are those of peer_models.py. --check compares what is checked in with what the libraries give, and writes
nothing.

Layout of NAME.emb: "ZGEM", version 1, N texts, P poolings; lengths [N]; the ids of all texts; then for each pooling its
number, W, and vectors f32 [N][W], not normalised; all 32 bits, little-endian. Each text is decoded alone.
"""
import ctypes
import pathlib
import subprocess
import sys

import numpy as np

import peer_models
from peer_models import FOLDER, RMS, SIZES, VOCABULARY

MEAN, CLS, LAST, RANK = 1, 2, 3, 4
LENGTHS = [1, 5, 24, 200]
# Of models with a vocabulary, in place of random ids: a text, or a query and a document.
TEXTS = ["hello", "Hello, W\u00f6rld!", "what is this?\tthis is a thing.", "\u00c9t\u00e9 2024 \u4f60 singing\thello hello"]

ENCODER = (SIZES.replace("kv=2", "kv=4").replace("context_length=128", "context_length=256") +
           "attention.layer_norm_epsilon=0.000001 attention.causal=false ")
BERT = ENCODER + "tokenizer.ggml.token_type_count=2"

HEAD = ("cls.weight", "cls.bias", "cls.output.weight", "cls.output.bias", "cls.norm.weight")
HEADLESS = "".join(f" --without {name}" for name in HEAD)
MODERN = ENCODER.replace("block_count=2", "block_count=4") + "rope.freq_base=160000.0 attention.sliding_window=16 "

MODELS = {
    "bert": ("bert", BERT + HEADLESS, [MEAN, CLS]),
    "bert-rank": ("bert", BERT + " pooling_type=4 --words", [RANK, CLS]),
    "modern-bert": ("modern-bert", MODERN + "rope.freq_base_swa=1000.0 hidden_activation=gelu_pytorch_tanh "
                    "--without blk.0.attn_norm.weight" + HEADLESS, [MEAN, CLS]),
    "modern-bert-silu": ("modern-bert", MODERN + "hidden_activation=silu rope.scaling.type=none "
                         "attention.sliding_window_pattern=2" + HEADLESS, [MEAN, CLS]),
    "modern-bert-rank": ("modern-bert", MODERN + "pooling_type=4", [RANK, MEAN]),
    "nomic-bert": ("nomic-bert", ENCODER + "rope.freq_base=1000.0 tokenizer.ggml.token_type_count=2", [MEAN]),
    "nomic-bert-moe": ("nomic-bert-moe", ENCODER.replace("block_count=2", "block_count=3") + "rope.freq_base=1000.0 "
                       "expert_count=6 expert_used_count=2 moe_every_n_layers=2 tokenizer.ggml.token_type_count=1",
                       [MEAN, CLS]),
    "t5encoder": ("t5encoder", SIZES.replace("kv=2", "kv=4") + "attention.layer_norm_rms_epsilon=0.000001 "
                  "attention.relative_buckets_count=32 attention.causal=false attention.key_length=8 "
                  "attention.value_length=8", [MEAN]),
    "t5encoder-text": ("t5encoder", SIZES.replace("kv=2", "kv=4") + "attention.layer_norm_rms_epsilon=0.000001 "
                       "attention.relative_buckets_count=32 attention.causal=false attention.key_length=8 "
                       "attention.value_length=8 pooling_type=1 --pieces", [MEAN]),
    "qwen3-rank": ("qwen3", RMS.format(8) + "pooling_type=4 classifier.output_labels=[yes,no] "
                   "--with cls.output.weight=32,2", [RANK, LAST]),
    "qwen3-embedding": ("qwen3", RMS.format(8) + "pooling_type=3", [LAST, MEAN]),
}


class Llama(peer_models.Llama):
    def __init__(self, folder):
        super().__init__(folder)
        self.lib.llama_set_embeddings.argtypes = [ctypes.c_void_p, ctypes.c_bool]
        self.lib.llama_get_embeddings_seq.restype = ctypes.POINTER(ctypes.c_float)
        self.lib.llama_get_embeddings_seq.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        self.lib.llama_free.argtypes = [ctypes.c_void_p]
        for name in ("llama_get_model", "llama_model_get_vocab"):
            getattr(self.lib, name).restype = ctypes.c_void_p
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
        self.lib.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p,
                                            ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]

    def ids_of(self, path, texts, pairs):
        vocabulary = self.lib.llama_model_get_vocab(self.lib.llama_get_model(self.context(path)))
        out = []
        for text in texts:
            ids = []
            for part in text.split("\t") if pairs else [text]:
                found = (ctypes.c_int32 * 256)()
                bytes = part.encode()
                count = self.lib.llama_tokenize(vocabulary, bytes, len(bytes), found, 256, True, False)
                # The second text of a pair has no [CLS] of its own.
                ids += list(found[:count])[1 if ids else 0:]
            out.append(ids)
        return out

    def vectors(self, path, texts, pooling, width):
        rows = []
        for text in texts:
            context = self.context(path, pooling=pooling, size=256)
            self.lib.llama_set_embeddings(context, True)
            self.decode(context, text, 0)
            found = self.lib.llama_get_embeddings_seq(context, 0)
            rows.append(np.ctypeslib.as_array(found, (width,)).copy())
            self.lib.llama_free(context)
        return np.stack(rows).astype("<f4")


def texts_of(vocabulary):
    state, texts = 12345, []
    for length in LENGTHS:
        text = []
        for _ in range(length):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            text.append((state >> 8) % vocabulary)
        texts.append(text)
    return texts


def main():
    args = sys.argv[1:]
    check = "--check" in args
    args = [arg for arg in args if arg != "--check"]
    if len(args) < 2:
        sys.exit(__doc__)
    llama = Llama(pathlib.Path(args[1]))
    failed = False
    for name in args[2:] or MODELS:
        family, keys, poolings = MODELS[name]
        model, golden = FOLDER / f"{name}.gguf", FOLDER / f"{name}.emb"
        if not check:
            subprocess.run([args[0], family, model, "7", str(VOCABULARY), *keys.split()], check=True)
        texts = llama.ids_of(model, TEXTS, "--words" in keys) if "--words" in keys or "--pieces" in keys else texts_of(VOCABULARY)
        head = [1, len(texts), len(poolings), *map(len, texts), *(id for text in texts for id in text)]
        data, power, error = b"ZGEM" + np.array(head, "<i4").tobytes(), 0.0, 0.0
        seen = golden.read_bytes() if check else b""
        same = not check or seen.startswith(data)
        for pooling in poolings:
            labels = keys.partition("classifier.output_labels=")[2].partition("]")[0].count(",") + 1
            width = labels if pooling == RANK else int(keys.split("embedding_length=")[1].split()[0])
            vectors = llama.vectors(model, texts, pooling, width)
            data += np.array([pooling, width], "<i4").tobytes()
            if check and same:
                old = np.frombuffer(seen[len(data):][:vectors.nbytes], "<f4").reshape(vectors.shape)
                error += float(((old.astype("f8") - vectors) ** 2).sum())
                power += float((vectors.astype("f8") ** 2).sum())
            data += vectors.tobytes()
        if not check:
            golden.write_bytes(data)
            continue
        same = same and error <= 1e-11 * power
        failed |= not same
        print(f"{name:20} nmse {error / power:.1e} {'' if same else 'DIFFERS'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
