# Writes a source with the kernels of kernels/vulkan as bytes: cmake -DOUT=FILE -DFILES=A;B;C -P embed_vulkan_kernels.cmake
include(${CMAKE_CURRENT_LIST_DIR}/embed_bytes.cmake)
set(list)
set(number 0)
foreach(file size IN ZIP_LISTS FILES sizes)
  cmake_path(GET file STEM name)
  string(APPEND list "    {\"${name}\", {file_${number}, ${size}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Written by examples/engines/embed_vulkan_kernels.cmake from the files of kernels/vulkan.
#include <zrt/backend/vulkan/pipeline_set.hpp>

${bytes}
namespace {
const zrt::vulkan::KernelFile all[] = {
${list}};
}  // namespace

namespace engines {
zrt::vulkan::KernelFiles vulkan_kernels() noexcept;
zrt::vulkan::KernelFiles vulkan_kernels() noexcept { return all; }
}  // namespace engines
")
