# SPDX-License-Identifier: Apache-2.0
"""zrt as a Conan 2 package: conan create packaging/conan [-o zrt/*:compiled=True]."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Zrt(ConanFile):
    name = "zrt"
    description = "Header-only C++23 library that runs language models"
    license = "Apache-2.0"
    settings = "os", "arch", "compiler", "build_type"
    options = {"compiled": [True, False]}
    default_options = {"compiled": False}
    package_type = "static-library"

    def set_version(self):
        root = os.path.join(self.recipe_folder, os.pardir, os.pardir)
        config = load(self, os.path.join(root, "include/zrt/core/config.hpp"))
        self.version = ".".join(re.findall(r"#define ZRT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", config))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, os.pardir, os.pardir)
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "compiled/*", "packaging/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.74]", transitive_headers=True, options={"header_only": True})

    def validate(self):
        check_min_cppstd(self, 23)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("ZRT_BUILD_EXAMPLES", "ZRT_BUILD_TESTS"):
            toolchain.cache_variables[name] = False
        toolchain.cache_variables["ZRT_INSTALL"] = True
        toolchain.cache_variables["ZRT_COMPILED"] = bool(self.options.compiled)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # zrt brings its own zrt-config.cmake
        self.cpp_info.builddirs = ["lib/cmake/zrt"]
