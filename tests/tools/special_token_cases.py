#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks llama.cpp which tokens end a turn, a generation or a gap, for tests/unit/special_token_cases.cpp.

    special_token_cases.py LLAMA_TOKENIZE   writes tests/data/tokenizer/special_tokens.json

LLAMA_TOKENIZE is the program of that name, built from https://github.com/ggml-org/llama.cpp. The vocabularies hold the
tokens that a family has, each with its type, and the ids that its files name. At most one token of a vocabulary is
spelled like a token of a role that no id names: where there are more, the program takes any of them.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import pre_tokenizer_cases as files

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4
CASES = {
    "chatml": ([("<|im_start|>", CONTROL), ("<|im_end|>", CONTROL), ("</s>", CONTROL)], {"eos": "</s>"}),
    "plain types": ([("<|im_end|>", NORMAL), ("<EOT>", USER_DEFINED), ("<|fim_pad|>", NORMAL)],
                    {"eos": "<|im_end|>", "eot": "<EOT>"}),
    "llama 3": ([("<|end_of_text|>", CONTROL), ("<|eom_id|>", CONTROL), ("<|eot_id|>", CONTROL)],
                {"eos": "<|end_of_text|>", "eot": "<|eot_id|>"}),
    "harmony": ([("<|start|>", CONTROL), ("<|end|>", CONTROL), ("<|message|>", CONTROL), ("<|channel|>", CONTROL),
                 ("<|constrain|>", CONTROL), ("<|return|>", CONTROL), ("<|call|>", CONTROL)], {"eos": "<|return|>"}),
    "end without call": ([("<|end|>", CONTROL), ("<|return|>", CONTROL)], {"eos": "<|return|>"}),
    "solar": ([("<|end|>", CONTROL), ("<|flush|>", CONTROL), ("<|calls|>", CONTROL)], {"eos": "<|flush|>"}),
    "gemma 4": ([("<eos>", CONTROL), ("</s>", NORMAL), ("<turn|>", CONTROL), ("<|tool_response>", CONTROL)],
                {"eos": "<eos>"}),
    "eos is no end": ([("</s>", CONTROL), ("<|tool_response>", CONTROL)], {"eos": "</s>"}),
    "qwen coder": ([("<|endoftext|>", CONTROL), ("<|fim_prefix|>", NORMAL), ("<|fim_suffix|>", NORMAL),
                    ("<|fim_middle|>", NORMAL), ("<|fim_pad|>", NORMAL), ("<|repo_name|>", NORMAL),
                    ("<|file_sep|>", NORMAL)], {"eos": "<|endoftext|>"}),
    "granite": ([("<|end_of_text|>", CONTROL), ("<fim_prefix>", CONTROL), ("<fim_suffix>", CONTROL),
                 ("<fim_middle>", CONTROL), ("<fim_pad>", CONTROL), ("<reponame>", CONTROL)],
                {"eos": "<|end_of_text|>"}),
    "deepseek": ([("<\uff5cend\u2581of\u2581sentence\uff5c>", CONTROL), ("<\uff5cfim\u2581begin\uff5c>", CONTROL),
                  ("<\uff5cfim\u2581hole\uff5c>", CONTROL), ("<\uff5cfim\u2581end\uff5c>", CONTROL)],
                 {"eos": "<\uff5cend\u2581of\u2581sentence\uff5c>"}),
    "code llama": ([("</s>", CONTROL), ("\u2581<PRE>", CONTROL), ("\u2581<SUF>", CONTROL), ("\u2581<MID>", CONTROL)],
                   {"eos": "</s>"}),
    "glm": ([("<|endoftext|>", CONTROL), ("<|code_prefix|>", CONTROL), ("<|code_suffix|>", CONTROL),
             ("<|code_middle|>", CONTROL)], {"eos": "<|endoftext|>"}),
    "kimi": ([("[EOS]", CONTROL), ("[EOT]", CONTROL), ("[PAD]", CONTROL)], {"eos": "[EOS]"}),
    "named": ([("a-pre", CONTROL), ("a-suf", CONTROL), ("a-mid", CONTROL), ("a-pad", CONTROL), ("a-rep", CONTROL),
               ("a-sep", CONTROL), ("<PRE>", NORMAL), ("<PAD>", NORMAL), ("end", CONTROL)],
              {"eos": "end", **{f"fim_{key}": f"a-{key}" for key in ("pre", "suf", "mid", "pad", "rep", "sep")}}),
    "named of old": ([("a-pre", CONTROL), ("a-suf", CONTROL), ("a-mid", CONTROL), ("end", CONTROL)],
                     {"eos": "end", "prefix": "a-pre", "suffix": "a-suf", "middle": "a-mid"}),
}
ROLES = ("EOS", "EOT", "EOM", "FIM PRE", "FIM SUF", "FIM MID", "FIM PAD", "FIM REP", "FIM SEP", "EOG")


def asked(program, folder, tokens, ids):
    """The ids of each role, and those that the texts of the tokens give."""
    model, text_file = pathlib.Path(folder, "v.gguf"), pathlib.Path(folder, "text")
    first = 256
    of = {text: first + at for at, (text, _) in enumerate(tokens)}
    letters = files.byte_letters()
    files.write_vocabulary(model, "gpt2", "gpt-2", letters + [text for text, _ in tokens],
                           [NORMAL] * len(letters) + [type for _, type in tokens], ["a b"],
                           {key: of[text] for key, text in ids.items()})
    text_file.write_text("".join(text for text, _ in tokens), encoding="utf-8")
    answers = {}
    for key, flag in (("plain", ["--no-parse-special"]), ("parsed", [])):
        done = subprocess.run([program, "-m", model, "-f", text_file, "--ids", "--no-bos", "--no-escape", *flag],
                              capture_output=True, check=True, text=True)
        answers[key] = json.loads(done.stdout.strip().splitlines()[-1])
    found = re.findall(r"([A-Z]+(?: [A-Z]+)?) token +(?:=) +(\d+) ", done.stderr)
    answers["roles"] = {role: sorted({int(id) for name, id in found if name == role}) for role in ROLES}
    return answers


def main():
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (tokens, ids) in CASES.items():
            cases.append({"name": name, "tokens": tokens, "ids": ids, **asked(sys.argv[1], folder, tokens, ids)})
    out = pathlib.Path(__file__).parents[1] / "data/tokenizer/special_tokens.json"
    out.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
