#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles one file with -DZRT_COMPILE_FAIL and demands that it fails with every expected message.

    expect_errors.py FILE [--extra FLAG] -- COMPILER FLAGS...

FILE names what it expects in lines `// expect-error: <regex>`. The source lines that a compiler
echoes are switched off, so a regex can match only what the compiler reports.
"""
import re
import subprocess
import sys


def expected(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^// expect-error: (.+?)\s*$", file.read(), re.M)


def check(path, compiler_call, extra=()):
    """Returns what is wrong, or None."""
    regexes = expected(path)
    if not regexes:
        return "the file has no `// expect-error:` line"
    run = subprocess.run(
        [*compiler_call, "-fsyntax-only", "-fdiagnostics-color=never",
         "-fno-diagnostics-show-caret" if "clang" not in compiler_call[0] else "-fno-caret-diagnostics",
         "-DZRT_COMPILE_FAIL", *extra, path],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if run.returncode == 0:
        return "the file compiles"
    missing = [r for r in regexes if not re.search(r, run.stdout)]
    if missing:
        return "no message matches\n  " + "\n  ".join(missing) + "\nThe compiler said:\n" + run.stdout
    return None


def main():
    own, compiler_call = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, compiler_call = own[:cut], own[cut + 1:]
    if not own or not compiler_call or own[1:2] not in ([], ["--extra"]):
        sys.exit(__doc__)
    wrong = check(own[0], compiler_call, own[2:])
    if wrong:
        sys.exit(f"{own[0]}: {wrong}")


if __name__ == "__main__":
    main()
