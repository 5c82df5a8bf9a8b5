# SPDX-License-Identifier: Apache-2.0
# zrt as a port of vcpkg, for use with --overlay-ports; SOURCE_PATH is the tree that holds this file.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES compiled ZRT_COMPILED)
if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release)  # headers are the same in both configurations
endif()
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DZRT_BUILD_EXAMPLES=OFF -DZRT_BUILD_TESTS=OFF -DZRT_INSTALL=ON ${FEATURE_OPTIONS})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/zrt)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
