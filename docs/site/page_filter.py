#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a page as Doxygen reads it: with names for its headings, and links to pages and headings by those names.

usage: page_filter.py PAGE.md
"""
import pathlib
import re
import sys

FENCE = re.compile(r" {0,3}(```|~~~)")
HEADING = re.compile(r"(#{1,6}) +(.+?)(?: +#+)?$")
LINK = re.compile(r"\]\(([^()\s]*)\)")


def slug(heading, taken):
    """The anchor that GitHub gives a heading, different from those in `taken`, to which it is added."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
    number = sum(1 for other in taken if re.fullmatch(re.escape(anchor) + r"(-\d+)?", other))
    taken.append(f"{anchor}-{number}" if number else anchor)
    return taken[-1]


def lines(text):
    """(line, is it code) of each line of a page."""
    fence = None
    for line in text.splitlines():
        mark = FENCE.match(line)
        yield line, fence is not None or mark is not None
        if mark and fence in (None, mark.group(1)):
            fence = None if fence else mark.group(1)


def headings(text):
    """(line without its anchor's name, level, anchor) of each heading."""
    taken = []
    for line, is_code in lines(text):
        match = None if is_code else HEADING.fullmatch(line)
        if match:
            yield line, len(match.group(1)), slug(match.group(2), taken)


def label(page, anchor):
    """The name of a heading, unique in the site."""
    return re.sub(r"[^a-z0-9_-]", "_", f"{page}--{anchor}".lower())


def filtered(path):
    text = path.read_text(encoding="utf-8")
    anchors = iter([anchor for _, _, anchor in headings(text)])

    def link(match):
        # All pages of the site lie in one folder, and so do copies of the folders that they link to.
        target = match.group(1).removeprefix("../")
        target = "tests/" if target == "tests/README.md" else target
        page, hash_, anchor = target.partition("#")
        if hash_ and (not page or page.endswith(".md")):
            target = "#" + label(pathlib.PurePath(page).stem or path.stem, anchor)
        return f"]({target})"

    for number, (line, is_code) in enumerate(lines(text)):
        if number == 0 and line.startswith("<!--"):
            line = ""  # a comment before the title would become the title
        if not is_code:
            line = LINK.sub(link, line)
            match = HEADING.fullmatch(line)
            if match:
                anchor = next(anchors)
                # The first heading is the page's title, which has the page's name.
                line += f" {{#{label(path.stem, anchor)}}}" if len(match.group(1)) > 1 else ""
        yield line


if __name__ == "__main__":
    print("\n".join(filtered(pathlib.Path(sys.argv[1]))))
