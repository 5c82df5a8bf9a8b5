#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No example asks of the model that it opens by default for more than that was trained for: neither a longer context, of
which the library warns, nor more tokens than fit it.

usage: example_contexts.py [--self-test]
"""
import re
import struct
import sys

import source

EXAMPLES = source.ROOT / "examples"
KEY = b"llama.context_length"
UINT32 = 4  # GGUF's number of the type


def trained_context(model):
    """The context of a GGUF file's metadata."""
    data = model.read_bytes()
    at = data.index(KEY) + len(KEY)
    kind, value = struct.unpack_from("<II", data, at)
    if kind != UINT32:
        raise ValueError(f"{model.name}: {KEY.decode()} is no u32")
    return value


def asked(code):
    """(option, number) of each context and each limit of tokens that stands in the code as a number."""
    for option, number in re.findall(r"\.(context|max_tokens) = ([\d']+)", code):
        yield option, int(number.replace("'", ""))


def faults(name, code):
    for model in re.findall(r'"examples/(models/[\w.-]+\.gguf)"', code):
        limit = trained_context(EXAMPLES / model)
        for option, number in asked(code):
            if number > limit:
                yield f"{name}: .{option} = {number}, but {model} was trained for {limit} positions"


def self_test():
    opened = 'open("examples/models/bard-q8_0.gguf", {%s});'
    assert trained_context(EXAMPLES / "models" / "bard-q8_0.gguf") == 256
    for good in (".context = 256", ".max_tokens = 100", ".slots = 1'000"):
        assert not list(faults("a", opened % good)), good
    for bad in (".context = 100'000", ".max_tokens = 257"):
        assert len(list(faults("a", opened % bad))) == 1, bad


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.exit(self_test())
    sys.exit(source.report([fault for path in sorted(EXAMPLES.glob("*.cpp"))
                            for fault in faults(path.name, path.read_text(encoding="utf-8"))]))
