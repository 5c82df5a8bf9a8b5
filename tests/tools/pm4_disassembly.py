#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/pm4/disassembly.txt: instructions of clang's kernels as LLVM prints them.

    pm4_disassembly.py SHARED/golden/pm4 [--llvm-mc llvm-mc-19] > tests/data/pm4/disassembly.txt

Lines: target, words, then LLVM's text. The first instructions with each mnemonic are kept; cache policies,
which the interpreter does not print, are cut.
"""
import argparse
import collections
import pathlib
import re
import struct
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--llvm-mc", default="llvm-mc-19")
arguments = parser.parse_args()
for cpu in ("gfx1100", "gfx1201"):
    image = (arguments.folder / f"{cpu}-vadd" / "code.bin").read_bytes()
    # The loaded image of a shared object: its program headers say where the code lies.
    headers, count = struct.unpack_from("<Q", image, 32)[0], struct.unpack_from("<H", image, 56)[0]
    for i in range(count):
        kind, flags, _, address, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", image, headers + 56 * i)
        if kind == 1 and flags & 1:
            code = image[address:address + size]
    source = "\n".join(" ".join(f"0x{b:02x}" for b in code[i:i + 16]) for i in range(0, len(code), 16))
    run = subprocess.run([arguments.llvm_mc, "-triple=amdgcn-amd-amdhsa", f"-mcpu={cpu}", "-disassemble", "-show-encoding"],
                         input=source, capture_output=True, text=True, check=True)
    seen = collections.Counter()
    for line in run.stdout.splitlines():
        if "encoding: [" not in line:
            continue
        text, code = line.split("; encoding: [")
        text = re.sub(r" (th|scope):\w+| (glc|slc|dlc)\b", "", " ".join(text.split()))
        mnemonic = text.split()[0]
        seen[mnemonic] += 1
        if seen[mnemonic] > 4:
            continue
        data = bytes(int(x, 16) for x in code.rstrip("]").split(","))
        words = "".join(f"{w:08x}" for w in struct.unpack(f"<{len(data) // 4}I", data))
        print("gfx11" if cpu == "gfx1100" else "gfx12", words, text)
