#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs a separate host project against zrt, installed or added as a subdirectory."""
import argparse
import pathlib
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("way", choices=["install", "subdirectory"])
for option in ("source", "build", "work"):
    parser.add_argument(f"--{option}", type=pathlib.Path, required=True)
for option in ("cmake", "cxx", "generator"):
    parser.add_argument(f"--{option}", required=True)
args = parser.parse_args()

host = args.source / "tests/package/host"
shutil.rmtree(args.work, ignore_errors=True)
build = args.work / "build"
configure = [args.cmake, "-S", host, "-B", build, "-G", args.generator,
             f"-DCMAKE_CXX_COMPILER={args.cxx}", "-DCMAKE_BUILD_TYPE=None"]
if args.way == "install":
    prefix = args.work / "prefix"
    subprocess.run([args.cmake, "--install", args.build, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    for needed in ("include/zrt", "share/doc/zrt/LICENSE"):
        if not (prefix / needed).exists():
            sys.exit(f"the installed package lacks {needed}")
    # The package must stand apart from the tree that it was installed from.
    for file in prefix.rglob("*.cmake"):
        if str(args.source) in file.read_text(encoding="utf-8"):
            sys.exit(f"{file} names the source tree")
    configure += [f"-DCMAKE_PREFIX_PATH={prefix}", "-DHOST_ADDS_ZRT=", "-DHOST_ENGINE=ON"]
    programs = ["core", "engine"]
else:
    configure.append(f"-DHOST_ADDS_ZRT={args.source}")
    programs = ["core"]
subprocess.run(configure, check=True)
subprocess.run([args.cmake, "--build", build], check=True)
for program in programs:
    subprocess.run([build / program, args.source / "examples/models/bard-q8_0.gguf"], check=True)
