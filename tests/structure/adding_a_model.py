#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The diff of docs/adding-a-model.md is what the tree holds: one new file, and lines of one list.

usage: adding_a_model.py [--self-test]

A new file stands as the diff says it, and in an edited one the lines of each hunk follow each other.
"""
import pathlib
import re
import sys
import tempfile

import source

PAGE = "docs/adding-a-model.md"
LIST = "include/zrt/models.hpp"


def files(diff):
    """(path, whether it is new, the lines that each hunk leaves) of each file of a diff."""
    for part in re.split(r"^--- ", diff, flags=re.M)[1:]:
        old, new, *rest = part.splitlines()
        hunks = []
        for line in rest:
            if line.startswith("@@"):
                hunks.append([])
            elif not line.startswith("-"):
                hunks[-1].append(line[1:])
        yield new.removeprefix("+++ b/"), old == "/dev/null", hunks


def faults(root):
    text = (root / PAGE).read_text(encoding="utf-8")
    found = [file for diff in re.findall(r"^```diff\n(.*?)^```$", text, re.M | re.S) for file in files(diff)]
    made = [path for path, is_new, _ in found if is_new]
    edited = [path for path, is_new, _ in found if not is_new]
    print(f"{PAGE}: {len(made)} new, {len(edited)} edited")
    if len(made) != 1 or edited != [LIST]:
        yield f"{PAGE}: the diff makes {made} and edits {edited}, expected one new file and {LIST}"
    for path, is_new, hunks in found:
        lines = (root / path).read_text(encoding="utf-8").splitlines() if (root / path).exists() else []
        for hunk in hunks:
            at = range(1 if is_new else max(len(lines) - len(hunk) + 1, 0))
            if not any(lines[i:None if is_new else i + len(hunk)] == hunk for i in at):
                yield f"{PAGE}: {path} does not hold the lines from {hunk[0]!r} on"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for part in ("docs", "include/zrt"):
            (root / part).mkdir(parents=True)
        (root / "include/zrt/new.hpp").write_text("a\nb\n", encoding="utf-8")
        (root / LIST).write_text("first,\nsecond,\nthird\n", encoding="utf-8")
        new = "--- /dev/null\n+++ b/include/zrt/new.hpp\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        edit = f"--- a/{LIST}\n+++ b/{LIST}\n@@ -1,2 +1,3 @@\n first,\n-other\n+second,\n third\n"

        def found(diff):
            (root / PAGE).write_text(f"```diff\n{diff}```\n", encoding="utf-8")
            return list(faults(root))

        assert found(new + edit) == []
        assert len(found(new)) == len(found(edit)) == len(found(new + new + edit)) == 1
        assert len(found(new.replace("+b", "+c") + edit)) == len(found(new.replace("+b\n", "") + edit)) == 1
        assert len(found(new + edit.replace(" third", " last"))) == 1
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv else source.report(list(faults(source.ROOT))))
