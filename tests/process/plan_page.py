#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plan_page.py ZRT MODEL: `zrt plan --format html` is one well-formed page that shows what the plan and the engine say.

Every instruction stands in one box, every register and every scratch in each arena's whole picture, and bytes add up to
those of --json. A file of the shape of a model of 1.1 thousand million parameters, without its weights' bytes, folds into
three boxes.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
program, bard = sys.argv[1:3]
problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)


def run(*args):
    done = subprocess.run([program, "plan", *args], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{args}: {done.stderr.decode()}")
    return done.stdout


def large_model(path, layers=22, width=2048, ff=5632, heads=32, kv_heads=4, vocabulary=32000):
    """A Q8_0 file with all tensors and, where the file system allows it, no blocks on disk."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def key(name, kind, value):
        return text(name) + struct.pack("<I", kind) + value

    strings = {"general.architecture": "llama", "general.name": "<22 & layers>", "tokenizer.ggml.model": "no_vocab"}
    numbers = {"vocab_size": vocabulary, "context_length": 2048, "embedding_length": width, "block_count": layers,
               "feed_forward_length": ff, "attention.head_count": heads, "attention.head_count_kv": kv_heads,
               "rope.dimension_count": width // heads}
    keys = [key(name, 8, text(value)) for name, value in strings.items()]
    keys += [key("llama." + name, 4, struct.pack("<I", value)) for name, value in numbers.items()]
    keys.append(key("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)))
    kv = width // heads * kv_heads
    shapes = {"token_embd": (width, vocabulary), "output": (width, vocabulary), "output_norm": (width,)}
    for i in range(layers):
        layer = {"attn_norm": (width,), "attn_q": (width, width), "attn_k": (width, kv), "attn_v": (width, kv),
                 "attn_output": (width, width), "ffn_norm": (width,), "ffn_gate": (width, ff), "ffn_up": (width, ff),
                 "ffn_down": (ff, width)}
        shapes.update({f"blk.{i}.{name}": shape for name, shape in layer.items()})
    tensors, offset = [], 0
    for name, shape in shapes.items():
        elements = shape[0] * (shape[1] if len(shape) > 1 else 1)
        q8_0 = len(shape) > 1
        tensors.append(text(name + ".weight") + struct.pack("<I", len(shape)) +
                       b"".join(struct.pack("<Q", n) for n in shape) + struct.pack("<IQ", 8 if q8_0 else 0, offset))
        offset += (elements // 32 * 34 if q8_0 else elements * 4) + 31 & ~31
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    head += b"\0" * (-len(head) % 32)
    with open(path, "wb") as out:
        out.write(head)
        out.truncate(len(head) + offset)


def check(name, *args):
    page = run(*args, "--format", "html")
    plan = json.loads(run(*args, "--json"))
    memory = json.loads(run(*args, "--memory", "--json"))
    root = tree.fromstring(page)
    expect(not list(root.iter(XHTML + "script")), f"{name}: the page has a script")
    expect(b"http" not in page.replace(b"http://www.w3.org/", b""), f"{name}: the page names an address")

    boxes = [d for d in root.iter(XHTML + "details") if d.get("class") == "box"]
    at = 0
    for box in boxes:
        size, repeats = int(box.get("data-size")), int(box.get("data-repeats"))
        expect(int(box.get("data-first")) == at, f"{name}: a box begins at {box.get('data-first')}, not {at}")
        inside = [d for d in box.iter(XHTML + "details") if d.get("class") == "insn"]
        expect([int(d.get("data-index")) for d in inside] == list(range(at, at + size)), f"{name}: instructions of {at}")
        for d in inside:
            own = plan["instructions"][int(d.get("data-index"))]
            for n in range(repeats):
                other = plan["instructions"][own["index"] + n * size]
                expect(other["op"] == own["op"] and sum(other["bytes"].values()) == int(d.get("data-bytes")),
                       f"{name}: instruction {other['index']} is not as {own['index']}")
        expect(int(box.get("data-bytes")) == repeats * sum(int(d.get("data-bytes")) for d in inside),
               f"{name}: bytes of the box at {at}")
        at += size * repeats
    expect(at == len(plan["instructions"]), f"{name}: boxes hold {at} instructions")
    everything = sum(sum(i["bytes"].values()) for i in plan["instructions"])
    expect(sum(int(b.get("data-bytes")) for b in boxes) == everything, f"{name}: bytes of the step")

    pictures = list(root.iter(SVG + "svg"))
    for which, whole in zip(("decode_arena", "prefill_arena"), [p for p in pictures if p.get("class") == "arena all"]):
        buffers = memory[which]["buffers"]
        drawn = [r.get("class") for r in whole.iter(SVG + "rect")]
        for kind, key in (("register", "registers"), ("scratch", "scratch_of")):
            expect(drawn.count(kind) == sum(len(b[key]) for b in buffers), f"{name}: {which} draws {kind}s")
    expect(len(pictures) == 5, f"{name}: {len(pictures)} pictures")

    rows = [r for r in root.iter(XHTML + "tr") if r.get("data-bytes")]
    shown = [(r.get("class"), int(r.get("data-bytes"))) for r in rows]
    said = []
    for heap in memory["heaps"]:
        said += [("heap", heap["bytes"])] + [("part", part["bytes"]) for part in heap["parts"]]
        expect(heap["bytes"] == sum(part["bytes"] for part in heap["parts"]), f"{name}: {heap['heap']}")
    expect(shown == said, f"{name}: heaps are {shown}, not {said}")
    return boxes, page


card = ("--backend", "pm4", "--device", "emulated-gfx1201")
for label, more in (("cpu", ("--slots", "3")), ("reference", ("--backend", "reference")), ("pm4", card)):
    boxes, _ = check(label, "--model", bard, *more)
    expect([b.get("data-repeats") for b in boxes] == ["1", "6", "1"], f"{label}: bard is not folded into one box of six")
with tempfile.TemporaryDirectory() as folder:
    large = os.path.join(folder, "large.gguf")
    large_model(large)
    boxes, page = check("large", "--model", large)
    expect([b.get("data-repeats") for b in boxes] == ["1", "22", "1"], "large: 22 layers are not one box")
    expect(b"&lt;22 &amp; layers&gt;" in page and len(page) < 400_000, f"large: a page of {len(page)} bytes")
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
