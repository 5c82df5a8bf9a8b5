#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program's size without symbols is within a budget, and it still runs: small_program.py STRIP PROGRAM BYTES MODEL."""
import pathlib
import subprocess
import sys
import tempfile

strip, program, budget, model = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    stripped = pathlib.Path(folder) / "program"
    subprocess.run([strip, "-o", stripped, program], check=True)
    size = stripped.stat().st_size
    print(f"{size} bytes of {budget}")
    if size > int(budget):
        sys.exit(f"{program} has {size} bytes without symbols, more than {budget}")
    if not subprocess.run([stripped, model], check=True, stdout=subprocess.PIPE).stdout:
        sys.exit(f"{program} writes nothing")
