# Writes a source with the kernels of kernels/ as bytes: cmake -DOUT=FILE -DFILES=A;B;C -P embed_kernels.cmake
include(${CMAKE_CURRENT_LIST_DIR}/embed_bytes.cmake)
set(list)
set(number 0)
foreach(size IN LISTS sizes)
  string(APPEND list "    {file_${number}, ${size}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Written by examples/engines/embed_kernels.cmake from the files of kernels/.
#include <cstddef>
#include <span>

${bytes}
namespace {
const std::span<const std::byte> all[] = {
${list}};
}  // namespace

namespace engines {
std::span<const std::span<const std::byte>> kernels() noexcept;
std::span<const std::span<const std::byte>> kernels() noexcept { return all; }
}  // namespace engines
")
