#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Debian package of a build folder, unpacks it, and builds hosts of its compiled engines: by find_package and
by pkg-config. A source that was compiled for another version, baseline or option must not link with them.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
for option in ("source", "build", "work"):
    parser.add_argument(f"--{option}", type=pathlib.Path, required=True)
for option in ("cmake", "cpack", "cxx", "generator"):
    parser.add_argument(f"--{option}", required=True)
args = parser.parse_args()

host = args.source / "tests/package/host"
model = args.source / "examples/models/bard-q8_0.gguf"
shutil.rmtree(args.work, ignore_errors=True)
args.work.mkdir(parents=True)


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, **options)


def output(*command, **options):
    return run(*command, stdout=subprocess.PIPE, **options).stdout


# --- the package ---
run(args.cpack, "-G", "DEB", "--config", args.build / "CPackConfig.cmake", "-B", args.work / "deb",
    stdout=subprocess.DEVNULL)
[package] = (args.work / "deb").glob("*.deb")
config = (args.source / "include/zrt/core/config.hpp").read_text()
version = ".".join(re.findall(r"#define ZRT_VERSION_(?:MAJOR|MINOR|PATCH) ([0-9]+)", config))
if output("dpkg-deb", "-f", package, "Version").strip() != version:
    sys.exit(f"{package.name} is not of version {version}")
listed = {line.split()[5].removeprefix("./usr/") for line in output("dpkg-deb", "-c", package).splitlines()}
headers = {path.relative_to(args.source).as_posix() for path in (args.source / "include").rglob("*.hpp")}
if lacking := headers - listed:
    sys.exit(f"{package.name} lacks {sorted(lacking)[:5]}")
root = args.work / "root"
run("dpkg-deb", "-x", package, root)

# --- a host that finds it with CMake ---
build = args.work / "build"
configure = [args.cmake, "-S", host, "-B", build, "-G", args.generator, f"-DCMAKE_CXX_COMPILER={args.cxx}",
             f"-DCMAKE_PREFIX_PATH={root / 'usr'}", "-DHOST_ADDS_ZRT=", "-DHOST_COMPILED=ON"]
advice = "zrt: no CMAKE_BUILD_TYPE is set"
if advice not in output(*configure, stderr=subprocess.STDOUT):
    sys.exit("a host without a build type is told nothing")
if advice in output(*configure, "-DCMAKE_BUILD_TYPE=None", stderr=subprocess.STDOUT):
    sys.exit("a host with a build type is told that it has none")
run(args.cmake, "--build", build)
run(build / "compiled", model)

# --- a host that finds it with pkg-config, and hosts that must not link ---
[pc] = root.rglob("zrt-compiled.pc")
environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
if output("pkg-config", "--modversion", "zrt", env=environment).strip() != version:
    sys.exit("zrt.pc is of another version")
cflags = output("pkg-config", "--cflags", "zrt-compiled", env=environment).split()
libs = output("pkg-config", "--libs", "zrt-compiled", env=environment).split()
unit = args.work / "unit.cpp"
unit.write_text("#include <zrt/compiled/cpu.hpp>\n"
                "int main(int, char** argv) { return zrt::Engine<zrt::CpuBackend>::open(argv[1]) ? 0 : 1; }\n")


def link(name, flags):
    objects = args.work / f"{name}.o"
    run(args.cxx, "-std=c++23", *flags, "-c", unit, "-o", objects)
    return subprocess.run([args.cxx, objects, *libs, "-o", args.work / name], text=True, stderr=subprocess.PIPE)


linked = link("unit", cflags)
if linked.returncode:
    sys.exit(linked.stderr)
run(args.work / "unit", model)
other = args.work / "other_version"
shutil.copytree(root / "usr/include", other)
path = other / "zrt/core/config.hpp"
path.write_text(re.sub(r"(#define ZRT_VERSION_PATCH) [0-9]+", r"\1 99", path.read_text()))
for name, flags in {"of_another_version": [f"-I{other}"], "of_another_baseline": [*cflags, "-march=x86-64-v3"],
                    "with_other_options": [*cflags, "-DZRT_DEBUG_CHECKS"]}.items():
    linked = link(name, flags)
    if linked.returncode == 0 or not re.search("undefined reference to .*Engine", linked.stderr):
        sys.exit(f"a unit {name} links with the compiled engines:\n{linked.stderr}")
