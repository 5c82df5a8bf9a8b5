// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/pm4_kernel_file.cpp: any bytes as a .zrt file and as a code object; what is taken is specialised.
// covers: zrt/backend/pm4/kernel_file/reader.hpp 90
// covers: zrt/backend/pm4/kernel_file/specialise.hpp 70
// covers: zrt/backend/pm4/code_object/elf.hpp 90
// covers: zrt/backend/pm4/code_object/message_pack.hpp 90
// covers: zrt/backend/pm4/code_object/metadata.hpp 90
// covers: zrt/backend/pm4/code_object/convert.hpp 85
// max-len: 8192
#include <zrt/backend/pm4/code_object/convert.hpp>
#include <zrt/backend/pm4/kernel_file/specialise.hpp>

#include <cstring>
#include <pm4/stream_cases.hpp>

using namespace zrt::pm4;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using Bytes = std::vector<std::byte>;

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

constexpr std::array<Placeholder, 1> kScale{{{"scale", 0xcafe0001}}};

void read_kernel_file(std::span<const std::byte> bytes) {
  const auto file = KernelFile::open(bytes);
  if (!file) {
    demand(file.error().offset() <= bytes.size() && !file.error().text().empty());
    return;
  }
  demand(file->blob().size() == file->header().code_size && !file->name().empty());
  std::vector<KernelConstant> constants;
  for (std::uint32_t i = 0; i < file->patch_count(); ++i) {
    bool known = false;
    for (const KernelConstant& c : constants) known = known || c.name == file->patch_name(i);
    if (!known) constants.push_back({file->patch_name(i), i});
  }
  for (KernelConstant& c : constants) {
    demand(find_constant(*file, c.name, constants) == &c);
    c.kernel = file->name();
    demand(find_constant(*file, c.name, constants) == &c);
  }
  demand(find_constant(*file, "no constant, for it has spaces", constants) == nullptr);
  Bytes room(file->blob().size());
  demand(write_specialised(*file, constants, room).has_value());
  if (constants.empty()) return;
  demand(!write_specialised(*file, std::span(constants).subspan(1), room));
  constants.push_back(constants.front());
  demand(!write_specialised(*file, constants, room));
  constants.back().name = "no constant, for it has spaces";
  demand(!write_specialised(*file, constants, room));
  demand(!write_specialised(*file, constants, {}));
}

std::vector<Bytes> convert(std::span<const std::byte> bytes) {
  std::vector<Bytes> files;
  const auto object = CodeObject::open(bytes);
  if (!object) return files;
  (void)for_each_kernel(*object, [&](const KernelMetadata& metadata) -> zrt::Result<void> {
    const bool scaled = metadata.name == "scaled_add";
    const auto file =
        convert_kernel(*object, metadata, std::span(kScale).first(scaled ? 1 : 0), zrt::system_allocator());
    if (!file) return zrt::pass(file);
    demand(KernelFile::open(file->span()).has_value());
    files.emplace_back(file->begin(), file->end());
    return {};
  });
  return files;
}

const std::vector<Bytes>& seeds() {
  static const std::vector<Bytes> all = [] {
    std::vector<Bytes> made;
    for (const std::string target : {"gfx1201", "gfx1100"}) {
      made.push_back(zrt::test::file_bytes(ZRT_TEST_DATA_DIR "/pm4/kernels-" + target + ".hsaco"));
      for (Bytes& file : convert(made.back())) made.push_back(std::move(file));
    }
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Each seed, and each with one byte changed, so that what is covered does not depend on the machine's speed.
  demand(seeds().size() == 6);
  for (const Bytes& seed : seeds()) {
    Bytes changed(seed);
    for (std::size_t at = 0; at <= seed.size(); at += at < 2200 || at + 200 > seed.size() ? 1 : 37) {
      if (at < seed.size()) changed[at] ^= std::byte{0x81};
      (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(changed.data()), changed.size());
      if (at < seed.size()) changed[at] = seed[at];
    }
    for (std::size_t cut = 0; cut < 64; ++cut)
      (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(seed.data()), seed.size() * cut / 64);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  if (size < 64 || seed % 8 == 0) {
    const Bytes& chosen = seeds()[seed / 8 % seeds().size()];
    if (chosen.size() <= max_size) {
      std::memcpy(data, chosen.data(), chosen.size());
      size = chosen.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  read_kernel_file(bytes);
  for (const Bytes& file : convert(bytes)) read_kernel_file(file);
  return 0;
}
