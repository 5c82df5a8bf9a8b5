#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header and every test that docs/contract.md names exists: files, and single tests where they stand in
brackets behind their file."""
import re
import sys

import source

TESTS = source.ROOT / "tests"


def faults(page):
    for header in re.findall(r"`([a-z_]+/[\w/]+\.hpp)`", page):
        if not (source.INCLUDE / "zrt" / header).is_file():
            yield f"there is no header {header}"
    for cell in (cell for line in page.splitlines() if line.startswith("|") for cell in line.split("|")):
        folder = ""
        for match in re.finditer(r"(?<![\w/`])((?:[a-z_]+/)?[\w*]+\.(?:cpp|py))(?:\s*\(([^)]*)\))?", cell):
            name, single = match.groups()
            # A list names its folder once.
            folder = name.rpartition("/")[0] or folder
            files = sorted((TESTS / folder).glob(name.rpartition("/")[2]))
            if not files:
                yield f"there is no test {folder}/{name.rpartition('/')[2]}"
            for test in re.findall(r"`(\w+)`", single or ""):
                if not any(re.search(rf"\b\w*TEST\w*\([^)]*\b{test}\)",
                                     file.read_text(encoding="utf-8")) for file in files):
                    yield f"{name} has no test {test}"


sys.exit(source.report(list(faults((source.ROOT / "docs" / "contract.md").read_text(encoding="utf-8")))))
