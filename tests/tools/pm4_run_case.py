#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/pm4/scaled_add: a recorded ring as `zrt pm4 run` takes it, its packets written by hand.

    pm4_run_case.py

The kernel is scaled_add of tests/data/pm4/kernels-gfx1201.hsaco, which clang made; out[i] = a[i] + b[i] * 3 for 300 i.
"""
import json
import pathlib
import struct

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "pm4"
CODE, ARGUMENTS, BUFFER, SIGNAL, RING = (0x600000000000 + i * 0x100000 for i in range(5))
COUNT, A, B, OUT = 300, 0, 2048, 4096


def symbols(elf):
    """Name to (address, size) of an ELF64, whose sections lie in the file where their headers say."""
    offset, = struct.unpack_from("<Q", elf, 0x28)
    size, number = struct.unpack_from("<HH", elf, 0x3a)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + i * size) for i in range(number)]
    table = next(s for s in sections if s[1] == 11)  # SHT_DYNSYM
    names = sections[table[6]][4]
    found = {}
    for at in range(table[4], table[4] + table[5], 24):
        name, _, _, section, value, length = struct.unpack_from("<IBBHQQ", elf, at)
        text = elf[names + name:elf.index(0, names + name)].decode()
        if text:
            _, _, _, address, place, *_ = sections[section]
            found[text] = (value - address + place, length)
    return found


def dwords(*values):
    return struct.pack(f"<{len(values)}I", *values)


def packet(opcode, *payload):
    return dwords(3 << 30 | len(payload) - 1 << 16 | opcode << 8, *payload)


def registers(first, *values):
    return packet(0x76, first, *values)


elf = (DATA / "kernels-gfx1201.hsaco").read_bytes()
at, length = symbols(elf)["scaled_add"]
descriptor, _ = symbols(elf)["scaled_add.kd"]
rsrc3, rsrc1, rsrc2 = struct.unpack_from("<3I", elf, descriptor + 44)
code = elf[at:at + length]
assert code.count(dwords(0xcafe0001)) == 1
code = code.replace(dwords(0xcafe0001), dwords(3)) + dwords(*[0xbf9f0000] * 16)

ring = b"".join([
    packet(0x58, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0xc3f1),  # ACQUIRE_MEM: everything
    registers(0x20c, CODE >> 8 & 0xffffffff, CODE >> 40),
    registers(0x212, rsrc1, rsrc2),
    registers(0x228, rsrc3),
    registers(0x218, 0),
    registers(0x21b, 0, 0, 0),
    registers(0x240, ARGUMENTS & 0xffffffff, ARGUMENTS >> 32),
    registers(0x215, 0),
    registers(0x204, 0, 0, 0, 256, 1, 1, 0, 0),
    packet(0x15, 2, 1, 1, 0x8005),  # DISPATCH_DIRECT of wave32
    packet(0x46, 0x407),  # CS_PARTIAL_FLUSH
    packet(0x49, 0x00704514, 0x40000000, SIGNAL & 0xffffffff, SIGNAL >> 32, 1, 0, 0),  # RELEASE_MEM of 64 bits
])

a = [100.0 + i for i in range(COUNT)]
b = [300.0 - i / 2 for i in range(COUNT)]
out = [x + y * 3 for x, y in zip(a, b)]  # exact
floats = struct.Struct(f"<{COUNT}f")
before = floats.pack(*a).ljust(B, b"\0") + floats.pack(*b)

folder = DATA / "scaled_add"
folder.mkdir(exist_ok=True)
files = {
    "code.bin": code,
    "kernarg.bin": struct.pack("<QQQI", BUFFER + A, BUFFER + B, BUFFER + OUT, COUNT),
    "buffer.bin": before,
    "buffer.after.bin": before.ljust(OUT, b"\0") + floats.pack(*out),
    "signal.bin": bytes(8),
    "signal.after.bin": struct.pack("<Q", 1),
    "ring.bin": ring,
}
for name, data in files.items():
    (folder / name).write_bytes(data)


def region(name, address, size, **more):
    return {"name": name, "va": hex(address), "size": size, "file": name + ".bin", **more}


case = {
    "target": "gfx1201",
    "kernel": "scaled_add",
    "regions": [
        region("code", CODE, 4096),
        region("kernarg", ARGUMENTS, 4096),
        region("buffer", BUFFER, 8192, after="buffer.after.bin"),
        region("signal", SIGNAL, 4096, after="signal.after.bin"),
    ],
    "ring": {"va": hex(RING), "size": 4096, "file": "ring.bin"},
    "expect_f32": {"region": "buffer", "offset": OUT, "count": COUNT, "tolerance": 1e-6, "values": out},
}
(folder / "case.json").write_text(json.dumps(case) + "\n")
