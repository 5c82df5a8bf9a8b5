#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/peer/qwen3vl-words.gguf, the decoder of qwen3vl-images.gguf with a vocabulary, and llama.cpp's
answers to an image file and a text.

usage: peer_answers.py PEER_VISION PEER_IMAGES [--check]

The programs are those of peer_vision.py and peer_images.py. The pixels are those of tests/data/image. --check compares
what is checked in with what the programs give, and writes nothing.

qwen3vl-words.json is a list of answers: image, least and most rows, prompt, and the most likely tokens behind it.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
PEER, IMAGES = DATA / "peer", DATA / "image"
STRING, INT, UINT, ARRAY = 8, 5, 4, 9
LETTERS = "abcdefghijklmnopqrstuvwxyz"
START, END, ROW, FIRST = 1, 2, 3, 4  # tokens of an image; the first letter
MERGES = [("z", letter) for letter in LETTERS] + [("y", letter) for letter in LETTERS[:5]]
TOKENS = ["<|endoftext|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", *LETTERS, "\u0120", "\u010a", ".",
          *(left + right for left, right in MERGES)]
SIDE = 8  # pixels of a row's side
COUNT = 6


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind, values):
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(values)


def vocabulary():
    """The keys of the vocabulary, each with its value."""
    types = [struct.pack("<i", 3 if token.startswith("<|") else 1) for token in TOKENS]
    return {
        "tokenizer.ggml.model": struct.pack("<I", STRING) + text("gpt2"),
        "tokenizer.ggml.pre": struct.pack("<I", STRING) + text("qwen2"),
        "tokenizer.ggml.tokens": array(STRING, [text(token) for token in TOKENS]),
        "tokenizer.ggml.token_type": array(INT, types),
        "tokenizer.ggml.merges": array(STRING, [text(" ".join(pair)) for pair in MERGES]),
        "tokenizer.ggml.eos_token_id": struct.pack("<II", UINT, 0),
    }


def with_vocabulary(model):
    """The file of a model without a vocabulary, with one."""
    none = text("tokenizer.ggml.model") + struct.pack("<I", STRING) + text("no_vocab")
    at = model.index(none)
    keys = vocabulary()
    tensors, count = struct.unpack_from("<QQ", model, 8)
    end = index_end(model, at + len(none), tensors)
    made = b"".join(text(key) + value for key, value in keys.items())
    head = model[:16] + struct.pack("<Q", count - 1 + len(keys)) + model[24:at] + made + model[at + len(none):end]
    return head + bytes(-len(head) % 32) + model[end + -end % 32:]


def index_end(model, after, tensors):
    """Where the index of the tensors ends: behind the last of the names and shapes."""
    at = model.index(text("token_embd.weight"), after)
    for _ in range(tensors):
        at += 8 + struct.unpack_from("<Q", model, at)[0]
        at += 4 + 8 * struct.unpack_from("<I", model, at)[0] + 12
    return at


def ids(prompt):
    other = {" ": "\u0120", "\n": "\u010a"}
    return [TOKENS.index(other.get(letter, letter)) for letter in prompt]


def fitted(name):
    """Least and most rows, width, height and pixels of an image, as peer_pixels.py wrote them."""
    data = (IMAGES / (name + ".pixels")).read_bytes()
    least, most, width, height = struct.unpack_from("<IIII", data, 8)
    at = 24 + width * height * 3
    at += -at % 4
    width, height = struct.unpack_from("<II", data, at)
    return least, most, width, height, data[at + 8:]


def next_token(program, model, tokens, rows, lines, columns, folder):
    (folder / "tokens").write_bytes(struct.pack(f"<{len(tokens)}i", *tokens))
    subprocess.run([program, model, folder / "tokens", rows, str(lines), str(columns), "1", folder / "logits"], check=True,
                   capture_output=True)
    logits = struct.unpack(f"<{len(TOKENS)}f", (folder / "logits").read_bytes()[-4 * len(TOKENS):])
    best = sorted(logits)[-2:]
    assert best[1] - best[0] > 1e-3, "two tokens are about as likely"
    return logits.index(best[1])


def answer(vision, decoder, model, image, prompt, folder):
    least, most, width, height, pixels = fitted(image)
    (folder / "pixels").write_bytes(pixels)
    subprocess.run([vision, PEER / "qwen3vl-vision.gguf", str(width), str(height), folder / "pixels", folder / "rows"],
                   check=True, capture_output=True)
    tokens = [START, END, *ids(prompt)]  # the rows stand behind the first
    made = []
    for _ in range(COUNT):
        made.append(next_token(decoder, model, tokens + made, folder / "rows", height // SIDE, width // SIDE, folder))
    return {"image": image, "least": least, "most": most, "prompt": prompt, "tokens": made}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    vision, decoder = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    made = {"qwen3vl-words.gguf": with_vocabulary((PEER / "qwen3vl-images.gguf").read_bytes())}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model").write_bytes(made["qwen3vl-words.gguf"])
        answers = [answer(vision, decoder, folder / "model", image, prompt, folder) for image, prompt in
                   (("exact.png", "what is it."), ("shrunk.png", "who is in it."), ("tall.png", "a b c"))]
    made["qwen3vl-words.json"] = (json.dumps(answers, indent=1) + "\n").encode()
    for file, data in made.items():
        if "--check" in sys.argv:
            assert (PEER / file).read_bytes() == data, f"{file} differs"
        else:
            (PEER / file).write_bytes(data)


if __name__ == "__main__":
    main()
