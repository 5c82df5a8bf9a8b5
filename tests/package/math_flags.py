#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A translation unit is refused, in zrt's own words, under each flag that changes results, and under no other.

    math_flags.py COMPILER INCLUDE --refused FLAGS... --accepted FLAGS...

An argument may hold several flags, which then are given together. Exit status 77: there is no such compiler.
"""
import re
import shutil
import subprocess
import sys

OWN_WORDS = r"zrt: this translation unit is compiled with|ZRT_REFUSES_UNSAFE_MATH_FLAGS_REMOVE_THEM"


def compile_with(compiler, include, flags):
    source = "#include <zrt/core/config.hpp>\nfloat sum(float a, float b) { return a + b; }\n"
    run = subprocess.run([compiler, "-std=c++23", "-O2", "-Wall", "-Wextra", "-Wpedantic", f"-I{include}",
                          *flags.split(), "-fsyntax-only", "-fdiagnostics-color=never", "-x", "c++", "-"],
                         input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return run.returncode, run.stdout


def main():
    compiler, include, *rest = sys.argv[1:]
    cut = rest.index("--accepted")
    refused, accepted = rest[1:cut], rest[cut + 1:]
    if rest[0] != "--refused" or not refused or not accepted:
        sys.exit(__doc__)
    if shutil.which(compiler) is None:
        print(f"NOT TESTED: there is no {compiler}")
        sys.exit(77)
    wrong = []
    for flags in refused:
        status, said = compile_with(compiler, include, flags)
        if status == 0 or not re.search(OWN_WORDS, said):
            wrong.append(f"{flags}: expected a refusal in zrt's words, status {status}\n{said}")
    for flags in ["", *accepted]:
        status, said = compile_with(compiler, include, flags)
        # A compiler may warn that a flag is without effect; that is no matter of the source's.
        if status != 0 or re.search(r"config\.hpp.*warning", said):
            wrong.append(f"'{flags}': expected no word of it, status {status}\n{said}")
    if wrong:
        sys.exit(f"{compiler}:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
