# SPDX-License-Identifier: Apache-2.0
# tests/package/vcpkg_functions.cmake: what zrt's port calls of vcpkg, done by CMake alone.
#
# A port is built in two configurations, release and debug, unless VCPKG_BUILD_TYPE names one; what debug installs lies
# under debug/. Read before the port, with PORT, FEATURES, CURRENT_PACKAGES_DIR and CURRENT_BUILDTREES_DIR set.

macro(vcpkg_run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endmacro()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options)
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure has no ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(type IN ITEMS release debug)
    if(NOT VCPKG_BUILD_TYPE OR VCPKG_BUILD_TYPE STREQUAL type)
      set(prefix ${CURRENT_PACKAGES_DIR})
      if(type STREQUAL debug)
        string(APPEND prefix /debug)
      endif()
      vcpkg_run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR}/${type} -DCMAKE_BUILD_TYPE=${type}
                -DCMAKE_INSTALL_PREFIX=${prefix} -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS})
    endif()
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  foreach(type IN ITEMS release debug)
    if(EXISTS ${CURRENT_BUILDTREES_DIR}/${type})
      vcpkg_run(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR}/${type} --target install)
    endif()
  endforeach()
endfunction()

# Package files move to share/<port>, two folders below the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/${PORT})
  get_filename_component(folder ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} DIRECTORY)
  file(REMOVE_RECURSE ${folder})
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  file(GLOB files ${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

# A port's own files stay where they are, as long as they name no folder of this machine.
function(vcpkg_fixup_pkgconfig)
  file(GLOB_RECURSE files ${CURRENT_PACKAGES_DIR}/*.pc)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    if(text MATCHES "${CURRENT_PACKAGES_DIR}")
      message(FATAL_ERROR "${file} names the folder that it was built in")
    endif()
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  configure_file(${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright COPYONLY)
endfunction()
