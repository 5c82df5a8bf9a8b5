#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exactly one function replays a program: each backend with a policy header has one definition of
`replay_entries(...)`, the loop over recorded calls, its own or the one in exec/."""
import re
import sys

import source

DEFINITION = re.compile(r"\bvoid\s+(?:\w+::)*replay_entries\s*\([^;{}]*\)[^;{}()]*\{")


def definitions(folder):
    found = []
    for header in sorted(folder.rglob("*.hpp")) if folder.is_dir() else [folder]:
        if not header.is_file():
            continue
        code = source.without_comments(header.read_text(encoding="utf-8"), strings=False)
        for match in DEFINITION.finditer(code):
            line = code[:match.start()].count("\n") + 1
            found.append(f"{header.relative_to(source.ROOT).as_posix()}:{line}")
    return found


shared = definitions(source.INCLUDE / "zrt/exec")
problems = []
for policy in sorted((source.INCLUDE / "zrt/backend").glob("*.hpp")):
    own = definitions(policy) + definitions(policy.with_suffix(""))
    if len(shared) + len(own) != 1:
        problems.append(f"{policy.stem}: exactly one function must replay a program, found "
                        f"{', '.join(shared + own) or 'none'}")
sys.exit(source.report(problems))
