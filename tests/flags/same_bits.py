#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds one program under several compilers and flags, runs each, and demands the same output.

    same_bits.py SOURCE --include DIR --work DIR -- ARGUMENTS OF THE PROGRAM

A variant whose instruction set this machine lacks is built and left unrun, and named.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

VARIANTS = [
    ("g++", ["-O0"]),
    ("g++", ["-O3", "-ffp-contract=fast"]),
    ("g++", ["-O1", "-march=x86-64-v3", "-ffp-contract=off"]),
    ("g++", ["-O2", "-march=x86-64-v4", "-ffp-contract=fast"]),
    ("clang++-19", ["-O0", "-march=x86-64-v3", "-ffp-contract=fast"]),
    ("clang++-19", ["-O1", "-march=x86-64-v4", "-ffp-contract=off"]),
    ("clang++-19", ["-O2", "-ffp-contract=fast"]),
    ("clang++-19", ["-O3", "-march=x86-64-v3", "-ffp-contract=off"]),
]
NEEDS = {"-march=x86-64-v3": {"avx2", "fma", "f16c", "bmi2"},
         "-march=x86-64-v4": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}}


def cpu_flags():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()


def main():
    own, program_args = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, program_args = own[:cut], own[cut + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--include", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    args = parser.parse_args(own)
    args.work.mkdir(parents=True, exist_ok=True)
    have = cpu_flags()

    def one(variant):
        number, (compiler, flags) = variant
        name = " ".join([compiler, *flags])
        if not shutil.which(compiler):
            return name, "missing", "the compiler is missing"
        program = args.work / f"{args.source.stem}_{number}"
        build = subprocess.run([compiler, "-std=c++23", *flags, f"-I{args.include}", args.source, "-o",
                                program, "-pthread"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
        if build.returncode:
            return name, "missing", build.stdout
        lacks = set().union(*(NEEDS.get(flag, set()) for flag in flags)) - have
        if lacks:
            return name, "unrun", f"this machine lacks {' '.join(sorted(lacks))}"
        run = subprocess.run([program, *program_args], stdout=subprocess.PIPE, text=True, errors="replace")
        if run.returncode:
            return name, "missing", f"exit status {run.returncode}\n{run.stdout}"
        return name, "ran", run.stdout

    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        results = list(pool.map(one, enumerate(VARIANTS)))
    outputs = {text for _, state, text in results if state == "ran"}
    for name, state, text in results:
        print(f"{state:8} {name}: {text.strip()[:2000]}")
    if any(state == "missing" for _, state, _ in results) or len(outputs) != 1 or outputs == {""}:
        sys.exit("the variants do not give the same output")


if __name__ == "__main__":
    main()
