#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone and without a warning: headers_alone.py -- COMPILER FLAGS...

Textual fragments (`*.inc.hpp`, meant for several inclusion) and headers without a guard are left out; line 2 of a fragment must call it so.
"""
import concurrent.futures
import os
import subprocess
import sys

import source

compiler_call = sys.argv[sys.argv.index("--") + 1:]
problems = []
alone = []
for header in source.headers():
    name = header.relative_to(source.INCLUDE).as_posix()
    if source.repeats(header.read_text(encoding="utf-8")):
        continue
    if source.is_fragment(header):
        lines = header.read_text(encoding="utf-8").splitlines()
        if len(lines) < 2 or not lines[1].startswith("//") or "textual fragment" not in lines[1]:
            problems.append(f"{name}: line 2 must say that the file is a textual fragment")
    else:
        alone.append(name)


def compile_alone(name):
    text = f"#include <{name}>\n#include <{name}>\n"
    run = subprocess.run([*compiler_call, "-fsyntax-only", "-x", "c++", "-"], input=text, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    return f"{name} does not compile alone:\n{run.stdout}" if run.returncode else None


with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
    problems += [said for said in pool.map(compile_alone, alone) if said]
print(f"{len(alone)} headers")
if not alone:
    problems.append("there is no header")
sys.exit(source.report(problems))
