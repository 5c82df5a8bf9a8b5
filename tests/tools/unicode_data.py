#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of Unicode that the package @unicode/unicode-15.1.0 of npm holds, for unicode_tables.py and
unicode_folds.py.

Python's own unicodedata is as old as the interpreter; llama.cpp's tables, by which texts are cut, are those of 15.1.
"""
import json
import pathlib
import subprocess

VERSION = "15.1.0"


class UnicodeData:
    """`folder` is where `npm install @unicode/unicode-15.1.0` has put the package; node reads it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        described = json.loads((self.folder / "package.json").read_text(encoding="utf-8"))
        assert described["name"] == "@unicode/unicode-" + VERSION, described["name"]

    def code_points(self, *names):
        """The code points of "General_Category/Letter" and the like."""
        modules = [(self.folder / name / "code-points.mjs").as_uri() for name in names]
        script = (f"Promise.all({json.dumps(modules)}.map((m) => import(m)))"
                  ".then((all) => console.log(JSON.stringify(all.flatMap((m) => m.default))))")
        return set(json.loads(subprocess.run(["node", "-e", script], capture_output=True, check=True).stdout))
