# SPDX-License-Identifier: Apache-2.0
"""What the structure tests share: walking the headers and reading C++ without its comments."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"

# Raw strings first, then ordinary literals, then comments: whichever starts first wins.
_TOKEN = re.compile(
    r'R"(?P<d>[^()\s\\]{0,16})\((?:.|\n)*?\)(?P=d)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'"
    r"|//[^\n]*|/\*(?:.|\n)*?\*/")


def without_comments(text, strings=True):
    """The text with comments blanked, line numbers kept; literals blanked too if not `strings`."""
    def blank(match):
        token = match.group(0)
        if token.startswith(("//", "/*")) or not strings:
            keep = "" if token.startswith("/") else token[0]
            return keep + re.sub(r"[^\n]", " ", token[len(keep):])
        return token
    return _TOKEN.sub(blank, text)


def headers(include=INCLUDE):
    return sorted(p for p in (include / "zrt").rglob("*") if p.suffix in (".hpp", ".h", ".inc"))


def is_fragment(path):
    """A textual fragment is included several times and does not stand alone."""
    return path.name.endswith(".inc.hpp") or path.suffix == ".inc"


def repeats(text):
    """A header that is included once per use, with macros that its includer defines, says so at its head."""
    return any("No include guard" in line for line in text.splitlines()[:6])


def guard_of(name):
    """The macro that a header which includes itself once per variant (simd/foreach_variant.hpp) has in place of #pragma once."""
    return re.sub(r"\W", "_", name.removesuffix(".hpp").upper())


def brings_kernels(text):
    """A header of kernels includes itself once per variant, so that #pragma once is not for it."""
    return re.search(r"^#elif defined\(ZRT_VARIANT\)$", text, re.M) is not None


def includes(text):
    """(line number, file, whether in angle brackets) of every #include."""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', line)
        if match:
            yield number, match.group(1) or match.group(2), match.group(1) is not None


def report(problems):
    """Prints the problems and gives the exit status."""
    for problem in problems:
        print(problem)
    return 1 if problems else 0
