#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every block of code in README.md and docs/*.md compiles, and every command in them exists.

usage: docs_code.py [--self-test] -- COMPILER-COMMAND

CHECKS says what each language of a block is held to; a language that it does not name is a fault. A ```cpp block is one
of three things:
  part of a program  its lines stand as they are, but for indentation, in a source of examples/, tests/support/ or
                     tests/unit/, which the build compiles. A block that begins with `// examples/FILE: ` stands in it
  a fragment         the line before the block is `<!-- needs: NAME -->`; tests/data/docs/NAME.hpp says what stands around
                     it: headers, then, after the line `// around each block:`, a frame with NAME and BLOCK in it
  a program          anything else: it compiles alone; `<!-- needs: the block before -->` makes two blocks one program

Fragments compile together, each in a namespace of its own. A fragment of C has tests/data/docs/NAME.h and
compiles alone. In the text, what stands in backticks and begins with zrt or ./dev is a command, too.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import docs_languages
import source

sys.path.insert(0, str(source.ROOT / "docs" / "site"))
import page_filter  # noqa: E402

FRAMES = source.ROOT / "tests" / "data" / "docs"
PROGRAMS = ("examples", "tests/support", "tests/unit")
BEFORE = "the block before"
SPLIT = "// around each block:\n"
# Language of a block: its check. The blocks of these pages without a check are followed by a test of their own.
CHECKS = {
    "": docs_languages.transcript_fault,
    "c": docs_languages.c_fault,
    "cmake": docs_languages.cmake_fault,
    "json": docs_languages.json_fault,
    "python": docs_languages.python_fault,
    "sh": docs_languages.shell_fault,
}
# By adding_an_op.py and adding_a_model.py.
FOLLOWED = {("adding-an-op.md", "c++"), ("adding-an-op.md", "diff"), ("adding-a-model.md", "diff")}


def blocks(page):
    """(line of the first line of code, language, frame or None, code) of each block of a page."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(\S*)\n(.*?)^```$", text, re.M | re.S):
        before = text[:match.start()].splitlines()
        needs = re.fullmatch(r"<!-- needs: ([\w ]+) -->", before[-1]) if before else None
        yield len(before) + 2, match.group(1), needs and needs.group(1), match.group(2)


def flat(text):
    """Lines without the indentation of their place and without blank lines at the ends."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def programs():
    return [flat(path.read_text(encoding="utf-8")) for folder in PROGRAMS
            for path in sorted((source.ROOT / folder).rglob("*")) if path.suffix in (".cpp", ".hpp")]


def is_part(code, sources):
    wanted = "\n" + flat(code) + "\n"
    return any(wanted in "\n" + text + "\n" for text in sources)


def units(pages, sources):
    """{name: source text}: one unit for all fragments, one for each whole program. Problems are raised as text."""
    framed, alone, problems = {}, {}, []
    fragments = 0
    for page in pages:
        name = page.relative_to(source.ROOT).as_posix() if page.is_relative_to(source.ROOT) else page.name
        for line, language, frame, code in blocks(page):
            if language != "cpp":
                continue
            place = f'#line {line} "{name}"\n'
            if frame is None:
                named = re.match(r"// (examples/[\w/]+\.[ch]pp): ", code)
                if named and not is_part(code, [flat((source.ROOT / named.group(1)).read_text(encoding="utf-8"))]):
                    problems.append(f"{name}:{line}: {named.group(1)} has other lines")
                elif not is_part(code, sources):
                    alone[f"{name}:{line}"] = place + code
                continue
            if frame == BEFORE and alone:
                alone[next(reversed(alone))] += place + code
                continue
            path = FRAMES / (frame + ".hpp")
            if not path.exists():
                problems.append(f"{name}:{line}: there is no {path.relative_to(source.ROOT)}")
                continue
            head, around = path.read_text(encoding="utf-8").split(SPLIT)
            unit = framed.setdefault(frame, head.replace("#pragma once\n", ""))
            block = around.replace("NAME", f"block_{fragments}")
            fragments += 1
            framed[frame] = unit + block.replace("BLOCK\n", place + code)
    # What the frames include takes longer than the fragments.
    together = {"A fragment": "\n".join(framed.values())} if framed else {}
    return {**together, **alone}, problems


