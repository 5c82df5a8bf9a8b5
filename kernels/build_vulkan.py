#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# kernels/build_vulkan.py: builds kernels/vulkan/*.comp, one kernels/vulkan/NAME.spv for each kernel.
# usage: build_vulkan.py [--check]: with --check the files stay as they are, and must be what the sources give.
#
# A source makes the kernel of its own name, or those of its lines "// makes: NAME [DEFINE[=VALUE]...]" and
# "// makes one for each TYPE of FILE: PREFIX", with each TYPE_NAME that the file asks for.
import pathlib, re, shutil, struct, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent / "vulkan"
# The compiler whose code the files are.
VERSION = "shaderc 2023.2-1 spirv-tools 2022.4+1.3.236.0-1"
# The driver optimises: where spirv-opt unrolls a loop, the copies lose NoContraction, and it fuses them itself.
FLAGS = "--target-env=vulkan1.3 -O0 -Werror".split()
# FAdd, FSub, FMul, FDiv, VectorTimesScalar, Dot, and NoContraction.
ARITHMETIC, NO_CONTRACTION = {129, 131, 133, 136, 142, 148}, 42
OP_DECORATE = 71
# SourceContinued, Source, SourceExtension, Name, MemberName.
NAMES = {2, 3, 4, 5, 6}


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, text=True, capture_output=True).stdout


def missing():
    for tool in ("glslc", "spirv-val"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    found = " ".join(run("glslc", "--version").splitlines()[:2])
    return "" if found == VERSION else f"glslc is of {found}, the files of {VERSION}"


def kernels(source):
    """The kernels that a source makes: names, and the macros of each."""
    text = source.read_text()
    made = re.findall(r"^// makes: (\S+)(.*)$", text, re.M)
    for file, prefix in re.findall(r"^// makes one for each TYPE of (\S+): (\S+)$", text, re.M):
        types = re.findall(r"defined\(TYPE_(\w+)\)", (HERE / file).read_text())
        made += [(prefix + t.lower(), " TYPE_" + t) for t in types]
    return [(name, ["-D" + m for m in macros.split()]) for name, macros in made] or [(source.stem, [])]


def instructions(words):
    at = 5
    while at < len(words):
        yield at, words[at] & 0xFFFF, words[at + 1 : at + (words[at] >> 16)]
        at += words[at] >> 16


def without_contraction(code):
    """The module without names, and with every sum, product and quotient marked, whatever `precise` reached."""
    words = struct.unpack(f"<{len(code) // 4}I", code)
    all_of = [(op, words[at : at + 1 + len(of)]) for at, op, of in instructions(words) if op not in NAMES]
    marked = {w[1] for op, w in all_of if op == OP_DECORATE and w[2] == NO_CONTRACTION}
    found = [w[2] for op, w in all_of if op in ARITHMETIC and w[2] not in marked]
    last = max(i for i, (op, _) in enumerate(all_of) if op == OP_DECORATE)
    all_of[last + 1 : last + 1] = [(OP_DECORATE, (3 << 16 | OP_DECORATE, id, NO_CONTRACTION)) for id in found]
    words = words[:5] + tuple(word for _, instruction in all_of for word in instruction)
    return struct.pack(f"<{len(words)}I", *words)


def build(folder):
    """The bytes of every file, by its name."""
    files = {}
    for source in sorted(HERE.glob("*.comp")):
        for name, macros in kernels(source):
            code = folder / f"{name}.spv"
            run("glslc", *FLAGS, *macros, source, "-o", code)
            files[code.name] = without_contraction(code.read_bytes())
            code.write_bytes(files[code.name])
            run("spirv-val", "--target-env", "vulkan1.3", "--scalar-block-layout", code)
    return files


def main():
    check = "--check" in sys.argv[1:]
    if lack := missing():
        print(f"SKIPPED: {lack}" if check else f"kernels/build_vulkan.py: {lack}")
        return 0 if check else 1
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = build(pathlib.Path(folder))
        except subprocess.CalledProcessError as error:
            print(*error.cmd, error.stdout, error.stderr, sep="\n")
            return 1
    present = {p.name for p in HERE.glob("*.spv")}
    wrong = sorted(present - set(files)) + [n for n, c in files.items() if n not in present or (HERE / n).read_bytes() != c]
    if check:
        for name in wrong:
            print(f"kernels/vulkan/{name} is not what kernels/vulkan/ gives: run ./dev kernels")
        return 1 if wrong else 0
    for name in wrong:
        (HERE / name).write_bytes(files[name]) if name in files else (HERE / name).unlink()
    print(f"{len(files)} files, {len(wrong)} changed")
    return 0


sys.exit(main())
