#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# kernels/build.py: builds kernels/pm4/*.cl for each target, one kernels/TARGET/NAME.zrt for each kernel.
# usage: build.py ZRT [--check]: with --check the files stay as they are, and must be what the sources give.
import pathlib, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
# RDNA3.5 has scalar arithmetic of floats; without it its code keeps to the instructions of RDNA3, which the interpreter
# of the device model knows.
TARGETS = {"gfx1201": (), "gfx1100": (), "gfx1151": "-Xclang -target-feature -Xclang -salu-float".split()}
# The compiler whose code the files are.
VERSION = "19.1.7"
FLAGS = ("-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -O2 -Wall -Wextra -Wno-unused-function -Werror "
         "-ffp-contract=off -cl-fp32-correctly-rounded-divide-sqrt "
         # Loads are aligned whatever mode a queue is in.
         "-Xclang -target-feature -Xclang -unaligned-access-mode").split()


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, text=True, capture_output=True).stdout


def missing():
    for tool in ("clang-19", "ld.lld-19", "llvm-nm-19"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    found = re.search(r"version (\S+)", run("clang-19", "--version"))[1]
    return "" if found == VERSION else f"clang-19 is {found}, the files are {VERSION}'s"


def build(zrt, folder):
    """The bytes of every file, by its path below kernels/."""
    files = {}
    for target, more in TARGETS.items():
        for source in sorted((HERE / "pm4").glob("*.cl")):
            code = folder / f"{source.stem}.{target}"
            run("clang-19", *FLAGS, *more, f"-mcpu={target}", source, "-o", code)
            symbols = run("llvm-nm-19", "--defined-only", "--format=just-symbols", code).split()
            for kernel in sorted(s[:-3] for s in symbols if s.endswith(".kd")):
                run(zrt, "pm4", "pack", code, "--kernel", kernel, "-o", folder / "packed.zrt")
                files[f"{target}/{kernel}.zrt"] = (folder / "packed.zrt").read_bytes()
    return files


def main():
    zrt, check = sys.argv[1], "--check" in sys.argv[2:]
    if lack := missing():
        print(f"SKIPPED: {lack}" if check else f"kernels/build.py: {lack}")
        return 0 if check else 1
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = build(zrt, pathlib.Path(folder))
        except subprocess.CalledProcessError as error:
            print(*error.cmd, error.stdout, error.stderr, sep="\n")
            return 1
    present = {str(p.relative_to(HERE)) for target in TARGETS for p in (HERE / target).glob("*.zrt")}
    wrong = sorted(name for name in present - set(files))
    for name, content in files.items():
        path = HERE / name
        if path.exists() and path.read_bytes() == content:
            continue
        wrong.append(name)
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
    if not check:
        for name in present - set(files):
            (HERE / name).unlink()
        print(f"{len(files)} files, {len(wrong)} changed")
        return 0
    for name in wrong:
        print(f"kernels/{name} is not what kernels/pm4/ gives: run ./dev kernels")
    return 1 if wrong else 0


sys.exit(main())
