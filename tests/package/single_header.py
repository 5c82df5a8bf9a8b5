#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README's host compiles against the single header alone, and runs: single_header.py SOURCE WORK -- COMPILER..."""
import pathlib
import re
import subprocess
import sys

source, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
compiler = sys.argv[sys.argv.index("--") + 1:]
header = work / "zrt.hpp"
subprocess.run([sys.executable, source / "packaging/single_header.py", header], check=True)
text = header.read_text(encoding="utf-8")
if left := re.findall(r"^\s*#\s*include\s*[<\"](?:zrt/.*|[A-Z_]+)$", text, re.M):
    sys.exit(f"the single header includes others: {left}")
host = re.search(r"^```cpp\n(.*?)^```", (source / "README.md").read_text(encoding="utf-8"), re.M | re.S)[1]
host, includes = re.subn(r"^#include <zrt/.*>\n", "", host, flags=re.M)
if includes < 3:
    sys.exit("the README's host is not the first block of C++")
unit = work / "host.cpp"
unit.write_text('#include "zrt.hpp"\n' + host, encoding="utf-8")
subprocess.run([*compiler, "-O0", f"-I{work}", unit, "-o", work / "host", "-pthread"], check=True)
ran = subprocess.run([work / "host", source / "examples/models/bard-q8_0.gguf"], check=True, stdout=subprocess.PIPE)
if len(ran.stdout) < 20:
    sys.exit("the README's host writes nothing")