def compiles(command, name, text, folder):
    path = folder / (re.sub(r"\W", "_", name) + ".cpp")
    path.write_text(text, encoding="utf-8")
    # Names that a page shows and does not use are no fault of it.
    done = subprocess.run([*command, "-fsyntax-only", "-w", f"-I{source.ROOT / 'tests'}", f"-I{source.ROOT / 'examples'}",
                           f"-I{source.ROOT / 'examples' / 'engines'}", str(path)],
                          capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def framed_c(frame, code):
    head, around = (FRAMES / (frame + ".h")).read_text(encoding="utf-8").split(SPLIT)
    return head + around.replace("BLOCK\n", code)


def other_faults(page):
    """Of the blocks that are no C++, and of the commands in the text."""
    for line, language, frame, code in blocks(page):
        if language == "cpp" or (page.name, language) in FOLLOWED:
            continue
        check = CHECKS.get(language)
        fault = check(framed_c(frame, code) if frame else code) if check else f"nothing checks blocks of {language}"
        if fault:
            yield f"{page.name}:{line}: {fault}"
    for number, (line, is_code) in enumerate(page_filter.lines(page.read_text(encoding="utf-8")), 1):
        for command in [] if is_code else re.findall(r"`((?:zrt|\./dev) [^`]+)`", line):
            fault = docs_languages.command_fault(command)
            if fault:
                yield f"{page.name}:{number}: {fault}"


def check(command, pages, sources):
    made, problems = units(pages, sources)
    problems += [fault for page in pages for fault in other_faults(page)]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in made.items():
            good, errors = compiles(command, name, text, pathlib.Path(folder))
            if not good:
                first = [line for line in errors.splitlines() if "error" in line][:3]
                problems.append(f"{name} does not compile, and stands in no program of {', '.join(PROGRAMS)}:\n  "
                                + "\n  ".join(first))
    return problems


def other_languages(found):
    for good in ("```sh\nls | zrt trace -m F --out=t.json  # --none\n```", "```\n$ zrt pm4 pack k --kernel a\nzrt none\n```",
                 "```sh\n./dev docs --site\n```", "`zrt COMMAND --none` and `zrt --version`", "```json\n{\"a\": [1]}\n```",
                 "```python\nx = 1\n```", "```cmake\nfind_package(zrt CONFIG)\ntarget_link_libraries(a PRIVATE zrt::cpu)\n```",
                 "<!-- needs: opencl -->\n```c\nuint scale = 1;\n```"):
        assert not found(good + "\n"), good
    for bad in ("```sh\nls | zrt trase\n```", "```sh\nzrt trace --kernel a\n```", "```\n$ zrt pm4 none\n```",
                "```sh\n./dev none\n```", "`zrt plan --layers`", "`./dev none`", "```json\n{'a': 1}\n```",
                "```python\nx = = 1\n```", "```cmake\nfind_package(zrt\n```",
                "```cmake\ntarget_link_libraries(a zrt::none)\n```", "```c\nint x = y;\n```",
                "<!-- needs: opencl -->\n```c\nuint scala;\n```", "```rust\nfn main() {}\n```", "```diff\n+a\n```"):
        assert len(found(bad + "\n")) == 1, bad


def self_test(command):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"

        def found(text):
            page.write_text(text, encoding="utf-8")
            return check(command, [page], ["int main() {\nreturn answer();\n}"])

        assert not found("```cpp\nint whole();\n```\n")
        other_languages(found)
        assert not found("```cpp\n  return answer();\n```\n"), "part of a program"
        assert found("```cpp\nreturn other();\n```\n"), "neither a program nor a part of one"
        assert found("```cpp\nreturn answer()\n```\n"), "a line that is almost in a program"
        assert found("```cpp\n// examples/embed.cpp: another program\nint main() {}\n```\n"), "a copy that differs"
        assert "page.md:4" in found("\n\n```cpp\nint broken(;\n```\n")[0]
        assert "there is no" in found("<!-- needs: nothing_of_this_name -->\n```cpp\nint x;\n```\n")[0]
        assert not found("<!-- needs: statements -->\n```cpp\nint x = 0;\n++x;\n```\n"
                         "<!-- needs: statements -->\n```cpp\nint x = 1;\n```\n"), "two blocks with one name"
        assert found("<!-- needs: statements -->\n```cpp\nundeclared = 1;\n```\n")
        two = "```cpp\nint one();\n```\n<!-- needs: the block before -->\n```cpp\nint two = one();\n```\n"
        assert not found(two)
        assert found(two.replace("= one", "= none"))


def main():
    command = sys.argv[sys.argv.index("--") + 1:]
    if "--self-test" in sys.argv:
        return self_test(command)
    pages = [source.ROOT / "README.md", *sorted((source.ROOT / "docs").glob("*.md"))]
    return source.report(check(command, pages, programs()))


if __name__ == "__main__":
    sys.exit(main())
