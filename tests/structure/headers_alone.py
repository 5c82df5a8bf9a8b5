#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone and without a warning: headers_alone.py [--self-test] -- CLANG FLAGS...

Each header becomes a module of its own, and all are compiled in one run. A module sees what its own includes bring and nothing else, whatever was compiled before it: what a file sees whose only include is this header. Parsing each header once makes the check ten times as fast as one compilation per header.

Textual fragments (`*.inc.hpp`, meant for several inclusion) and headers without a guard are left out; line 2 of a fragment must call it so.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import source

compiler_call = sys.argv[sys.argv.index("--") + 1:]


def path_of(header):
    """Where the compiler finds `header`."""
    rule = subprocess.run([*compiler_call, "-M", "-x", "c++", "-"], input=f"#include <{header}>\n", text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    return next(path for path in rule.split() if path.endswith(f"/{header}"))


def compile_modules(root, names, texts=(), foreign=()):
    """What Clang says while it compiles the headers `names` below `root` as modules; empty if it accepts them.

    `texts` are headers that can be no modules; each is compiled alone, with the others imported. `foreign` are headers
    of other libraries which become modules too: one read anew into each header that includes it takes seconds."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        modules = "".join(f'  module {re.sub(r"[^a-z0-9]", "_", name)} {{ header "{path}" export * }}\n'
                          for name, path in [*((name, path_of(name)) for name in foreign),
                                             *((name, root / name) for name in names)])
        (folder / "module.modulemap").write_text(f"module headers {{\n{modules}}}\n", encoding="utf-8")

        def include(name):
            run = subprocess.run(
                [*compiler_call, f"-I{root}", "-fmodules", f"-fmodule-map-file={folder / 'module.modulemap'}",
                 f"-fmodules-cache-path={folder / 'cache'}", "-Xclang", "-fmodules-local-submodule-visibility",
                 # The compiler's own headers warn when they become modules, and a module forgets what the
                 # language's version says of these two.
                 "-Wno-#warnings", "-Wno-invalid-constexpr", "-Wno-c++17-extensions",
                 "-fsyntax-only", "-x", "c++", "-"],
                input=f"#include <{name}>\n", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                errors="replace", check=False)
            return run.stdout or (f"exit code {run.returncode}" if run.returncode else "")

        said = include(names[0])
        if not said and texts:
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                said = "".join(pool.map(include, texts))
        return said


def no_modules():
    """The headers that include themselves once per variant, and those that include such a header."""
    texts = {h.relative_to(source.INCLUDE).as_posix(): h.read_text(encoding="utf-8") for h in source.headers()}
    includes = {name: {file for _, file, _ in source.includes(text)} for name, text in texts.items()}
    found = {name for name, text in texts.items() if source.brings_kernels(text)}
    while more := {name for name in texts if name not in found and includes[name] & found}:
        found |= more
    return found


def self_test():
    good = {"zrt/first.hpp": "#pragma once\n#include <cstdint>\nstruct First { std::uint32_t x; };\n",
            "zrt/second.hpp": "#pragma once\n#include <zrt/first.hpp>\ninline First second() { return {}; }\n"}
    bad = {"a header of zrt is missing": ("zrt/second.hpp", "#pragma once\ninline First second() { return {}; }\n"),
           "a standard header is missing": ("zrt/first.hpp", "#pragma once\nstruct First { std::uint32_t x; };\n"),
           "a warning": ("zrt/first.hpp", good["zrt/first.hpp"] + "inline int narrow(long x) { return x; }\n")}
    for what, change in {"nothing is wrong": None, **bad}.items():
        with tempfile.TemporaryDirectory() as root:
            files = good | ({change[0]: change[1]} if change else {})
            for name, text in files.items():
                path = pathlib.Path(root) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
            said = compile_modules(pathlib.Path(root), list(files))
            if bool(said) != bool(change) or (change and change[0] not in said):
                return [f"where {what}, the check says: {said}"]
    return []


def all_headers():
    problems, alone, texts = [], [], []
    textual = no_modules()
    for header in source.headers():
        name = header.relative_to(source.INCLUDE).as_posix()
        text = header.read_text(encoding="utf-8")
        if source.repeats(text):
            continue
        if name in textual:
            texts.append(name)
            continue
        if source.is_fragment(header):
            lines = text.splitlines()
            if len(lines) < 2 or not lines[1].startswith("//") or "textual fragment" not in lines[1]:
                problems.append(f"{name}: line 2 must say that the file is a textual fragment")
        else:
            alone.append(name)
    if not alone:
        return [*problems, "there is no header"]
    said = compile_modules(source.INCLUDE, alone, texts, ["nlohmann/json.hpp"])
    print(f"{len(alone) + len(texts)} headers")
    return [*problems, said] if said else problems


sys.exit(source.report(self_test() if "--self-test" in sys.argv else all_headers()))
