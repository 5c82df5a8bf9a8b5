#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pages for hosts add takes headers of the host's own, and not a line of the library.

usage: adding_by_hosts.py [--self-test]

Each page links the headers that it walks through; docs_code.py holds its blocks to them, and the build compiles them.
The library must know nothing that they define.
"""
import pathlib
import re
import sys
import tempfile

import source

# Page: how many headers it may take, and what they call their own.
PAGES = {"docs/adding-a-family.md": (2, ("Olmo", "MiniCpm", "HouseWords")),
         "docs/adding-a-weight-type.md": (1, ("Layout<DType::q8_1>",)),
         "docs/adding-a-backend.md": (2, ("toy::", "toy_gpu::"))}
HEADER = re.compile(r"\]\(\.\./((?:examples|tests/support)/[\w/]+\.hpp)\)")


def knows(library, names):
    """The files of the library that mention one of `names`."""
    for path in sorted(library.rglob("*.hpp")):
        text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        if any(re.search(rf"\b{re.escape(name)}" + (r"\b" if name[-1].isalnum() else ""), text) for name in names):
            yield path.relative_to(library).as_posix()


def faults(page, most, names, root):
    text = (root / page).read_text(encoding="utf-8")
    headers = sorted(set(HEADER.findall(text)))
    edited = list(knows(root / "include", names))
    print(f"{page}: {len(headers)} new, {len(edited)} edited")
    if not 0 < len(headers) <= most:
        yield f"{page}: {len(headers)} new headers, expected 1 to {most}"
    written = "".join((root / header).read_text(encoding="utf-8") for header in headers).replace("zrt::", "")
    for name in names:
        if name not in written:
            yield f"{page}: no header of it has {name}"
    for path in edited:
        yield f"{page}: include/{path} knows what the host defines"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for part in ("docs", "include", "examples"):
            (root / part).mkdir()
        (root / "docs/p.md").write_text("[it](../examples/own.hpp)", encoding="utf-8")
        (root / "examples/own.hpp").write_text("struct Own {\n};\n", encoding="utf-8")
        (root / "include/a.hpp").write_text("// Own\nstruct Other {};\n", encoding="utf-8")
        assert list(faults("docs/p.md", 1, ["Own"], root)) == []
        (root / "include/a.hpp").write_text("using List = mp_list<Own>;\n", encoding="utf-8")
        assert list(faults("docs/p.md", 1, ["Own"], root)) == ["docs/p.md: include/a.hpp knows what the host defines"]
    return 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    return source.report([fault for page, (most, names) in PAGES.items() for fault in faults(page, most, names, source.ROOT)])


if __name__ == "__main__":
    sys.exit(main())
