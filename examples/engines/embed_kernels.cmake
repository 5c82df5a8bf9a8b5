# Writes a source with the kernels of kernels/ as bytes: cmake -DOUT=FILE -DFILES=A;B;C -P embed_kernels.cmake
set(arrays)
set(list)
set(number 0)
foreach(file IN LISTS FILES)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char kernel_${number}[] = {${bytes}};\n")
  string(APPEND list "    std::as_bytes(std::span(kernel_${number})),\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Written by examples/engines/embed_kernels.cmake from the files of kernels/.
#include <cstddef>
#include <span>

namespace {
${arrays}
const std::span<const std::byte> all[] = {
${list}};
}  // namespace

namespace engines {
std::span<const std::span<const std::byte>> kernels() noexcept;
std::span<const std::span<const std::byte>> kernels() noexcept { return all; }
}  // namespace engines
")
