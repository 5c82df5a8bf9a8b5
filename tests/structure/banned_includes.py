#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Headers that are slow to compile, that allocate behind the allocator hook, or that a supported
compiler lacks stay out of include/zrt. zrt/zrt.hpp reaches no header of text/: tokenizers cost half a second."""
import re
import sys

import source

EVERYWHERE = {"iostream", "ranges", "regex", "functional", "format", "print", "mdspan", "stdfloat",
              "locale", "filesystem"}
# A header that wraps a third-party library says "optional header" in its first ten lines.
UNLESS_OPTIONAL = {"vector", "string", "map", "unordered_map", "set", "deque", "list", "sstream",
                   "fstream", "ostream", "istream", "any"}
INTRINSICS = re.compile(r"^(.*intrin\.h|arm_neon\.h|arm_sve\.h)$")


def fault(name, text, included):
    if included in EVERYWHERE:
        return "is banned"
    if included in UNLESS_OPTIONAL:
        if not re.search(r"optional header", "\n".join(text.splitlines()[:10]), re.I):
            return "allocates behind the allocator hook (only an optional header may include it)"
    if included.startswith("boost/hana") and name != "zrt/ops/hana.hpp":
        return "belongs in zrt/ops/hana.hpp alone"
    if included.startswith("boost/") and not included.startswith(("boost/mp11", "boost/hana")):
        return "is neither Mp11 nor Hana"
    if included in ("thread", "future") and "thread_pool" not in name:
        return "belongs in the default thread pool (thread_pool.hpp) alone"
    if included == "span" and name != "zrt/core/span.hpp":
        return "belongs in zrt/core/span.hpp alone, whose Span asks no iterator concepts"
    if INTRINSICS.match(included) and not name.startswith("zrt/backend/cpu/"):
        return "belongs below zrt/backend/cpu/ alone"
    return None


def reached(name, seen):
    """`name` and the headers of zrt that it includes, by way of others too."""
    if name not in seen:
        seen.add(name)
        for _, included, _ in source.includes((source.INCLUDE / name).read_text(encoding="utf-8")):
            if included.startswith("zrt/"):
                reached(included, seen)
    return seen


problems = [f"zrt/zrt.hpp reaches <{name}>: a declaration does" for name in sorted(reached("zrt/zrt.hpp", set()))
            if name.startswith("zrt/text/")]
for header in source.headers():
    name = header.relative_to(source.INCLUDE).as_posix()
    text = header.read_text(encoding="utf-8")
    for line, included, _ in source.includes(text):
        why = fault(name, text, included)
        if why:
            problems.append(f"{name}:{line}: <{included}> {why}")
sys.exit(source.report(problems))
