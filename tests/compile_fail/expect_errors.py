#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles one file with -DZRT_COMPILE_FAIL and demands that it fails with every expected message.

    expect_errors.py FILE [--extra FLAG] -- COMPILER FLAGS...
    expect_errors.py --together FILE... -- COMPILER FLAGS...

FILE names what it expects in lines `// expect-error: <regex>`. The source lines that a compiler
echoes are switched off, so a regex can match only what the compiler reports.

Several files take hardly longer than one: most of the time goes into headers. With --together they are one unit first,
and a message counts for the file that it names as its place or as what asked for the place. A file without all of its
messages then, or with a line `// compiled alone: <reason>`, is compiled as a file of its own, which decides.
"""
import concurrent.futures
import os
import re
import subprocess
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def expected(path):
    return re.findall(r"^// expect-error: (.+?)\s*$", read(path), re.M)


def compiled(compiler_call, *more, **options):
    clang = "clang" in compiler_call[0]
    return subprocess.run(
        [*compiler_call, "-fsyntax-only", "-fdiagnostics-color=never",
         "-fno-caret-diagnostics" if clang else "-fno-diagnostics-show-caret",
         "-ferror-limit=0" if clang else "-fmax-errors=0", "-ftemplate-backtrace-limit=0", "-DZRT_COMPILE_FAIL", *more],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **options)


def check(path, compiler_call, extra=()):
    """Returns what is wrong, or None."""
    regexes = expected(path)
    if not regexes:
        return "the file has no `// expect-error:` line"
    run = compiled(compiler_call, *extra, path)
    if run.returncode == 0:
        return "the file compiles"
    missing = [r for r in regexes if not re.search(r, run.stdout)]
    if missing:
        return "no message matches\n  " + "\n  ".join(missing) + "\nThe compiler said:\n" + run.stdout
    return None


def errors(said):
    """Each error with the lines before it that say what asked for it (GCC) and the notes after it (Clang)."""
    found, before, current = [], [], None
    for line in said.splitlines():
        # Who included a header first is not who made it fail.
        if re.match(r"(In file included| +) from ", line):
            continue
        if ": note: " in line:
            if current is not None:
                current += [*before, line]
            before = []
        elif re.search(r": (fatal )?error: ", line):
            current = [*before, line]
            found.append(current)
            before = []
        elif ": warning: " in line:
            current, before = None, []
        else:
            before.append(line)
    return ["\n".join(lines) for lines in found]


def check_together(paths, compiler_call):
    """{path: what is wrong, or None}."""
    paths = [os.path.abspath(path) for path in paths]
    shared = [path for path in paths if not re.search(r"^// compiled alone: \S", read(path), re.M)]
    unit = "".join(f'#include "{path}"\n' for path in shared)
    found = errors(compiled(compiler_call, "-x", "c++", "-", input=unit).stdout)
    own = {path: [error for error in found if f"{path}:" in error] for path in shared}

    def wrong(path):
        regexes = expected(path)
        if regexes and all(any(re.search(r, error) for error in own.get(path, [])) for r in regexes):
            return None
        return check(path, compiler_call)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(paths, pool.map(wrong, paths)))


def main():
    own, compiler_call = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, compiler_call = own[:cut], own[cut + 1:]
    together = own[:1] == ["--together"]
    if not own[together:] or not compiler_call or (not together and own[1:2] not in ([], ["--extra"])):
        sys.exit(__doc__)
    outcome = check_together(own[1:], compiler_call) if together else {own[0]: check(own[0], compiler_call, own[2:])}
    wrong = [f"{path}: {fault}" for path, fault in outcome.items() if fault]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
