#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks llama.cpp for the ids that every pre-tokenizer gives on small vocabularies, for tests/unit/pre_tokenizer_cases.cpp.

    pre_tokenizer_cases.py LLAMA_TOKENIZE   writes tests/data/tokenizer/pre_tokenizers.json

LLAMA_TOKENIZE is the program of that name, built from https://github.com/ggml-org/llama.cpp. The vocabularies merge
most of what stands side by side in the texts, in an order drawn by chance, so that a cut in another place gives other
ids. Each is written once for every name of a pre-tokenizer.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

NAMES = """
default minicpm5 llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano deepseek-llm
deepseek-coder deepseek-v3 youtu falcon mpt starcoder gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de
a.x-4.0 mellum modern-bert jais-2 gemma4 granite-embed-multi-311m sarvam-moe jina-v1-en jina-v2-code roberta-bpe
whitespace refact command-r qwen2 deepseek-r1-qwen kormo f2llmv2 qwen35 stablelm2 olmo dbrx smaug-bpe poro-chat glm4
chatglm-bpe viking jais tekken smollm codeshell bloom gpt3-finnish exaone exaone4 exaone-moe chameleon minerva-7b
megrez gpt-4o llama4 kanana2 talkie granite-embed-multi-97m tiny_aya cohere2moe superbpe trillion granite-docling
bailingmoe bailingmoe2 llada-moe seed-coder hunyuan hunyuan-dense joyai-llm kimi-k2 grok-2 afmoe minimax-m2
solar-open mellum2
""".split()
OF_CHARACTERS = {"gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace"}
SPACE_MARK = "\u2581"
TEXTS = [
    "Hello world, it's HTMLParser's YOU'RE we'LL don't.",
    "a  b   c \t d\n\n e \r\n\r\n  f  ",
    "1234567 12 3.14159 x1234 ab123cd  77 ",
    "// path/to/x;\n/ ... //\n\n!? ~abc ~~ $5 a_b <= `q`",
    "\u00c9cole \u00e9t\u00e9 na\u00efve \u00d1and\u00fa ABC\u00e9D e\u0301t ABC\u0301 \u0301x !\u0301 !!\u0301",
    "\u4e2d\u6587abc \u65e5\u672c\u8a9e\u30ab\u30ca  \u4e2d \ud55c\uad6d\uc5b4\u3002\u300c\u5f15\u300d\uff01 \u3105\u3106",
    "\u0926\u093f\u0928\u0964 \u0e44\u0e17\u0e22 \u0627\u0644\u0639\u060c \u0661\u0662\u0663\u0664 \u00bd123 123\u00bd",
    "IMGIMGABCDZ <sentinel:12> IMGIMGABCDEZ    x  y \u00a0 \u3000z\U0001f600\U0001f600!",
    "the quick brown fox  jumps 10000 a 1b2 \n\n\n\nx",
    " " * 9 + "x" + " " * 21,
]


def byte_letters():
    """The letter of each byte in vocabularies of bytes."""
    own = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    others = iter(range(256, 512))
    return [chr(b) if b in own else chr(next(others)) for b in range(256)]


def spellings(of_characters):
    """The texts as lists of the smallest tokens."""
    letters = byte_letters()
    if of_characters:
        return [list(text.replace(" ", SPACE_MARK)) for text in TEXTS]
    return [[letters[b] for b in text.encode()] for text in TEXTS]


def vocabulary(of_characters):
    """Base tokens and merges: up to four neighbours of the texts, most of them, shorter ones first."""
    chance = random.Random(1)
    spelled = spellings(of_characters)
    base = sorted({c for text in spelled for c in text} - {"\u0301"}) if of_characters else byte_letters()
    if of_characters:
        base.append("\n" * 4)  # a token that no merge makes
    known = set(base)
    merges = []
    for length, share in ((2, 0.6), (3, 0.6), (4, 0.3)):
        runs = sorted({tuple(text[i:i + length]) for text in spelled for i in range(len(text) - length + 1)})
        for run in sorted(chance.sample(runs, int(share * len(runs))), key=lambda _: chance.random()):
            cuts = [("".join(run[:k]), "".join(run[k:])) for k in range(1, length)]
            cuts = [(left, right) for left, right in cuts if left in known and right in known]
            if cuts and "".join(run) not in known:
                merges.append(" ".join(chance.choice(cuts)))
                known.add("".join(run))
    return {"base": base, "merges": merges}


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def write_vocabulary(path, model, pre, tokens, types, merges, ids, scores=(), flags=(), names=("llama", "")):
    """A file that holds a vocabulary alone; `ids` are those of named tokens, `flags` the names of what is true, `names`
    the architecture and the name of the model."""

    def text(key, value):
        return string(key) + struct.pack("<I", 8) + string(value)

    def texts(key, values):
        return string(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(string, values))

    pairs = [text("general.architecture", names[0]),
             text("general.name", names[1]),
             text("tokenizer.ggml.model", model),
             text("tokenizer.ggml.pre", pre),
             texts("tokenizer.ggml.tokens", tokens),
             texts("tokenizer.ggml.merges", merges),
             string("tokenizer.ggml.token_type") + struct.pack(f"<IIQ{len(types)}i", 9, 5, len(types), *types)]
    if scores:
        pairs.append(string("tokenizer.ggml.scores") + struct.pack(f"<IIQ{len(scores)}f", 9, 6, len(scores), *scores))
    pairs += [string(f"tokenizer.ggml.{flag}") + struct.pack("<I?", 7, True) for flag in flags]
    pairs += [string(f"tokenizer.ggml.{key}_token_id") + struct.pack("<II", 4, id) for key, id in ids.items()]
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs))


def write_gguf(path, name, words):
    """A file of a pre-tokenizer. The order of its tokens is that of the test."""
    of_characters = name in OF_CHARACTERS
    tokens = [f"<0x{b:02X}>" for b in range(256)] if of_characters else []
    types = [6] * len(tokens)
    normal = words["base"] + [merge.replace(" ", "") for merge in words["merges"]]
    tokens += normal + ["<s>"]
    types += [1] * len(normal) + [3]
    write_vocabulary(path, "whitespace" if name == "whitespace" else "gpt2", name, tokens, types, words["merges"],
                     {key: len(tokens) - 1 for key in ("bos", "eos")})


def asked(program, model, text_file, *options):
    """The ids of a text."""
    done = subprocess.run([program, "-m", model, "-f", text_file, "--ids", "--log-disable", "--no-escape", *options],
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def main():
    vocabularies = {kind: vocabulary(kind == "characters") for kind in ("bytes", "characters")}
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        model, text_file = pathlib.Path(folder, "v.gguf"), pathlib.Path(folder, "text")
        for name in NAMES:
            kind = "characters" if name in OF_CHARACTERS else "bytes"
            write_gguf(model, name, vocabularies[kind])
            ids = []
            for text in TEXTS:
                text_file.write_bytes(text.encode())
                ids.append(asked(sys.argv[1], model, text_file, "--no-parse-special"))
            results.setdefault((kind, json.dumps(ids)), []).append(name)
    cases = [{"vocabulary": kind, "names": names, "ids": json.loads(ids)} for (kind, ids), names in results.items()]
    out = pathlib.Path(__file__).parents[1] / "data/tokenizer/pre_tokenizers.json"
    parts = [f'"texts": {json.dumps(TEXTS)}', f'"vocabularies": {json.dumps(vocabularies)}',
             '"cases": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]"]
    out.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
