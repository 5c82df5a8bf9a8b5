#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GCC optimises kernels in a host that is compiled without optimisation: optimize_floor.py GCC NM SOURCE INCLUDE.

Without that, kernels are two to ten times as large."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

compiler, nm, source, include = sys.argv[1:]


def bytes_of_kernels(level, folder):
    """By variant, how large its functions are."""
    unit = pathlib.Path(folder) / "unit.o"
    subprocess.run([compiler, "-std=c++23", level, f"-I{include}", "-c", source, "-o", unit], check=True)
    listed = subprocess.run([nm, "-SC", unit], check=True, stdout=subprocess.PIPE, text=True).stdout
    sizes = collections.Counter()
    for size, name in re.findall(r"^\S+ (\S+) [tTwW] (.*)$", listed, re.MULTILINE):
        if variant := re.search(r"::cpu::(v\d)::", name):
            sizes[variant[1]] += int(size, 16)
    return sizes


with tempfile.TemporaryDirectory() as work:
    at_once, optimised = bytes_of_kernels("-O0", work), bytes_of_kernels("-O2", work)
if not optimised:
    sys.exit("no kernel was found")
for name, size in sorted(optimised.items()):
    print(f"{name}: {at_once[name]} bytes at -O0, {size} at -O2")
    if not size <= at_once[name] * 2 <= size * 4:
        sys.exit(f"the kernels of {name} are not those of -O2")
