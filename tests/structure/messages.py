#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every `zrt: ` message of a static_assert or #error has a test that expects it.

The test is a file with an `// expect-error: <regex>` line that holds `zrt: ` and matches the
message: in compile_fail/, or package/ for #error.
"""
import re
import sys

import source

LITERALS = re.compile(r'"zrt: (?:\\.|[^"\\\n])*"(?:\s*(?:#\w+|[A-Z][A-Z0-9_]+|"(?:\\.|[^"\\\n])*"))*')


def messages(text):
    """(line, message) of every static_assert or #error whose message starts with `zrt: `. What a
    macro puts into a message reads as NAME."""
    code = re.sub(r"\\\n", "  ", source.without_comments(text))
    for match in re.finditer(r"\bstatic_assert\s*\(", code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            if code[end] == '"':
                end = re.compile(r'"(?:\\.|[^"\\\n])*"').match(code, end).end()
                continue
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        found = LITERALS.search(code, match.end(), end)
        if found:
            parts = re.findall(r'"((?:\\.|[^"\\\n])*)"|(#\w+|[A-Z][A-Z0-9_]+)', found.group(0))
            yield match.start(), "".join(a if not b else "NAME" for a, b in parts).replace('\\"', '"')
    for match in re.finditer(r'^\s*#\s*error\s+"?(zrt: [^"\n]*)', code, re.M):
        yield match.start(), match.group(1).strip()


def main():
    regexes = []
    for folder in ("compile_fail", "package"):
        for test in sorted((source.ROOT / "tests" / folder).glob("*.cpp")):
            for regex in re.findall(r"^// expect-error: (.+?)\s*$", test.read_text(), re.M):
                if "zrt: " in regex:
                    regexes.append(regex)
    problems = []
    for header in source.headers():
        text = header.read_text(encoding="utf-8")
        for start, message in messages(text):
            if not any(re.search(regex, message) for regex in regexes):
                name = header.relative_to(source.ROOT).as_posix()
                line = text[:start].count("\n") + 1
                problems.append(f"{name}:{line}: no compile-fail test expects: {message}")
    return source.report(problems)


if __name__ == "__main__":
    sys.exit(main())
