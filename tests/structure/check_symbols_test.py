#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests no_forbidden_symbols.py on small objects: check_symbols_test.py NM OBJDUMP -- COMPILER FLAGS...
"""
import pathlib
import subprocess
import sys
import tempfile

import no_forbidden_symbols
import source

CASES = [
    ("", None),
    ("const int table[] = {1, 2}; const int* f() { return table; }", None),
    ("int g(); extern int (*const t[])(); int (*const t[])() = {g};", None),
    ("template <class T> constexpr int v = 3; const int* f() { return &v<int>; }", None),
    ("extern \"C\" void abort(); void f() { abort(); }", "refers to abort"),
    ("extern \"C\" int printf(const char*, ...); void f(int i) { printf(\"%d\", i); }", "refers to printf"),
    ("#include <iostream>\nvoid f() { std::cout << 1; }", "refers to std::"),
    ("extern \"C\" char* getenv(const char*); char* f() { return getenv(\"X\"); }", "refers to getenv"),
    ("int counter = 1; int f() { return ++counter; }", "mutable global counter"),
    ("int f() { static int n; return ++n; }", "mutable global"),
    ("template <class T> int n = 0; int f() { return ++n<int>; }", "mutable global"),
    ("thread_local int n; int f() { return ++n; }", "mutable global"),
]

nm, objdump = sys.argv[1:3]
compiler_call = sys.argv[sys.argv.index("--") + 1:]
failures = []
with tempfile.TemporaryDirectory() as folder:
    for number, (text, wanted) in enumerate(CASES):
        path = pathlib.Path(folder) / f"case{number}.o"
        subprocess.run([compiler_call[0], "-std=c++23", "-O1", "-x", "c++", "-c", "-o", path, "-"],
                       input=text + "\n", text=True, check=True)
        said = "\n".join(no_forbidden_symbols.problems(nm, objdump, str(path)))
        if (wanted is None and said) or (wanted is not None and wanted not in said):
            failures.append(f"expected {wanted!r}, got {said!r} for: {text}")
sys.exit(source.report(failures))
