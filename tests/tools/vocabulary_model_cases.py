#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks llama.cpp for the ids of small vocabularies of further models, for tests/unit/vocabulary_model_cases.cpp.

    vocabulary_model_cases.py LLAMA_TOKENIZE   writes tests/data/tokenizer/models.json

LLAMA_TOKENIZE is the program of that name, built from https://github.com/ggml-org/llama.cpp. The tokens of "rwkv" and
"plamo2" are parts of the texts, drawn by chance, so that they overlap. Scores of "plamo2" are quarters, which makes many
cuts with equal sums. "hybriddna" has tokens of some sequences, and words that are spelled alike.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

import pre_tokenizer_cases as files

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
TEXTS = files.TEXTS + [
    "\\n is no line feed, \\x41 no letter; 'it' \"is\" \\\\ \n\n\t\r\n",
    "\ufeffmarked\ufeff \U0001f9d1\u200d\U0001f680 \x00\x01 <0x41> [PAD1]",
    "",
]
SEQUENCES = [
    "<dna>ACGTACACGTAA</dna> and ACGTAC",
    "x <dna>acgtacNNNNNNACG</dna><dna></dna>y <dna>CCCCCC",
    "<dna>\u00e9<dna>ACGTAC</dna></dna> CCCCCC ACGTAC<oov>",
]


def parts(texts, count, chance):
    """Parts of the texts: lists of 2 to 6 neighbours, each once."""
    runs = sorted({tuple(text[i:i + n]) for text in texts for n in range(2, 7) for i in range(len(text) - n + 1)})
    return chance.sample(runs, count)


def rwkv(chance):
    texts = [text.encode() for text in TEXTS]
    words = [bytes([b]) for b in range(256)] + [bytes(run) for run in parts(texts, 250, chance)]
    tokens = ["<s>"] + [repr(word)[2:-1] for word in words]
    return {"tokens": tokens, "types": [CONTROL] + [NORMAL] * len(words), "ids": {"bos": 0, "eos": 0},
            "texts": TEXTS}


def plamo2(chance):
    special = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>"]
    words = sorted({c for text in TEXTS for c in text} - set("xz\u0e44\U0001f600\u00bd\x00"))
    words += ["".join(run) for run in parts(TEXTS, 250, chance) if "\0" not in run]
    tokens = special + [f"<0x{b:02X}>" for b in range(256)] + words
    scores = [0.0] * 260 + [-chance.randint(4, 40) / 4 for _ in words]
    types = [UNKNOWN] + [CONTROL] * 3 + [BYTE] * 256 + [NORMAL] * len(words)
    return {"tokens": tokens, "types": types, "scores": scores, "flags": ["add_bos_token", "add_eos_token"],
            "ids": {"bos": 1, "eos": 2}, "texts": TEXTS}


def hybriddna(_):
    words = files.vocabulary(False)
    base = words["base"] + [merge.replace(" ", "") for merge in words["merges"]] + ["CC", "CCC", "CCCCCC"]
    merges = words["merges"] + ["C C", "C CC", "CCC CCC"]
    tokens = base + ["<s>", "<dna>", "</dna>", "<oov>"] + [kmer + "\ue000" for kmer in ("ACGTAC", "ACGTAA", "CCCCCC")]
    types = [NORMAL] * len(base) + [CONTROL] * 4 + [NORMAL] * 3
    return {"pre": "qwen2", "tokens": tokens, "types": types, "merges": merges,
            "ids": {"bos": len(base), "eos": len(base)}, "texts": TEXTS + SEQUENCES}


def asked(program, folder, model, case):
    """The ids of each text, without and with tokens of control in it."""
    file, text_file = pathlib.Path(folder, "v.gguf"), pathlib.Path(folder, "text")
    files.write_vocabulary(file, model, case.get("pre", "default"), case["tokens"], case["types"],
                           case.get("merges", ["a b"]), case["ids"], case.get("scores", ()), case.get("flags", ()))
    answers = {"plain": [], "parsed": []}
    for text in case["texts"]:
        text_file.write_bytes(text.encode())
        for key, flags in (("plain", ["--no-parse-special"]), ("parsed", [])):
            done = subprocess.run([program, "-m", file, "-f", text_file, "--ids", "--log-disable", "--no-escape", *flags],
                                  capture_output=True, check=True)
            answers[key].append(json.loads(done.stdout))
    return answers


def main():
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for make in (rwkv, plamo2, hybriddna):
            case = make(random.Random(1))
            cases.append({"model": make.__name__, **case, **asked(sys.argv[1], folder, make.__name__, case)})
    out = pathlib.Path(__file__).parents[1] / "data/tokenizer/models.json"
    out.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
