#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of compile times in docs/performance.md has the units and the budgets of bench/compile/measure.py, and a row
above its budget says that it misses it.

usage: compile_rows.py [--self-test]
"""
import re
import sys

import source

sys.path.insert(0, str(source.ROOT / "bench" / "compile"))
import measure  # noqa: E402


def figures(cell):
    """(least seconds, MB) of a cell: `1.5-1.7 s, 126 MB`; either may be None."""
    seconds, megabytes = re.search(r"([\d.]+)(?:-[\d.]+)? s", cell), re.search(r"([\d,]+) MB", cell)
    return (float(seconds.group(1)) if seconds else None,
            float(megabytes.group(1).replace(",", "")) if megabytes else None)


def rows(page):
    """The cells of each row of the table."""
    table = page.split("\n## Compile time\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
            if line.startswith("|")][2:]


def faults(page, units):
    found = rows(page)
    if len(found) != len(units):
        yield f"{len(found)} rows, but {len(units)} units"
    for cells, (name, _, flags, *budget) in zip(found, units):
        if figures(cells[5]) != tuple(budget) or cells[1] != flags[0]:
            yield f"{cells[0]}: flags and budget {cells[1]}, {cells[5]}, but those of {name} are {flags[0]}, {budget}"
        above = any(value > most for cell in cells[2:4] for value, most in zip(figures(cell), budget)
                    if value is not None and most is not None)
        if above != ("missed" in cells[5]):
            yield f"{cells[0]}: {cells[2]}, {cells[3]} of {cells[5]}"


def self_test():
    units = [("a", "A", ["-O0"], 2, 400), ("b", "B", ["-O2"], 12, None)]

    def found(first, second="| B | -O2 | 11.0-15.4 s, 495 MB | 8.9 s | | 12 s |"):
        page = f"\n## Compile time\n\n| unit |\n|---|\n{first}\n{second}\n\n## Next\n"
        return list(faults(page, units))

    assert not found("| A | -O0 | 1.5-2.1 s, 126 MB | 1.7 s, 400 MB | | 2 s, 400 MB |")
    assert found("| A | -O0 | 2.1 s, 126 MB | 1.7 s, 400 MB | | 2 s, 400 MB |"), "seconds above"
    assert found("| A | -O0 | 1.1 s, 126 MB | 1.7 s, 401 MB | | 2 s, 400 MB |"), "memory above"
    assert not found("| A | -O0 | 2.1 s, 126 MB | 1.7 s, 40 MB | | 2 s, 400 MB, missed |")
    assert found("| A | -O0 | 1.1 s, 126 MB | 1.7 s, 40 MB | | 2 s, 400 MB, missed |"), "missed, and within"
    assert found("| A | -O0 | 1.1 s, 126 MB | 1.7 s, 40 MB | | 3 s, 400 MB |"), "another budget"
    assert found("| A | -O2 | 1.1 s, 126 MB | 1.7 s, 40 MB | | 2 s, 400 MB |"), "other flags"
    assert found("", "| A | -O0 | 1.1 s, 126 MB | 1.7 s, 40 MB | | 2 s, 400 MB |"), "a row less"


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.exit(self_test())
    PAGE = (source.ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    sys.exit(source.report(list(faults(PAGE, measure.UNITS))))
