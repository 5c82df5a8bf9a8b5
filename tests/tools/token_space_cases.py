#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks llama.cpp which tokens take white space beside them along, for tests/unit/token_space_cases.cpp.

    token_space_cases.py LLAMA_TOKENIZE   writes tests/data/tokenizer/token_spaces.json

LLAMA_TOKENIZE is the program of that name, built from https://github.com/ggml-org/llama.cpp. The program knows the
models by their names, architectures and pre-tokenizers; all vocabularies here have the letters of bytes and the tokens.
"""

import json
import pathlib
import sys
import tempfile

import pre_tokenizer_cases as files

CONTROL, USER_DEFINED = 3, 4
TOKENS = [("<unk>", 2), ("<s>", CONTROL), ("</s>", CONTROL), ("<|endoftext|>", CONTROL), ("<|user|>", CONTROL),
          ("<tool>", USER_DEFINED), ("<mask>", CONTROL), ("[MASK]", CONTROL)]
MODELS = [("llama", "gpt-2", "plain"), ("phi3", "gpt-2", "Phi-3 mini"), ("llama", "gpt-2", "my-PHI3.5"),
          ("phi3", "gpt-2", "phi-4"), ("modern-bert", "modern-bert", "Modern-BERT base"),
          ("modern-bert", "modern-bert", "ModernBERT"), ("bert", "jina-v2-de", "Phi-3"), ("bert", "jina-v2-es", "x"),
          ("bert", "jina-v2-code", "x"), ("bert", "jina-de", "x"), ("nomic-bert-moe", "gpt-2", "x"),
          ("jina-bert-v3", "gpt-2", "x")]
TEXTS = ["a \n\t" + text + " \v\f\r b" for text, _ in TOKENS] + [
    " <mask> ", "<|user|>\n<|user|> \n", "\n[MASK]<mask>\n", "<|user|> a <mask>", "a\u00a0<mask>\u00a0b",
    " <tool> <s> x</s>\n"]


def ids_of(folder, architecture, pre, name):
    """The ids of each text with special tokens as plain text, and as themselves."""
    base = files.byte_letters()
    files.write_vocabulary(folder / "v.gguf", "gpt2", pre, base + [text for text, _ in TOKENS],
                           [1] * len(base) + [type for _, type in TOKENS], ["a b"], {"bos": 257, "eos": 258},
                           names=(architecture, name))
    ids = {"plain": [], "parsed": []}
    for text in TEXTS:
        (folder / "text").write_bytes(text.encode())
        for kind, more in (("plain", ["--no-parse-special"]), ("parsed", [])):
            ids[kind].append(files.asked(sys.argv[1], folder / "v.gguf", folder / "text", "--no-bos", *more))
    return ids


def main():
    with tempfile.TemporaryDirectory() as folder:
        cases = [{"architecture": architecture, "pre": pre, "name": name,
                  **ids_of(pathlib.Path(folder), architecture, pre, name)} for architecture, pre, name in MODELS]
    out = pathlib.Path(__file__).parents[1] / "data/tokenizer/token_spaces.json"
    parts = [f'"tokens": {json.dumps(TOKENS)}', f'"texts": {json.dumps(TEXTS)}',
             '"cases": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]"]
    out.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
