#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A generated file equals what its program prints: same_output.py FILE PROGRAM."""
import difflib
import pathlib
import subprocess
import sys

kept = pathlib.Path(sys.argv[1])
printed = subprocess.run([sys.argv[2]], check=True, stdout=subprocess.PIPE, text=True).stdout
text = kept.read_text(encoding="utf-8") if kept.is_file() else ""
if text != printed:
    sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), printed.splitlines(True),
                                               str(kept), "what the program prints"))
    sys.exit("run `./dev docs`")
