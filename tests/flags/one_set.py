#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a program under one set of compiler and flags, runs it, and keeps its output for compare_sets.py.

    one_set.py SOURCE --name SET --seed N --schedules N --work DIR [--include DIR]... -- COMPILER FLAGS...

Exit status 77: this processor lacks what the program would be built for, so that it is not.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

import aarch64

V3 = {"avx2", "fma", "f16c", "bmi1", "bmi2"}
V4 = V3 | {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512_vnni"}
# What a program needs to run, and its kernels for that level to be chosen.
NEEDS = {"-march=x86-64-v3": V3, "-march=x86-64-v4": V4, "-mavx": {"avx"}, "-mfma": {"fma"}}
# The engine's step path needs neither; both cost time to compile, as does collecting GCC's garbage.
ALWAYS = ["-std=c++23", "-fno-exceptions", "-fno-rtti", "-pthread"]
GCC_ONLY = ["--param=ggc-min-expand=1000", "--param=ggc-min-heapsize=1000000"]


def cpu_flags():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()


def main():
    cut = sys.argv.index("--")
    compiler, *flags = sys.argv[cut + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--schedules", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--include", action="append", default=[])
    args = parser.parse_args(sys.argv[1:cut])
    args.work.mkdir(parents=True, exist_ok=True)
    program, output = args.work / args.name, args.work / f"{args.name}.out"
    output.unlink(missing_ok=True)
    lacks = set().union(*(NEEDS.get(flag, set()) for flag in flags)) - cpu_flags()
    if lacks:
        output.write_text(f"not run: this processor lacks {' '.join(sorted(lacks))}\n", encoding="utf-8")
        print(output.read_text(encoding="utf-8"))
        sys.exit(77)
    if not shutil.which(compiler):
        sys.exit(f"{compiler} is missing")
    includes = [f"-I{folder}" for folder in args.include]
    subprocess.run([compiler, *flags, *ALWAYS, *([] if compiler.startswith("clang") else GCC_ONLY), *includes, args.source,
                    "-o", program], check=True)
    command = aarch64.command(program) if compiler == aarch64.COMPILER else [program]
    run = subprocess.run([*command, args.seed, args.schedules],
                         stdout=subprocess.PIPE, text=True, errors="replace")
    print(run.stdout)
    if run.returncode:
        sys.exit(f"the program ended with status {run.returncode}")
    output.write_text(run.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
