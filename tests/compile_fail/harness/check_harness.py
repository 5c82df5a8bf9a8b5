#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the compile-fail harness on files whose outcome is known."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import expect_errors  # noqa: E402

WANTED = {
    "right.cpp": None,
    "compiles.cpp": "the file compiles",
    "wrong_reason.cpp": "no message matches",
    "second_missing.cpp": "no message matches",
    "echo_only.cpp": "no message matches",
    "no_expectation.cpp": "no `// expect-error:` line",
}

compiler_call = sys.argv[sys.argv.index("--") + 1:]
bad = 0
together = expect_errors.check_together([str(here / name) for name in WANTED], compiler_call)
for name, said in [(name, expect_errors.check(str(here / name), compiler_call)) for name in WANTED] + [
        (name, together[str(here / name)]) for name in WANTED]:
    wanted = WANTED[name]
    if (said is None) != (wanted is None) or (wanted and wanted not in said):
        print(f"{name}: expected {wanted!r}, the harness says {said!r}")
        bad += 1
sys.exit(1 if bad else 0)
