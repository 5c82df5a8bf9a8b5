# Writes a source with the kernels of kernels/vulkan as bytes: cmake -DOUT=FILE -DFILES=A;B;C -P embed_vulkan_kernels.cmake
set(arrays)
set(list)
foreach(file IN LISTS FILES)
  cmake_path(GET file STEM name)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char ${name}[] = {${bytes}};\n")
  string(APPEND list "    {\"${name}\", std::as_bytes(std::span(${name}))},\n")
endforeach()
file(WRITE ${OUT} "// Written by examples/engines/embed_vulkan_kernels.cmake from the files of kernels/vulkan.
#include <zrt/backend/vulkan/pipeline_set.hpp>

namespace {
${arrays}
const zrt::vulkan::KernelFile all[] = {
${list}};
}  // namespace

namespace engines {
zrt::vulkan::KernelFiles vulkan_kernels() noexcept;
zrt::vulkan::KernelFiles vulkan_kernels() noexcept { return all; }
}  // namespace engines
")
