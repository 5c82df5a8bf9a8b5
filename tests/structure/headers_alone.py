#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone and without a warning: headers_alone.py -- COMPILER FLAGS...

A header whose first line of code includes another header compiles that one as a file of its own would: nothing stands before it. So a header that is the first include of a checked one needs no compilation of its own.

Textual fragments (`*.inc.hpp`, meant for several inclusion) and headers without a guard are left out; line 2 of a fragment must call it so.
"""
import concurrent.futures
import os
import re
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


def first_include(name):
    """The header of zrt that `name` includes before any other code, or None."""
    text = source.without_comments((source.INCLUDE / name).read_text(encoding="utf-8"))
    for line in text.splitlines():
        if not line.strip() or line.strip() == "#pragma once":
            continue
        match = re.match(r"\s*#\s*include\s*<(zrt/[^>]+)>", line)
        return match.group(1) if match else None
    return None


covered = {first_include(name) for name in alone}


def compile_alone(name):
    text = f"#include <{name}>\n#include <{name}>\n"
    run = subprocess.run([*compiler_call, "-fsyntax-only", "-x", "c++", "-"], input=text, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    return f"{name} does not compile alone:\n{run.stdout}" if run.returncode else None


with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
    problems += [said for said in pool.map(compile_alone, [name for name in alone if name not in covered]) if said]
print(f"{len(alone)} headers, {len(covered.intersection(alone))} of them as the first include of another")
if not alone:
    problems.append("there is no header")
sys.exit(source.report(problems))
