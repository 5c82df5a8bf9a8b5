#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/pm4/encodings.txt: which words are instructions, and how they read, by LLVM.

    pm4_encodings.py tests/data/pm4/isa_cases.txt [--llvm-mc llvm-mc-19] [--random 1500] > tests/data/pm4/encodings.txt

The instructions of isa_cases.txt with every vector register above v127, with literals and DPP, and with random
fields and bits. Lines: target, words, then LLVM's text; `valid` where immediates are printed otherwise; `invalid`
where LLVM refuses the words or prints an instruction that has others; `unmodelled` where LLVM takes what the
interpreter refuses on purpose: output modifiers, clamped integers, global data share, VCCZ and EXECZ,
signs of packed halves with DPP.

Left out: halves of 16-bit registers, which LLVM 19 does not know for most instructions, modifiers of packed and
dotted integers, which it takes and the interpreter refuses, and cache policies.
"""
import argparse
import collections
import pathlib
import random
import re
import struct
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("cases", type=pathlib.Path)
parser.add_argument("--llvm-mc", default="llvm-mc-19")
parser.add_argument("--random", type=int, default=1500)
arguments = parser.parse_args()
rng = random.Random(1201)
dual_rng = random.Random(1100)
PADDING = 0x12ab  # a literal of no inline constant
MARKER = re.compile(r"s_mov_b32 s77, 0x5a([0-9a-f]{6})")


def as_bytes(words):
    return ",".join(f"0x{w >> s & 255:02x}" for w in words for s in (0, 8, 16, 24))


def run(cpu, source, *options):
    return subprocess.run([arguments.llvm_mc, "-triple=amdgcn-amd-amdhsa", f"-mcpu={cpu}", "-show-encoding", *options],
                          input=source, capture_output=True, text=True)


def encodings(output):
    """Number of the case, text and words of each instruction, told apart by markers."""
    case = None
    for line in output.splitlines():
        if "encoding: [" not in line:
            continue
        text, code = line.split("; encoding: [")
        text = " ".join(text.split())
        marker = MARKER.fullmatch(text)
        if marker:
            case = int(marker.group(1), 16)
        elif not re.search("[A-Z]", code):
            data = bytes(int(x, 16) for x in code.rstrip("]").split(","))
            yield case, text, list(struct.unpack(f"<{len(data) // 4}I", data))


def padded(words):
    return (list(words) + [PADDING] * 4)[:4]


def read(cpu, cases):
    """LLVM's text and words of each case, None where it refuses it, and what its text assembles to."""
    source = "".join(f"[{as_bytes([0xbecd00ff, 0x5a000000 | i])}]\n[{as_bytes(padded(w))}]\n" for i, w in enumerate(cases))
    answer = run(cpu, source, "-disassemble")
    refused = {int(m.group(1)) // 2 - 1 for m in re.finditer(r"<stdin>:(\d+):[12]: warning", answer.stderr)}
    texts = {}
    for i, text, words in encodings(answer.stdout):
        # Of s_delay_alu it is a remark on a hint.
        if i not in texts and i not in refused and ("/*" not in text or text.startswith("s_delay_alu")):
            texts[i] = (text, words)
    again = "".join(f"s_mov_b32 s77, {0x5a000000 | i:#x}\n{text}\n" for i, (text, _) in texts.items())
    assembled = {}
    for i, _, words in encodings(run(cpu, again).stdout):
        assembled.setdefault(i, words)
    return texts, assembled


def fields(w):
    """Word, lowest bit and size of the fields of a format that name registers."""
    if w[0] >> 31 == 0:
        one, compares = w[0] >> 25 == 0x3f, w[0] >> 25 == 0x3e
        return [(0, 0, 9)] + ([] if one else [(0, 9, 8)]) + ([] if compares else [(0, 17, 8)])
    return {0x35: [(0, 0, 8), (1, 0, 9), (1, 9, 9), (1, 18, 9)], 0x33: [(0, 0, 8), (1, 0, 9), (1, 9, 9), (1, 18, 9)],
            0x32: [(0, 0, 9), (0, 9, 8), (1, 0, 9), (1, 9, 8), (1, 17, 7), (1, 24, 8)]}.get(
                w[0] >> 26, [(0, 0, 8), (0, 8, 8), (0, 16, 7)] if w[0] >> 30 == 2 else [])


def put(words, place, value):
    at, low, size = place
    words[at] = words[at] & ~(((1 << size) - 1) << low) | value << low


def with_high_registers(w):
    """Every field that names a vector register names one above v127."""
    w = list(w)
    for n, (at, low, size) in enumerate(fields(w)):
        value = w[at] >> low & (1 << size) - 1
        if size == 9 and value >= 256:
            put(w, (at, low, size), 256 + 136 + 16 * n)
        elif size == 8 and w[0] >> 30 != 2 and value < 64 and value != 0:
            put(w, (at, low, size), 136 + 16 * n)
    return w


def opcode(w):
    """Format and opcode of a short vector format."""
    if w[0] >> 31 != 0:
        return None
    return w[0] >> 25, w[0] >> 9 & 255 if w[0] >> 25 == 0x3f else w[0] >> 17 & 255 if w[0] >> 25 == 0x3e else 0


DPP = (0xff002700, 0xff012700, 0xff091100, 0xff014000, 0xff015300, 0xff016100, 0xff702700, 0xff022700)


def duals(cpu, count):
    """Dual instructions of random registers, as far as LLVM takes them."""
    def half():
        dst, a, b, c = (f"v{dual_rng.randrange(16)}" for _ in range(4))
        a = dual_rng.choice((a, a, a, "s13", "1.0"))
        return f"v_dual_" + dual_rng.choice((f"fmamk_f32 {dst}, {a}, 0x3fc01234, {c}", f"fmaak_f32 {dst}, {a}, {b}, 0x3fc01234",
                                        f"fmac_f32 {dst}, {a}, {b}", f"mul_f32 {dst}, {a}, {b}", f"mov_b32 {dst}, {a}"))
    source = "".join(f"s_mov_b32 s77, {0x5a000000 | i:#x}\n{half()} :: {half()}\n" for i in range(count))
    return [words for _, _, words in encodings(run(cpu, source).stdout)]


def mutated(w, rng=rng):
    w = list(w)
    places = fields(w)
    if not places or rng.random() < 0.4:
        for _ in range(rng.choice((1, 1, 2))):
            w[rng.randrange(len(w))] ^= 1 << rng.randrange(32)
        return w
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.choice(places)
        size = place[2]
        special = (255, 250, 233, 234, 106, 124, 125, 126, 253, 240, 0, 5)
        if size == 9:
            value = rng.choice((rng.randrange(256, 512), rng.randrange(256), rng.choice(special)))
        else:
            value = rng.randrange(1 << size)
        put(w, place, value)
    w = w[:2] if w[0] >> 26 in (0x35, 0x33, 0x32) else w[:1]
    first = w[-1 if w[0] >> 31 != 0 else 0] & 511
    if first == 250:
        w.append(rng.choice(DPP) | rng.randrange(256))
    elif first in (233, 234):
        w.append(rng.getrandbits(32))
    return w


def verdict(text, words, again, case):
    """What the line says, or None where it is left out."""
    if text is None:
        return "invalid"
    name = re.sub(r"_(e32|e64|dpp)\b|_e64_dpp", "", text.split()[0])
    # Comparisons whose masks would go to an aperture are none that LLVM's own tables have.
    if again is None or "invalid" in text or name == "s_sendmsg" or re.match(r"v_cmp\w+ src_", text):
        return None
    # LLVM 19 takes a literal of v_fma_mix beside DPP and writes no word for it.
    if "_dpp" in text and f"{PADDING:#x}" in text:
        return "invalid"
    if again != padded(case)[:len(words)]:
        # Another literal of the same value, or the constant that stands for it.
        return None if len(again) != len(words) or again[:-1] == words[:-1] or name.startswith("ds_swizzle") else "invalid"
    first_type = re.search(r"_([fuib]\d+)", name)
    if re.search(r" (mul|div):| gds|sext\(|src_(vcc|exec)z", text) or re.match(r"v_(pk_|dot2acc_)\w+_dpp .*(\||-v)", text):
        return "unmodelled"
    if " clamp" in text and first_type and first_type.group(1)[0] != "f" and not re.search("dot|wmma", name):
        return "unmodelled"
    if re.match(r"v_(dot|wmma_i32|pack_b32|pk_\w*[uib]16|mad_[ui]32_[ui]16)", name) and re.search(r"neg_|op_sel|\||-v|-s", text):
        return None
    immediate = words[0] >> 23 == 0x17f or words[0] >> 28 == 11 or name == "ds_swizzle_b32"
    return "valid" if immediate else re.sub(r" (th|scope):\w+| (glc|slc|dlc)\b", "", text)


def is_half(words, text):
    """A half of a register, by the fields of the short formats or by op_sel of the long one."""
    short = words[0] >> 31 == 0 and re.search(r"^(?!v_pk_).*_[fuib]16", text) is not None
    return short or (words[0] >> 26 == 0x35 and "permlane" not in text and words[0] & 0x7800 != 0)


for isa, cpu in (("gfx11", "gfx1100"), ("gfx12", "gfx1201")):
    known = []
    for line in arguments.cases.read_text().splitlines():
        if line.startswith(f"case {isa} "):
            text = line.split()[4]
            known.append([int(text[i:i + 8], 16) for i in range(0, len(text), 8)])
    texts, _ = read(cpu, known)
    forms = collections.OrderedDict((text.split()[0], words) for text, words in reversed(texts.values()))
    names = {re.sub(r"_(e32|e64|dpp)$|_e64_dpp$", "", name) for name in forms}
    cases = [with_high_registers(w) for w in forms.values() if w[0] >> 30 != 2 and fields(w)]
    cases += [mutated(rng.choice(list(forms.values()))) for _ in range(arguments.random)]
    taken = duals(cpu, 800)
    cases += taken + [mutated(w, dual_rng) for w in taken]
    texts, assembled = read(cpu, cases)
    seen = set()
    for i, case in enumerate(cases):
        text, words = texts.get(i, (None, padded(case)))
        base = text or next((t for t, w in forms.items() if opcode(w) == opcode(case)), "")
        says = verdict(text, words, assembled.get(i), case)
        if says is None or is_half(case, text or ""):
            continue
        # A short format that LLVM refuses may be one with halves.
        if text is None and is_half(case, base):
            continue
        if text is not None and re.sub(r"_(e32|e64|dpp)$|_e64_dpp$", "", text.split()[0]) not in names:
            continue
        line = f"{isa} {''.join(f'{w:08x}' for w in words)} {says}"
        if line not in seen:
            seen.add(line)
            print(line)
