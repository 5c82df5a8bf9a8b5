#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md, tests/README.md and docs/*.md point at exists: linked files, headings behind anchors, named files.

usage: doc_links.py [--self-test]

A name in backticks that looks like a file with its folder (`dir/file.ext`) must be the end of the path of a file of the
repository. Three kinds of names are none: those with a placeholder (NAME), what lies in build/, and what the page has
the reader write, which it calls new once (new `dir/file.ext`).
"""
import os
import pathlib
import re
import sys
import tempfile

import source

sys.path.insert(0, str(source.ROOT / "docs" / "site"))
import page_filter  # noqa: E402

NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.[a-z]+)`")
WRITTEN = re.compile(r"\bnew " + NAMED.pattern)
NO_FILE = re.compile(r"build/|.*\b[A-Z]{3,}\.")


def anchors(path):
    return {anchor for _, _, anchor in page_filter.headings(path.read_text(encoding="utf-8"))}


def dead_link(path, link, root):
    if re.match(r"[a-z]+:", link):
        return None
    file, _, anchor = link.partition("#")
    target = (path.parent / file).resolve() if file else path
    if not target.exists():
        return f"{link}: there is no such file"
    if not target.is_relative_to(root.resolve()):
        return f"{link}: it leads out of the repository"
    if anchor and (target.suffix != ".md" or anchor not in anchors(target)):
        return f"{link}: {target.name} has no such heading"
    return None


def faults(path, files, root):
    """Each dead link and each unknown file of a page. `files` are the repository's, from its root."""
    text = path.read_text(encoding="utf-8")
    known = [*files, *WRITTEN.findall(text)]
    for number, (line, is_code) in enumerate(page_filter.lines(text), 1):
        place = f"{path.relative_to(root).as_posix()}:{number}"
        if is_code:
            continue
        for link in page_filter.LINK.findall(line):
            dead = dead_link(path, link, root)
            if dead:
                yield f"{place}: {dead}"
        for named in NAMED.findall(line):
            if not NO_FILE.match(named) and not any(("/" + file).endswith("/" + named) for file in known):
                yield f"{place}: `{named}`: there is no such file"


def repository_files():
    """All files but those of build folders and hidden ones, from the root."""
    found = []
    for folder, folders, files in os.walk(source.ROOT):
        folders[:] = [name for name in folders if not name.startswith((".", "build"))]
        found += [(pathlib.Path(folder) / name).relative_to(source.ROOT).as_posix() for name in files]
    return found


def pages():
    return [source.ROOT / "README.md", source.ROOT / "tests" / "README.md",
            *sorted((source.ROOT / "docs").glob("*.md"))]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "docs" / "other.md").write_text("# Other\n## The `zrt x`: a/b, C\n## Twice\n## Twice\n```\n# code\n```\n")

        def found(text):
            page = root / "docs" / "page.md"
            page.write_text(text + "\n## Here\n", encoding="utf-8")
            return list(faults(page, ["include/zrt/core/dim.hpp"], root))

        for good in ("[a](other.md)", "[a](other.md#the-zrt-x-ab-c)", "[a](other.md#twice-1)", "[a](#here)",
                     "[a](https://example.org/none)", "[a](../docs)", "`core/dim.hpp`", "`include/zrt/core/dim.hpp`",
                     "`core/NAME.hpp`", "`build/x/y.hpp`", "`and/or`", "```\n[a](none.md)\n```",
                     "new `core/one.hpp`\n`core/one.hpp`"):
            assert not found(good), good
        for bad in ("[a](none.md)", "[a](other.md#none)", "[a](other.md#code)", "[a](other.md#twice-2)", "[a](#there)",
                    "[a](../../tmp)", "`core/none.hpp`", "`re/dim.hpp`", "`core/one.hpp`"):
            assert len(found(bad)) == 1, bad
        assert found("text\n[a](none.md)")[0].startswith("docs/page.md:2: none.md")


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.exit(self_test())
    known = repository_files()
    sys.exit(source.report([fault for page in pages() for fault in faults(page, known, source.ROOT)]))
