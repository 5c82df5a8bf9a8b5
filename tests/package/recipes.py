#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes for Conan and vcpkg, as far as they can be tried without either: recipes.py SOURCE CMAKE.

The Conan recipe is loaded with stand-ins for Conan's modules, and says version and sources; the vcpkg port runs as a
CMake script whose vcpkg functions are stand-ins that note what they are asked for.
"""
import json
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import types

source, cmake = pathlib.Path(sys.argv[1]), sys.argv[2]
config = (source / "include/zrt/core/config.hpp").read_text()
version = ".".join(re.findall(r"#define ZRT_VERSION_(?:MAJOR|MINOR|PATCH) ([0-9]+)", config))
options = set(re.findall(r"^option\((ZRT_\w+)", (source / "CMakeLists.txt").read_text(), re.M))


def expect(condition, message):
    if not condition:
        sys.exit(message)


# --- Conan ---
copied = []
stand_ins = {
    "conan": {"ConanFile": object}, "conan.tools": {},
    "conan.tools.build": {"check_min_cppstd": None},
    "conan.tools.cmake": {"CMake": None, "CMakeToolchain": lambda recipe: recipe.toolchain, "cmake_layout": None},
    "conan.tools.files": {"copy": lambda recipe, pattern, *_: copied.append(pattern),
                          "load": lambda recipe, path: pathlib.Path(path).read_text()},
}
for name, members in stand_ins.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)
recipe = runpy.run_path(str(source / "packaging/conan/conanfile.py"))["Zrt"]()
recipe.recipe_folder, recipe.export_sources_folder = str(source / "packaging/conan"), "out"
recipe.set_version()
expect(recipe.version == version, f"the Conan recipe is of version {recipe.version}")
recipe.export_sources()
for pattern in copied:
    expect(any(source.glob(pattern)), f"the Conan recipe exports {pattern}, which is not there")
used = set(re.findall(r"(?:include|packaging|compiled)/", (source / "CMakeLists.txt").read_text()))
expect(all(f"{folder}*" in copied for folder in used), f"CMakeLists.txt reads {used}, the recipe exports {copied}")
recipe.options = types.SimpleNamespace(compiled=True)
recipe.toolchain = types.SimpleNamespace(cache_variables={}, generate=lambda: None)
recipe.generate()
expect(set(recipe.toolchain.cache_variables) <= options, "the Conan recipe sets an option that CMakeLists.txt lacks")

# --- vcpkg ---
port = json.loads((source / "packaging/vcpkg/vcpkg.json").read_text())
expect(port["version"] == version, f"the vcpkg port is of version {port['version']}")
functions = set(re.findall(r"^(vcpkg_\w+)\(", (source / "packaging/vcpkg/portfile.cmake").read_text(), re.M))
with tempfile.TemporaryDirectory() as folder:
    script = pathlib.Path(folder) / "port.cmake"
    script.write_text(f'set(CURRENT_PACKAGES_DIR "{folder}")\n' +
                      "".join(f"function({name})\n  message(STATUS \"{name} ${{ARGV}}\")\nendfunction()\n"
                              for name in functions) +
                      f'include("{source}/packaging/vcpkg/portfile.cmake")\n')
    said = subprocess.run([cmake, "-P", script], check=True, text=True, stdout=subprocess.PIPE).stdout
expect(functions <= set(re.findall(r"vcpkg_\w+", said)), f"the vcpkg port does not call all of {functions}")
expect(set(re.findall(r"-D(ZRT_\w+)=", said)) <= options, "the vcpkg port sets an option that CMakeLists.txt lacks")
[license_file] = re.findall(r"FILE_LIST;(\S+)", said)
expect(pathlib.Path(license_file).is_file(), "the vcpkg port installs no license")
