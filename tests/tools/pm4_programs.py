#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/pm4/programs.txt: small programs for whole workgroups, assembled by LLVM.

    pm4_programs.py [--llvm-mc llvm-mc-19] [--objcopy llvm-objcopy-19] > tests/data/pm4/programs.txt

Lines: name, instruction set, words. s[0:1] is an address; the workgroup's number is `group`.
"""
import argparse
import pathlib
import struct
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--llvm-mc", default="llvm-mc-19")
parser.add_argument("--objcopy", default="llvm-objcopy-19")
arguments = parser.parse_args()

# What differs between the instruction sets.
WORDS = {
    "gfx11": {"cpu": "gfx1100", "group": "s2", "wait_lds": "s_waitcnt lgkmcnt(0)", "wait_load": "s_waitcnt vmcnt(0)",
              "wait_store": "s_waitcnt_vscnt null, 0x0", "barrier": "s_barrier", "wait_scalar": "s_waitcnt lgkmcnt(0)"},
    "gfx12": {"cpu": "gfx1201", "group": "ttmp9", "wait_lds": "s_wait_dscnt 0x0", "wait_load": "s_wait_loadcnt 0x0",
              "wait_store": "s_wait_storecnt 0x0", "barrier": "s_barrier_signal -1\ns_barrier_wait -1",
              "wait_scalar": "s_wait_kmcnt 0x0"},
}
PROGRAMS = {
    # 128 threads reverse their numbers through LDS.
    "reverse": """
        v_lshlrev_b32 v1, 2, v0
        ds_store_b32 v1, v0
        {wait_lds}
        {barrier}
        v_xor_b32 v2, 0x1fc, v1
        ds_load_b32 v3, v2
        s_lshl_b32 s4, {group}, 9
        v_add_nc_u32 v4, s4, v1
        {wait_lds}
        global_store_b32 v4, v3, s[0:1]
        s_endpgm""",
    # Each thread keeps a number in scratch and stores it.
    "scratch": """
        v_lshlrev_b32 v1, 2, v0
        v_mul_u32_u24 v2, 3, v0
        scratch_store_b32 off, v2, off offset:8
        scratch_store_b8 off, v0, off offset:12
        {wait_store}
        scratch_load_b32 v3, off, off offset:8
        scratch_load_u8 v5, off, off offset:12
        {wait_load}
        v_add_nc_u32 v3, v3, v5
        s_lshl_b32 s4, {group}, 9
        v_add_nc_u32 v4, s4, v1
        global_store_b32 v4, v3, s[0:1]
        s_endpgm""",
    # All threads of all workgroups count.
    "count": """
        v_mov_b32 v1, 0
        v_mov_b32 v2, 1
        global_atomic_add_u32 v1, v2, s[0:1]
        s_endpgm""",
    # A loop with a call: s4 is 10 at the end, stored by every lane.
    "call": """
        s_mov_b32 s4, 0
        s_getpc_b64 s[6:7]
        here:
        s_add_u32 s6, s6, function-here
        s_addc_u32 s7, s7, 0
        again:
        s_swappc_b64 s[8:9], s[6:7]
        s_cmp_lg_u32 s4, 10
        s_cbranch_scc1 again
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, s4
        global_store_b32 v1, v2, s[0:1]
        s_endpgm
        function:
        s_add_u32 s4, s4, 1
        s_setpc_b64 s[8:9]""",
    "lds_out_of_range": """
        v_mov_b32 v1, 0x200
        ds_load_b32 v2, v1
        {wait_lds}
        s_endpgm""",
    "scratch_out_of_range": """
        v_mov_b32 v1, 0x4000
        scratch_load_b32 v2, v1, off
        {wait_load}
        s_endpgm""",
    "misaligned_atomic": """
        v_mov_b32 v1, 2
        v_mov_b32 v2, 1
        global_atomic_add_u32 v1, v2, s[0:1]
        s_endpgm""",
    "misaligned_scalar_load": """
        s_load_b32 s4, s[0:1], 0x2
        {wait_scalar}
        s_endpgm""",
    # Runs on a card that takes any address; one that drops the low bits would give others.
    "misaligned_run": """
        v_lshlrev_b32 v1, 2, v0
        global_load_b32 v2, v1, s[0:1] offset:2
        {wait_load}
        s_endpgm""",
    "misaligned_lane": """
        v_mul_u32_u24 v1, 6, v0
        global_load_b32 v2, v1, s[0:1]
        {wait_load}
        s_endpgm""",
    "misaligned_half": """
        v_mul_u32_u24 v1, 3, v0
        global_load_u16 v2, v1, s[0:1]
        {wait_load}
        s_endpgm""",
    "misaligned_store": """
        v_lshlrev_b32 v1, 3, v0
        v_mov_b32 v2, 1
        global_store_b64 v1, v[2:3], s[0:1] offset:6
        s_endpgm""",
    "misaligned_flat": """
        v_lshl_add_u32 v2, v0, 2, s0
        v_mov_b32 v3, s1
        flat_store_b32 v[2:3], v0 offset:1
        s_endpgm""",
    "misaligned_scratch": """
        scratch_store_b32 off, v0, off offset:2
        s_endpgm""",
    "misaligned_lds_run": """
        v_lshlrev_b32 v1, 3, v0
        ds_load_b64 v[2:3], v1 offset:4
        {wait_lds}
        s_endpgm""",
    "misaligned_lds_lane": """
        v_mul_u32_u24 v1, 12, v0
        ds_store_b128 v1, v[2:5]
        s_endpgm""",
    "misaligned_lds_pair": """
        v_lshlrev_b32 v1, 2, v0
        ds_store_2addr_b64 v1, v[2:3], v[4:5] offset0:0 offset1:1
        s_endpgm""",
    "misaligned_lds_pair_load": """
        v_lshlrev_b32 v1, 2, v0
        ds_load_2addr_b64 v[2:5], v1 offset0:0 offset1:1
        {wait_lds}
        s_endpgm""",
    "unknown": """
        v_mov_b32 v1, 0
        .long 0xd7ff0000
        v_mov_b32 v2, 1
        s_endpgm""",
    "scalar_before_wait": """
        s_load_b32 s4, s[0:1], 0x0
        s_add_u32 s5, s4, 1
        s_endpgm""",
    "branch_before_wait": """
        s_load_b32 vcc_lo, s[0:1], 0x0
        s_cbranch_vccz over
    over:
        s_endpgm""",
    "mask_before_wait": """
        s_load_b32 vcc_lo, s[0:1], 0x0
        v_div_fmas_f32 v1, v0, v0, v0
        s_endpgm""",
    # As many operations as a counter counts, of another counter, end no load.
    "load_before_wait": """
        v_mov_b32 v1, 0
        global_load_b32 v2, v1, s[0:1]
        .rept 64
        global_store_b32 v1, v1, s[0:1] offset:64
        .endr
        v_mov_b32 v3, v2
        s_endpgm""",
    "scalar_after_stores": """
        v_mov_b32 v1, 0
        s_load_b32 s4, s[0:1], 0x0
        .rept 64
        global_store_b32 v1, v1, s[0:1] offset:64
        .endr
        s_mov_b32 s5, s4
        s_endpgm""",
    # A wave waits for the oldest of 64 loads before it begins the last.
    "oldest_load": """
        v_mov_b32 v1, 0
        global_load_b32 v2, v1, s[0:1]
        i = 3
        .rept 63
        global_load_b32 v[i], v1, s[0:1]
        i = i + 1
        .endr
        v_mov_b32 v1, v2
        s_endpgm""",
    "store_before_barrier": """
        v_lshlrev_b32 v1, 2, v0
        ds_store_b32 v1, v0
        {barrier}
        s_endpgm""",
    "lds_before_wait": """
        v_lshlrev_b32 v1, 2, v0
        ds_load_b32 v2, v1
        ds_load_b32 v3, v1 offset:4
        {wait_one}
        v_add_nc_u32 v4, v2, v1
        v_add_nc_u32 v4, v3, v1
        s_endpgm""",
    "off_the_end": """
        s_branch over
        s_endpgm
        over:
        v_mov_b32 v1, 0""",
    "into_an_instruction": """
        s_branch 1
        v_mov_b32 v1, 0x12345678
        s_endpgm""",
    "float_mode": """
        s_round_mode 0x3
        s_endpgm""",
}
GFX11 = {
    # One counter for both, and scalar loads end in any order: nothing is known before it is zero.
    "lds_beside_scalar": """
        v_lshlrev_b32 v1, 2, v0
        ds_load_b32 v2, v1
        ds_load_b32 v3, v1 offset:4
        s_load_b32 s4, s[0:1], 0x0
        s_waitcnt lgkmcnt(1)
        v_add_nc_u32 v4, v2, v1
        s_endpgm""",
}
GFX12 = {
    "wait_without_signal": "s_barrier_wait -1\ns_endpgm",
    "signal_twice": "s_barrier_signal -1\ns_barrier_signal -1\ns_endpgm",
    # Wave 0 waits for ever: wave 1 is in an endless loop of its own.
    "nobody_comes": """
        v_readfirstlane_b32 s4, v0
        s_cmp_lg_u32 s4, 0
        s_cbranch_scc1 other
        s_barrier_signal -1
        s_barrier_wait -1
        s_endpgm
        other:
        s_branch other""",
}
WORDS["gfx11"]["wait_one"] = "s_waitcnt lgkmcnt(1)"
WORDS["gfx12"]["wait_one"] = "s_wait_dscnt 0x1"
for isa, words in WORDS.items():
    programs = PROGRAMS | {"gfx11": GFX11, "gfx12": GFX12}[isa]
    for name, source in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "p.s").write_text("\n".join(line.strip() for line in source.format(**words).splitlines()) + "\n")
            subprocess.run([arguments.llvm_mc, "-triple=amdgcn-amd-amdhsa", f"-mcpu={words['cpu']}", "-filetype=obj",
                            folder / "p.s", "-o", folder / "p.o"], check=True)
            subprocess.run([arguments.objcopy, "-O", "binary", "--only-section=.text", folder / "p.o", folder / "p.bin"],
                           check=True)
            code = (folder / "p.bin").read_bytes()
        print(name, isa, "".join(f"{w:08x}" for w in struct.unpack(f"<{len(code) // 4}I", code)))
