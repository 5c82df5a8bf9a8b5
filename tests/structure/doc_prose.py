#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A paragraph or an item of a list in README.md and docs/*.md has at most 100 words.

usage: doc_prose.py [--self-test]
"""
import pathlib
import re
import sys
import tempfile

import source

sys.path.insert(0, str(source.ROOT / "docs" / "site"))
import page_filter  # noqa: E402

MOST = 100
ITEM = re.compile(r"\s*([-*]|\d+\.) ")


def paragraphs(text):
    """(line, words) of each paragraph and each item of a list; tables, headings and code are none."""
    first, words = 0, 0
    for number, (line, is_code) in enumerate(page_filter.lines(text), 1):
        ends = is_code or not line.strip() or line.lstrip().startswith(("|", "#", "<!--"))
        if (ends or ITEM.match(line)) and words:
            yield first, words
            words = 0
        if not ends:
            first = first if words else number
            words += len(line.split())
    if words:
        yield first, words


def faults(path):
    for line, words in paragraphs(path.read_text(encoding="utf-8")):
        if words > MOST:
            yield f"{path.name}:{line}: a paragraph of {words} words; the most is {MOST}"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"

        def found(text):
            page.write_text(text, encoding="utf-8")
            return list(faults(page))

        sixty = "word " * 60
        assert not found(f"# {'word ' * 101}\n{sixty}\n\n{sixty}\n")
        assert not found(f"- {sixty}\n- {sixty}\n  * {sixty}\n1. {sixty}\n")
        assert not found(f"| {'word ' * 101} |\n```\n{'word ' * 101}\n```\n")
        assert found(f"a\n\n{sixty}\n{sixty}\n") == ["page.md:3: a paragraph of 120 words; the most is 100"]
        assert found(f"- {sixty}\n  {sixty}\n")


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.exit(self_test())
    sys.exit(source.report([fault for path in [source.ROOT / "README.md", *sorted((source.ROOT / "docs").glob("*.md"))]
                            for fault in faults(path)]))
