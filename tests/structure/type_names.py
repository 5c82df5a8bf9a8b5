#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One name of a type means one thing: no type of include/zrt and examples/zrt shares its name with another.

    type_names.py              checks include/zrt and examples/zrt
    type_names.py --self-test  checks this script on small headers

Counted are structs, classes, unions, enums, aliases and concepts at namespace scope, by their name without namespaces.
A forward declaration, a specialisation and a second alias of the same type are no names of their own; what the CPU's
instruction sets have each counts once. MEANT says which names stand in several places on purpose, where, and why.
"""
import collections
import pathlib
import re
import sys
import tempfile

import source

# (why one idea has several types, the namespaces that have one each, the names)
MEANT = [
    ("a part that exec/backend.hpp asks of every backend, or that says what a backend claims",
     ("zrt::cpu", "zrt::pm4", "zrt::device", "zrt::reference", "zrt::plan::c", "zrt::pm4::kfd", "zrt::pm4::umq",
      "zrt::vulkan", "zrt::split"),
     "Claims Device DeviceRecorder HasScratch Program Recorder Unsupported"),
    ("a part of the transport to a GPU's queues, which each kernel driver has",
     ("zrt::pm4::kfd", "zrt::pm4::umq"), "Losses Queue Transport"),
    ("what a GPU's driver gives a backend, and what a host hands to it",
     ("zrt::pm4", "zrt::pm4::kfd", "zrt::pm4::umq", "zrt::vulkan"),
     "BackendDevice DeviceOptions Heap KernelFile KernelFiles Memory SelfTest StepCommands"),
    ("what calls of an op are made of, in each form that a computation takes: a graph, a program, a plan, code",
     ("zrt", "zrt::ir", "zrt::ir::ptir", "zrt::ir::onnx", "zrt::plan", "zrt::plan::c", "zrt::device", "zrt::emulator",
      "zrt::text::chat", "zrt::cpu", "zrt::reference", "zrt::split"),
     "Builder Dim Instruction Operand Program Region RegionId Shape Tensor TensorType Value ValueId Weight"),
    ("what a processor computes with: the CPU's and the modelled GPU's",
     ("zrt::cpu", "zrt::emulator"), "Isa Lanes"),
    ("elements as the functions of core/elementary_ops.hpp take them: one number, or a vector of an instruction set",
     ("zrt::math", "zrt::cpu"), "F32 I32 Mask"),
    ("a model family and the pre-tokenizer that is named after it",
     ("zrt::model", "zrt::text::pre"), "CommandR Gemma4 Gpt2 Qwen2 Qwen35"),
    ("the same backend, over the kernel driver and over the modelled one",
     ("zrt", "zrt::emulator"), "Pm4Backend"),
    ("the options of a function, and of the program's command that calls it",
     ("zrt", "zrt::model", "zrt::model::hub", "program"), "ConvertOptions EmbedOptions QuantizeOptions"),
]

_HEAD = re.compile(
    r"(?:template\b.*?>\s*)?(?P<kind>struct|class|union|enum(?:\s+(?:class|struct))?|using|concept)\s+"
    r"(?:alignas\s*\([^()]*\)\s*|\[\[[^\]]*\]\]\s*)*(?P<name>\w+)\s*(?P<rest>.*)", re.S)


def declared(head, ends_with):
    """(name, what it is an alias of or '') that the text before a `{` or `;` declares, or None."""
    head = re.sub(r"\bZRT_\w+(?:\s*\([^()]*\))?", "", head).strip()
    match = _HEAD.fullmatch(without_parameters(head))
    if not match:
        return None
    rest = match["rest"]
    if match["kind"] in ("using", "concept"):
        return (match["name"], "".join(rest[1:].split())) if rest.startswith("=") else None
    is_definition = ends_with == "{" and (not rest or re.match(r"final\b|:(?!:)", rest))
    return (match["name"], "") if is_definition else None


def without_parameters(head):
    """`template <...> requires ... struct X` without what stands before the type's keyword."""
    if not head.startswith("template"):
        return head
    depth, at = 0, head.find("<")
    for at in range(at, len(head)):
        depth += {"<": 1, ">": -1}.get(head[at], 0)
        if depth == 0:
            break
    return re.sub(r"^\s*requires\b.*?(?=\b(?:struct|class|union|using)\b)", "", head[at + 1:], flags=re.S).strip()


