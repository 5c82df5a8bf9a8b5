# SPDX-License-Identifier: Apache-2.0
"""Builds programs for aarch64 and runs them in an emulator.

    aarch64.py NATIVE SOURCE... --work DIR [--include DIR]...

Builds the sources as one program, and demands the lines "bits ..." of NATIVE from it, on a processor with FEAT_DotProd and
on one without.
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


def folder_of_boost(work):
    """Boost's headers are the same for all processors, and lie among those of this one."""
    folder = work / "headers"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "boost"
    if not link.is_symlink():
        link.symlink_to("/usr/include/boost")
    return folder


def command(program, cpu=NEWEST):
    return [EMULATOR, "-cpu", cpu, program]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("native", type=pathlib.Path)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--include", action="append", default=[])
    args = parser.parse_args()
    includes = [f"-I{folder}" for folder in [*args.include, folder_of_boost(args.work)]]
    program = args.work / "weight_types_aarch64"
    subprocess.run([COMPILER, "-std=c++23", "-O1", "-DNDEBUG", "-static", "-ffp-contract=fast", *includes, *args.sources, "-o", program],
                   check=True)
    expected = re.findall(r"^bits .*$", subprocess.run([args.native], check=True, capture_output=True, text=True).stdout, re.MULTILINE)
    for cpu, variants in ((NEWEST, ["v1", "dotprod"]), (PLAIN, ["v1"])):
        run = subprocess.run(command(program, cpu), capture_output=True, text=True)
        print(f"{cpu}:\n{run.stdout}{run.stderr}")
        if run.returncode or re.findall(r"^variant (.*)$", run.stdout, re.MULTILINE) != variants:
            sys.exit(f"{cpu} ended with status {run.returncode}, expected the variants {' '.join(variants)}")
        found = re.findall(r"^bits .*$", run.stdout, re.MULTILINE)
        if not expected or found != expected:
            sys.exit(f"{cpu} gives other bits: {[line for line in expected if line not in found]}")


if __name__ == "__main__":
    main()
