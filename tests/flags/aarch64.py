# SPDX-License-Identifier: Apache-2.0
"""Builds programs for aarch64 and runs them in an emulator, on a processor with FEAT_DotProd and on one without.

    aarch64.py SOURCE... --work DIR [--include DIR]... --bits-of NATIVE | --gtest DIR

Builds the sources as one program. With --bits-of it must print the lines "bits ..." of NATIVE; with --gtest, the folder of
GoogleTest's sources, it is a program of tests that must pass.
"""
import argparse
import pathlib
import re
import subprocess
import sys

COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64-static"
# A processor with every extension that the emulator knows, and one with none that ARMv8.0 lacks.
NEWEST, PLAIN = "max", "cortex-a53"


def command(program, cpu=NEWEST):
    return [EMULATOR, "-cpu", cpu, program]


def bits_of(text):
    return re.findall(r"^bits .*$", text, re.MULTILINE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--include", action="append", default=[])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--bits-of", type=pathlib.Path)
    what.add_argument("--gtest", type=pathlib.Path)
    args = parser.parse_args()
    includes, sources, expected = args.include, args.sources, []
    if args.gtest:
        includes = [*includes, args.gtest, args.gtest / "include"]
        sources = [*sources, args.gtest / "src/gtest-all.cc", args.gtest / "src/gtest_main.cc"]
    else:
        expected = bits_of(subprocess.run([args.bits_of], check=True, capture_output=True, text=True).stdout)
        if not expected:
            sys.exit(f"{args.bits_of} prints no bits")
    args.work.mkdir(parents=True, exist_ok=True)
    program = args.work / f"{args.sources[0].stem}_aarch64"
    subprocess.run([COMPILER, "-std=c++23", "-O1", "-DNDEBUG", "-static", "-pthread", "-ffp-contract=fast",
                    *(f"-I{folder}" for folder in includes), *sources, "-o", program], check=True)
    for cpu, variants in ((NEWEST, ["v1", "dotprod"]), (PLAIN, ["v1"])):
        run = subprocess.run(command(program, cpu), capture_output=True, text=True)
        print(f"{cpu}:\n{run.stdout}{run.stderr}")
        if run.returncode:
            sys.exit(f"{cpu} ended with status {run.returncode}")
        if args.gtest:
            continue
        if re.findall(r"^variant (.*)$", run.stdout, re.MULTILINE) != variants:
            sys.exit(f"{cpu} was expected to run the variants {' '.join(variants)}")
        if bits_of(run.stdout) != expected:
            sys.exit(f"{cpu} gives other bits: {sorted(set(expected) - set(bits_of(run.stdout)))}")


if __name__ == "__main__":
    main()
