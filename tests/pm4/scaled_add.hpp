// SPDX-License-Identifier: Apache-2.0
// tests/pm4/scaled_add.hpp: a small kernel of clang's, for tests of queues: out[i] = a[i] + b[i] * 3.
#pragma once

#include <zrt/backend/pm4/code_object/convert.hpp>
#include <zrt/backend/pm4/kernel_file/specialise.hpp>

#include <pm4/stream_cases.hpp>

namespace zrt::test {

/// Code and descriptor of the kernel, whose arguments are a, b, out (addresses) and a count of 32 bits.
inline Result<std::vector<std::byte>> scaled_add(const std::string& target, pm4::KernelDescriptor& descriptor) {
  using namespace zrt::pm4;
  const auto bytes = file_bytes(ZRT_TEST_DATA_DIR "/pm4/kernels-" + target + ".hsaco");
  const auto object = CodeObject::open(bytes);
  if (!object) return pass(object);
  std::vector<std::byte> blob;
  const auto found = for_each_kernel(*object, [&](const KernelMetadata& metadata) -> Result<void> {
    if (metadata.name != "scaled_add") return {};
    static constexpr std::array<Placeholder, 1> scale{{{"scale", 0xcafe0001}}};
    const auto made = convert_kernel(*object, metadata, scale, system_allocator());
    if (!made) return pass(made);
    const auto file = KernelFile::open(made->span());
    if (!file) return pass(file);
    descriptor = file->descriptor();
    blob.resize(file->blob().size());
    const std::array<KernelConstant, 1> constants{{{"scale", 3}}};
    return write_specialised(*file, constants, blob);
  });
  if (!found) return pass(found);
  return blob;
}

}  // namespace zrt::test
