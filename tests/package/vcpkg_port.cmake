# SPDX-License-Identifier: Apache-2.0
# tests/package/vcpkg_port.cmake: zrt's port, run as vcpkg would run it.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/vcpkg_functions.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/../../packaging/vcpkg/portfile.cmake)
