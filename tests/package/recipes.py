#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes for Conan and vcpkg, without either: recipes.py --source S --work W --cmake C --cxx CXX --generator G.

Stand-ins for what the recipes call do the work: the recipe exports its sources, configures, builds and installs them, and
a host builds against the package and runs, by find_package and by pkg-config. What the tools themselves do, such as
resolving Boost, is not tried.
"""
import argparse
import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import types

parser = argparse.ArgumentParser()
for option in ("source", "work"):
    parser.add_argument(f"--{option}", type=pathlib.Path, required=True)
for option in ("cmake", "cxx", "generator"):
    parser.add_argument(f"--{option}", required=True)
args = parser.parse_args()
config = (args.source / "include/zrt/core/config.hpp").read_text()
version = ".".join(re.findall(r"#define ZRT_VERSION_(?:MAJOR|MINOR|PATCH) ([0-9]+)", config))
options = set(re.findall(r"^option\((ZRT_\w+)", (args.source / "CMakeLists.txt").read_text(), re.M))
environment = {**os.environ, "CXX": args.cxx, "CMAKE_GENERATOR": args.generator}


def expect(condition, message):
    if not condition:
        sys.exit(message)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True, env=environment, **more)


def check_package(package, packager):
    """A package stands alone, and a host finds it and runs."""
    headers = {path.relative_to(args.source) for path in (args.source / "include").rglob("*.hpp")}
    lacking = sorted(str(path) for path in headers if not (package / path).is_file())
    expect(not lacking, f"the package of {packager} lacks {lacking[:5]}")
    for path in package.rglob("*"):
        expect(not path.is_dir() or any(path.iterdir()), f"the package of {packager} has an empty folder {path}")
        if path.suffix in (".cmake", ".pc"):
            expect(str(args.work) not in path.read_text(), f"{path} names the folder that it was built in")
    build = args.work / packager / "host"
    run(args.cmake, "-S", args.source / "tests/package/host", "-B", build, "-DCMAKE_BUILD_TYPE=None",
        f"-DCMAKE_PREFIX_PATH={package}", "-DHOST_ADDS_ZRT=", stdout=subprocess.DEVNULL)
    run(args.cmake, "--build", build, "--target", "core", stdout=subprocess.DEVNULL)
    run(build / "core", args.source / "examples/models/bard-q8_0.gguf")


def check_pkg_config(package, packager):
    environment["PKG_CONFIG_PATH"] = str(package / "lib/pkgconfig")
    flags = run("pkg-config", "--cflags", "--libs", f"zrt = {version}", stdout=subprocess.PIPE).stdout.split()
    program = args.work / packager / "by_pkg_config"
    run(args.cxx, "-std=c++23", args.source / "tests/package/host/core.cpp", *flags, "-o", program)
    run(program, args.source / "examples/models/bard-q8_0.gguf")


class Toolchain:
    def __init__(self, recipe):
        self.cache_variables = {}
        recipe.toolchain = self

    def generate(self):
        expect(set(self.cache_variables) <= options, "the Conan recipe sets an option that CMakeLists.txt lacks")


class Build:
    """Configures, builds and installs in the folders of a recipe."""
    def __init__(self, recipe):
        self.recipe = recipe

    def configure(self):
        values = [f"-D{name}={'ON' if value else 'OFF'}" for name, value in self.recipe.toolchain.cache_variables.items()]
        run(args.cmake, "-S", self.recipe.export_sources_folder, "-B", self.recipe.build_folder,
            "-DCMAKE_BUILD_TYPE=Release", *values, stdout=subprocess.DEVNULL)

    def build(self):
        run(args.cmake, "--build", self.recipe.build_folder, stdout=subprocess.DEVNULL)

    def install(self):
        run(args.cmake, "--install", self.recipe.build_folder, "--prefix", self.recipe.package_folder,
            stdout=subprocess.DEVNULL)


def copy(_, pattern, source, target):
    found = [path for path in pathlib.Path(source).glob(pattern.replace("/*", "/**/*")) if path.is_file()]
    expect(found, f"the Conan recipe exports {pattern}, which is not there")
    for path in found:
        to = pathlib.Path(target) / path.relative_to(pathlib.Path(source))
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)


def conan(compiled):
    """The package folder that the recipe fills, or where the engines are to be compiled, nothing: they take minutes."""
    stand_ins = {
        "conan": {"ConanFile": object}, "conan.tools": {},
        "conan.tools.build": {"check_min_cppstd": lambda _, standard: expect(standard == 23, "zrt needs C++23")},
        "conan.tools.cmake": {"CMake": Build, "CMakeToolchain": Toolchain, "cmake_layout": lambda _: None},
        "conan.tools.files": {"copy": copy, "load": lambda _, path: pathlib.Path(path).read_text()},
    }
    for name, members in stand_ins.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
    recipe = runpy.run_path(str(args.source / "packaging/conan/conanfile.py"))["Zrt"]()
    folder = args.work / ("conan_compiled" if compiled else "conan")
    recipe.recipe_folder = str(args.source / "packaging/conan")
    recipe.export_sources_folder, recipe.build_folder = str(folder / "sources"), str(folder / "build")
    recipe.package_folder = str(folder / "package")
    recipe.options = types.SimpleNamespace(compiled=compiled)
    recipe.cpp_info = types.SimpleNamespace(set_property=lambda *_: None)
    required = []
    recipe.requires = lambda what, **_: required.append(what)
    recipe.set_version()
    expect(recipe.version == version, f"the Conan recipe is of version {recipe.version}")
    for step in (recipe.export_sources, recipe.requirements, recipe.validate, recipe.layout, recipe.generate):
        step()
    expect(required == ["boost/[>=1.74]"], f"the Conan recipe requires {required}")
    if compiled:
        return Build(recipe).configure()
    recipe.build()
    recipe.package()
    recipe.package_info()
    for name in recipe.cpp_info.builddirs:
        expect((folder / "package" / name / "zrt-config.cmake").is_file(), f"the Conan package has no config in {name}")
    return folder / "package"


def vcpkg():
    port = json.loads((args.source / "packaging/vcpkg/vcpkg.json").read_text())
    expect(port["version"] == version, f"the vcpkg port is of version {port['version']}")
    package = args.work / "vcpkg/package"
    run(args.cmake, f"-DPORT={port['name']}", "-DFEATURES=core", f"-DCURRENT_PACKAGES_DIR={package}",
        f"-DCURRENT_BUILDTREES_DIR={args.work / 'vcpkg/build'}", "-P", args.source / "tests/package/vcpkg_port.cmake")
    expect((package / "share/zrt/copyright").is_file(), "the vcpkg port installs no license")
    expect(not (package / "debug").exists(), "the vcpkg port of headers alone installs a debug package")
    return package


shutil.rmtree(args.work, ignore_errors=True)
conan(compiled=True)
check_package(conan(compiled=False), "conan")
port = vcpkg()
check_package(port, "vcpkg")
check_pkg_config(port, "vcpkg")
