#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The steps of docs/adding-an-op.md, followed on a copy of the tree: so many files and no more, and what comes out builds.

usage: adding_an_op.py -- COMPILER-COMMAND

A step is a heading that ends in a file's name in backquotes; what follows is the whole of a new file in a ```cpp block
(```c++ where it does not compile without the other files), or lines of an edited one in a ```diff block: a `-` line is
replaced by the `+` line below it, an `#include` is sorted in.
The sources of tests/data/adding then compile against the copy, and those with a main run.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import source

PAGE = source.ROOT / "docs" / "adding-an-op.md"
# Section of the page: how many new files, edited files and printed pages it may take.
LIMITS = {"A primitive, step by step": (2, 1, 2),
          "A fused op with a CPU kernel, step by step": (4, 2, 1),
          "A second kernel, step by step": (1, 1, 0)}
PRINTED = re.compile(r"`\./dev docs` prints (.*)")


def sections(text):
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        title, body = part.split("\n", 1)
        if title in LIMITS:
            yield title, body


def steps(body):
    """(kind, path, block) of each step."""
    for match in re.finditer(r"^### .*?(new )?`([\w/.]+)`\n(.*?)^```(cpp|c\+\+|diff)\n(.*?)^```$", body, re.M | re.S):
        yield ("new" if match.group(1) else "edited"), match.group(2), match.group(5)


def insert_include(lines, include):
    includes = [i for i, line in enumerate(lines) if line.startswith("#include <zrt/")]
    after = [i for i in includes if lines[i] < include]
    lines.insert(after[-1] + 1 if after else includes[0], include)


def edit(text, diff, path):
    lines = text.split("\n")
    replaced = None
    for line in diff.splitlines():
        mark, rest = line[0], line[1:]
        if mark == "-":
            replaced = [i for i, known in enumerate(lines) if rest in known]
            if len(replaced) != 1:
                raise ValueError(f"{path} has {len(replaced)} lines with {rest!r}, expected one")
            replaced = replaced[0], rest
        elif replaced is not None:
            index, old = replaced
            lines[index] = lines[index].replace(old, rest)
            replaced = None
        else:
            insert_include(lines, rest)
    return "\n".join(lines)


def follow(body, tree):
    """Applies the steps of a section to `tree`; gives how many files were new and edited."""
    count = {"new": 0, "edited": 0}
    for kind, path, block in steps(body):
        target = tree / path
        if kind == "new":
            assert not target.exists(), f"{path} exists"
            target.write_text(block, encoding="utf-8")
        else:
            target.write_text(edit(target.read_text(encoding="utf-8"), block, path), encoding="utf-8")
        count[kind] += 1
    return count["new"], count["edited"]


def build(command, tree, folder):
    """Compiles each source of tests/data/adding against the copy, and runs it. A command that is only to compile has no
    -fsyntax-only here."""
    problems = []
    for path in sorted((tree / "tests" / "data" / "adding").glob("*.cpp")):
        made = folder / path.stem
        done = subprocess.run([*command, "-O0", f"-I{tree / 'include'}", f"-I{tree / 'tests'}", str(path), "-o", str(made), "-lgtest"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            first = [line for line in done.stderr.splitlines() if "error" in line][:4]
            problems.append(f"{path.name} does not compile:\n  " + "\n  ".join(first))
            continue
        done = subprocess.run([str(made)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            problems.append(f"{path.name} exits with {done.returncode}: {done.stdout}{done.stderr}")
    return problems


def main():
    command = sys.argv[sys.argv.index("--") + 1:]
    # The copy's headers are read, not those that the build is of.
    command = [word for word in command if not word.startswith(f"-I{source.ROOT}")]
    text = PAGE.read_text(encoding="utf-8")
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tree = folder / "tree"
        for part in ("include", "tests/property", "tests/support", "tests/data/adding"):
            shutil.copytree(source.ROOT / part, tree / part)
        found = set()
        for title, body in sections(text):
            found.add(title)
            new, edited = follow(body, tree)
            printed = PRINTED.search(body)
            pages = len(re.findall(r"`docs/[\w-]+\.md`", printed.group(1))) if printed else 0
            most = LIMITS[title]
            print(f"{title}: {new} new, {edited} edited, {pages} printed")
            if new == 0 or new > most[0] or edited > most[1] or pages > most[2]:
                problems.append(f"{title}: {new} new, {edited} edited and {pages} printed files, at most {most} expected")
        problems += [f"{PAGE.name} has no section {title}" for title in LIMITS if title not in found]
        problems += build(command, tree, folder)
    return source.report(problems)


if __name__ == "__main__":
    sys.exit(main())
