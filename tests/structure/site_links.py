#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every link of the built site leads to a file of the site, and every anchor to an element of that file.

usage: site_links.py FOLDER | --self-test
"""
import html.parser
import pathlib
import sys
import tempfile
import urllib.parse

import source

# The navigation scripts of the generator hold copies of the pages' links; the pages are what is read.
ELSEWHERE = ("http:", "https:", "mailto:", "javascript:", "data:")


class Page(html.parser.HTMLParser):
    """What a page links to, with its lines, and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append((self.getpos()[0], value))


def dead_links(site):
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8", errors="replace"))
             for path in sorted(site.glob("*.html"))}
    if not any(page.links for page in pages.values()):
        yield f"{site} has no page with a link"
    for path, page in pages.items():
        for line, link in page.links:
            if link.startswith(ELSEWHERE):
                continue
            file, _, anchor = urllib.parse.unquote(link).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            if not target.exists():
                yield f"{path.name}:{line}: {link}: there is no such file"
            elif target in pages and anchor not in pages[target].anchors:
                yield f"{path.name}:{line}: {link}: {target.name} has no such anchor"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder)

        def found(link):
            (site / "a.html").write_text(f'<h1 id="top">A</h1><p><a href="{link}">to</a></p>', encoding="utf-8")
            (site / "b.html").write_text('<a name="named"></a><h2 id="a%20b">B</h2>', encoding="utf-8")
            return list(dead_links(site))

        for good in ("b.html", "b.html#named", "#top", "https://example.org/none", "b.html?x#named"):
            assert not found(good), good
        assert "no such file" in found("c.md#named")[0]
        assert "no such anchor" in found("b.html#other")[0]
        assert "no such anchor" in found("#named")[0]
        (site / "a.html").unlink()
        assert "no page" in list(dead_links(site))[0]


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(source.report(list(dead_links(pathlib.Path(sys.argv[1])))))