def names(text):
    """(namespace, name, alias of) of each type that the text defines at namespace scope."""
    text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", source.without_comments(text, strings=False), flags=re.M)
    scopes, start = [], 0  # of open braces: a namespace's name, or None
    for match in re.finditer(r"[{};]", text):
        head, start = text[start:match.start()], match.end()
        if match[0] == "}":
            del scopes[-1:]
            continue
        outside = None not in scopes
        plain = re.sub(r"::inline\s+ZRT_ABI\b|\bZRT_\w+\b", "", head)
        space = re.search(r"\bnamespace\s*([\w:]*)\s*$", plain) if match[0] == "{" and outside else None
        found = declared(head, match[0]) if outside and not space else None
        if found:
            yield "::".join(s for s in scopes if s), *found
        if match[0] == "{":
            scopes.append(space[1] if space else None)


def places(root):
    """name: {(namespace, file, alias of)} of the headers of the library and the sources of the program."""
    found = collections.defaultdict(set)
    for path in sorted(p for folder in ("include/zrt", "examples/zrt") for p in (root / folder).rglob("*")):
        if path.suffix in (".hpp", ".cpp"):
            for space, name, alias in names(path.read_text(encoding="utf-8")):
                space = re.sub(r"^(zrt::cpu)::(v\d|dotprod)$", r"\1", re.sub(r"(::detail)+$", "", space))
                if source.is_fragment(path) and "/simd/" in str(path):  # stands in the namespaces of its variants
                    space = "zrt::cpu"
                found[name].add((space, str(path.relative_to(root)), alias))
    return found


def is_one(name, where):
    """Whether all that bears the name is one type, or means to bear it."""
    spaces = {space for space, _, _ in where}
    files_of_a_variant = all("/simd/" in file for _, file, _ in where)
    if len(where) == 1 or files_of_a_variant:
        return True
    aliases = {alias for _, _, alias in where}
    if len(aliases) == 1 and "" not in aliases:
        return True
    return any(name in words.split() and spaces <= set(among) for _, among, words in MEANT)


def check(root):
    for name, where in sorted(places(root).items()):
        if not is_one(name, where):
            yield f"{name} names several types: " + ", ".join(f"{space or 'global'} ({file})" for space, file, _ in sorted(where))


def unused(root):
    """Names of MEANT that are no longer several."""
    found = places(root)
    for why, _, words in MEANT:
        for name in words.split():
            if len(found.get(name, ())) < 2:
                yield f"{name} stands once; strike it from MEANT ({why})"


def self_test():
    one = "namespace zrt::inline ZRT_ABI::serve {\nclass Batch;\ntemplate <class A = int, class B> requires C<A>\nstruct Run final {\n  struct Row {};\n};\n}"
    cases = {
        "a struct twice": ("namespace zrt::plan {\nstruct Run : Base {};\n}", ["Run"]),
        "an enum": ("namespace zrt::plan {\nenum class Run : int { a };\n}", ["Run"]),
        "a concept": ("namespace zrt { namespace detail {\ntemplate <class T> concept Run = true;\n} }", ["Run"]),
        "an alias": ("namespace zrt { using Run = int; }", ["Run"]),
        "a forward declaration": ("namespace zrt { struct Run; template <class T> class Row; }", []),
        "a specialisation": ("namespace zrt { template <> struct Run<int> { int x; }; }", []),
        "a nested type": ("namespace zrt { struct Two { struct Run {}; }; }", []),
        "a function": ("namespace zrt { struct Run f() { return {}; } }", []),
        "a comment": ("// struct Run {};\nnamespace zrt {}", []),
    }
    problems = []
    for what, (text, expected) in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "include/zrt").mkdir(parents=True)
            (root / "examples/zrt").mkdir(parents=True)
            (root / "include/zrt/one.hpp").write_text(one)
            (root / "examples/zrt/two.cpp").write_text(text)
            seen = [line.split()[0] for line in check(root)]
            if seen != expected:
                problems.append(f"{what}: {seen}")
    return problems


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(source.report(self_test()))
    sys.exit(source.report([*check(source.ROOT), *unused(source.ROOT)]))
