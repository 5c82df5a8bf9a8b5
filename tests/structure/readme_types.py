#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md names the weight types that run: on the CPU those of quant/types.hpp, on PM4 those of its uploads.

usage: readme_types.py [--self-test]

A span such as `Q2_K to Q6_K` stands for the types between the two in quant/types.hpp.
"""
import re
import sys

import source

OWN = source.INCLUDE / "zrt/quant/types.hpp"
ON_PM4 = source.INCLUDE / "zrt/device/upload/types.hpp"


def listed(text, pattern):
    """The types of the first list of a header, as README spells them."""
    first = re.search(pattern, text, re.S)[1]
    return [name.upper() for name in re.findall(r"DType::(\w+)", first)]


def named(cell, order):
    """The types that a cell of README names."""
    found = []
    for first, last in re.findall(r"\b([A-Z]+\d[A-Z0-9_]*)(?: to ([A-Z]+\d[A-Z0-9_]*))?", cell):
        found += order[order.index(first):order.index(last or first) + 1]
    return found


def faults(readme, own, on_pm4):
    row = re.search(r"^\| weight types \| every type of GGUF: ([^;|]*);[^|]*\| on AMD cards all but ([^|]*)\|", readme, re.M)
    if not row:
        return ["README.md has no row of weight types"]
    try:
        found = [("on the CPU", named(row[1], own), own), ("on PM4", named(row[2], own), on_pm4)]
    except ValueError as unknown:
        return [f"README.md: {unknown}"]
    return [f"README.md names {', '.join(says)} {where}, the library has {', '.join(has)}"
            for where, says, has in found if sorted(says) != sorted(has)]


def self_test():
    own, on_pm4 = ["F32", "Q4_0", "Q2_K", "Q3_K"], ["F32", "Q4_0"]
    row = "| weight types | every type of GGUF: {}; more | on AMD cards all but {} |\n"
    cases = [(row.format("F32, Q4_0 to Q3_K", "F32, Q4_0"), 0), (row.format("F32, Q4_0, Q2_K", "F32, Q4_0"), 1),
             (row.format("F32, Q4_0 to Q3_K", "F32"), 1), (row.format("F32, Q9_9", "F32"), 1), ("none\n", 1)]
    return [text for text, count in cases if len(faults(text, own, on_pm4)) != count]


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(source.report(self_test()))
    own_types = listed(OWN.read_text(encoding="utf-8"), r"using OwnTypes =(.*?);")
    uploads = listed(ON_PM4.read_text(encoding="utf-8"), r"mp_list<(\s*Upload<.*?)>;")
    sys.exit(source.report(faults((source.ROOT / "README.md").read_text(encoding="utf-8"), own_types, uploads)))
