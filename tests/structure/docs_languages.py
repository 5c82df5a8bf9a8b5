# SPDX-License-Identifier: Apache-2.0
"""How docs_code.py checks the blocks that are no C++: one function per language, which says what is wrong or None."""
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

import source

MAIN = source.ROOT / "examples" / "zrt" / "main.cpp"


def outcome(command, suffix, text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / ("block" + suffix)
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else None


def c_fault(code):
    """Compiled as C99 by $CC or cc; a frame stands around a fragment already."""
    return outcome([os.environ.get("CC", "cc"), "-std=c99", "-fsyntax-only", "-pedantic-errors", "-Wall", "-Werror"],
                   ".c", code)


def cmake_fault(code):
    """Parsed by CMake, and every target zrt::NAME is one of the build's."""
    build = (source.ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    for target in re.findall(r"\bzrt::(\w+)", code):
        if not re.search(rf"add_library\(zrt(_|::){target}\b", build):
            return f"there is no target zrt::{target}"
    return outcome(["cmake", "-P"], ".cmake", f"if(FALSE)\n{code}endif()\n")


def json_fault(code):
    try:
        json.loads(code)
    except ValueError as error:
        return str(error)
    return None


def python_fault(code):
    try:
        compile(code, "block", "exec")
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    return None


@functools.cache
def functions():
    """{name: body} of the functions of the program's main file."""
    text = source.without_comments(MAIN.read_text(encoding="utf-8"))
    return dict(re.findall(r"^[\w:<>*& ]+?(\w+)\([^;{}]*\) \{\n(.*?)^\}", text, re.M | re.S))


@functools.cache
def options_of(function):
    """The options that a function of the main file adds, by itself or by another one of that file."""
    body = functions()[function]
    found = {name for names in re.findall(r'\b(?:add_\w+|count)\((?:app, )?\s*"(-[^"]*)"', body)
             for name in names.split(",")}
    for called in set(re.findall(r"\b(\w+)\(", body)) & functions().keys() - {function}:
        found |= options_of(called)
    return found


@functools.cache
def commands():
    """{"pm4 pack": its options, ...} of the program zrt, as its main file adds them."""
    body = functions()["run"]
    groups = dict(re.findall(r'const auto (\w+) = app\.add_subcommand\("(\w+)"', body))
    known = {name: frozenset() for name in groups.values()}
    for parent, name, function in re.findall(r'\badd\(\*?(\w+), "([\w-]+)", "[^"]*",\s*&(\w+)', body):
        known[f"{groups[parent]} {name}" if parent in groups else name] = frozenset(options_of(function))
    return known


@functools.cache
def dev_commands():
    return set(re.findall(r"^  ([\w-]+)\) ", (source.ROOT / "dev").read_text(encoding="utf-8"), re.M))


def zrt_fault(words):
    known = commands()
    if not words or words[0].isupper() or words[0] in ("--version", "--help"):
        return None
    name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
    if name not in known:
        return f"zrt has no command {name}"
    # A group of commands takes a command of it.
    if any(other.startswith(name + " ") for other in known) and len(words) > 1 and not words[1].startswith("-"):
        return f"zrt {name} has no command {words[1]}"
    for word in words:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-zA-Z][\w-]*", option) and option not in known[name] | {"--help", "-h"}:
            return f"zrt {name} has no option {option}"
    return None


def command_fault(line):
    """Of a line of shell: every `./dev X` and `zrt COMMAND --option` in it exists."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    calls = [[]]
    try:
        for word in lexer:
            if set(word) <= set("|&;<>()"):
                calls.append([])
            else:
                calls[-1].append(word)
    except ValueError as error:
        return f"{line}: {error}"
    for name, *words in filter(None, calls):
        fault = zrt_fault(words) if name == "zrt" else None
        if name == "./dev" and words and words[0] not in dev_commands():
            fault = f"./dev has no command {words[0]}"
        if fault:
            return fault
    return None


def shell_fault(code):
    return next(filter(None, map(command_fault, code.splitlines())), None)


def transcript_fault(code):
    """Of what a terminal shows, the lines behind a `$ ` are commands."""
    return shell_fault("\n".join(line[2:] for line in code.splitlines() if line.startswith("$ ")))
